/* hyperbolic.h: sinh, cosh, tanh, asinh, acosh, atanh. With x = n ln 2 + r, sinh x = sinh(n ln 2) cosh r + cosh(n ln 2) sinh r, and
 * cosh likewise, where the first factors are sums of two powers of two; tanh by expm1, the inverses by log of numbers in
 * two parts (Muller, Elementary Functions, chapters 10 and 11). */
#pragma once

#include "common.h"
#include "exp.h"
#include "log.h"

/* cosh r - 1 and sinh r - r, and the powers of two, in two parts. */
typedef struct {
    tjv_double r, even, odd;
    tjv_pair sum, difference; /* 2^(n - 1) +- 2^(-n - 1) */
} tjv_hyperbolic;

/* For 0 <= x <= 708. */
TJV_INLINE tjv_hyperbolic tjv_hyperbolic_reduce(tjv_double x)
{
    static const double p[] = {TJV_SINH}, q[] = {TJV_COSH};
    tjv_exp_reduced e = tjv_exp_reduce(x, tjv_all(0.0));
    tjv_long n = tjv_shift(e.shifted, 52), half = tjv_bits(tjv_all(0.5));
    tjv_double large = tjv_of_bits(half + n), small = tjv_of_bits(half - n);
    tjv_double z = e.r * e.r, w = z * z;
    tjv_double s = tjv_fma(tjv_all(p[4]), w, TJV_LINEAR(p, 2, z)),
               c = tjv_fma(tjv_all(q[4]), w, TJV_LINEAR(q, 2, z));
    s = tjv_fma(s, w, TJV_LINEAR(p, 0, z));
    c = tjv_fma(c, w, TJV_LINEAR(q, 0, z));
    return (tjv_hyperbolic){.r = e.r,
                            .even = tjv_fma(c, w, 0.5 * z),
                            .odd = tjv_fma(s, z * e.r, e.low),
                            .sum = tjv_ordered_sum(large, small),
                            .difference = tjv_ordered_sum(large, -small)};
}

/* a cosh r + b sinh r */
TJV_INLINE tjv_double tjv_hyperbolic_sum(tjv_hyperbolic h, tjv_pair a, tjv_pair b)
{
    tjv_pair p = tjv_two_product(b.h, h.r), s = tjv_ordered_sum(a.h, p.h);
    tjv_double low = (s.l + p.l) + tjv_fma(b.l, h.r, a.l);
    return s.h + tjv_fma(a.h, h.even, tjv_fma(b.h, h.odd, low));
}

/* exp(|x|) / 2 where |x| exceeds 708, and NaN for NaN. */
TJV_INLINE tjv_double tjv_half_exp(tjv_double x)
{
    tjv_exp_reduced z = tjv_exp_reduce(tjv_finite(x, 800.0), tjv_all(0.0));
    return tjv_exp_specials(x, tjv_scale_far(tjv_exp_finish(z), z.shifted - 1.0), 0.0);
}

TJV_INLINE tjv_double tjv_sinh_near(tjv_double x)
{
    tjv_hyperbolic h = tjv_hyperbolic_reduce(tjv_abs(x));
    return tjv_signed(tjv_hyperbolic_sum(h, h.difference, h.sum), x);
}

TJV_INLINE tjv_double tjv_cosh_near(tjv_double x)
{
    tjv_hyperbolic h = tjv_hyperbolic_reduce(tjv_abs(x));
    return tjv_hyperbolic_sum(h, h.sum, h.difference);
}

TJV_RARE tjv_double tjv_sinh_special(tjv_double x)
{
    tjv_long far = tjv_exceeds(x, 708.0);
    tjv_double y = tjv_half_exp(tjv_select(far, tjv_abs(x), tjv_all(1.0)));
    return tjv_select(far, tjv_signed(y, x), tjv_sinh_near(tjv_select(far, tjv_all(0.0), x)));
}

TJV_RARE tjv_double tjv_cosh_special(tjv_double x)
{
    tjv_long far = tjv_exceeds(x, 708.0);
    tjv_double y = tjv_half_exp(tjv_select(far, tjv_abs(x), tjv_all(1.0)));
    return tjv_select(far, y, tjv_cosh_near(tjv_select(far, tjv_all(0.0), x)));
}

TJV_INLINE tjv_double tjv_sinh(tjv_double x)
{
    return TJV_UNLIKELY(tjv_any(tjv_exceeds(x, 708.0))) ? tjv_sinh_special(x) : tjv_sinh_near(x);
}

TJV_INLINE tjv_double tjv_cosh(tjv_double x)
{
    return TJV_UNLIKELY(tjv_any(tjv_exceeds(x, 708.0))) ? tjv_cosh_special(x) : tjv_cosh_near(x);
}

/* -e / (2 + e), e = expm1(-2 |x|) */
TJV_INLINE tjv_double tjv_tanh_near(tjv_double x)
{
    tjv_double a = tjv_select(tjv_exceeds(x, 24.0), tjv_all(24.0), tjv_abs(x));
    tjv_exp_reduced z = tjv_exp_reduce(-2.0 * a, tjv_all(0.0));
    tjv_pair e = tjv_expm1_pair(z, tjv_ordered_sum(-tjv_power_minus(z), tjv_all(1.0)));
    tjv_double power = tjv_scale(tjv_all(1.0), z.shifted);
    e = tjv_ordered_sum(e.h * power, e.l * power);
    tjv_pair d = tjv_ordered_sum(tjv_all(2.0), e.h);
    tjv_pair y = tjv_quotient(e, (tjv_pair){d.h, d.l + e.l});
    return tjv_copysign(y.h + y.l, x);
}

TJV_RARE tjv_double tjv_tanh_special(tjv_double x)
{
    return tjv_select(tjv_is_nan(x), tjv_quiet(x), tjv_tanh_near(x));
}

TJV_INLINE tjv_double tjv_tanh(tjv_double x)
{
    return TJV_UNLIKELY(tjv_any(tjv_is_nan(x))) ? tjv_tanh_special(x) : tjv_tanh_near(x);
}

/* log(a + sqrt(1 + a^2)), a = |x| */
TJV_INLINE tjv_double tjv_asinh_near(tjv_double x)
{
    tjv_double a = tjv_abs(x);
    tjv_pair square = tjv_two_product(a, a), sum = tjv_two_sum(square.h, tjv_all(1.0));
    tjv_pair root = tjv_root((tjv_pair){sum.h, sum.l + square.l});
    return tjv_signed(tjv_log_sum(tjv_ordered_sum(root.h, a), root.l), x);
}

/* log(2 |x|), where |x| is at least 2^400; NaN for NaN. */
TJV_INLINE tjv_double tjv_log_of_twice(tjv_double x)
{
    tjv_long odd = tjv_is_infinite_or_nan(x);
    tjv_log_reduced z = tjv_log_reduce(tjv_select(odd, tjv_all(1.0), tjv_abs(x)));
    z.k = z.k + 1.0;
    return tjv_select(odd, tjv_quiet(x), tjv_log_finish(z));
}

TJV_RARE tjv_double tjv_asinh_special(tjv_double x)
{
    tjv_long far = tjv_exceeds(x, 0x1p400);
    tjv_double y = tjv_log_of_twice(tjv_select(far, tjv_abs(x), tjv_all(1.0)));
    return tjv_select(far, tjv_signed(y, x), tjv_asinh_near(tjv_select(far, tjv_all(0.0), x)));
}

TJV_INLINE tjv_double tjv_asinh(tjv_double x)
{
    return TJV_UNLIKELY(tjv_any(tjv_exceeds(x, 0x1p400))) ? tjv_asinh_special(x)
                                                          : tjv_asinh_near(x);
}

/* log(x + sqrt((x - 1) (x + 1))) */
TJV_INLINE tjv_double tjv_acosh_near(tjv_double x)
{
    tjv_double less = x - 1.0; /* exact, where that matters */
    tjv_pair more = tjv_ordered_sum(x, tjv_all(1.0)), product = tjv_two_product(less, more.h);
    tjv_pair root = tjv_root((tjv_pair){product.h, tjv_fma(less, more.l, product.l)});
    tjv_pair sum = tjv_ordered_sum(x, root.h);
    tjv_log_reduced z = tjv_log_reduce(sum.h);
    return tjv_log_with(z, (sum.l + root.l) * z.power);
}

TJV_INLINE tjv_long tjv_acosh_is_special(tjv_double x)
{
    return TJV_MASK((tjv_ulong)tjv_bits(x) - (uint64_t)tjv_constant_bits(1.0) >
                    (uint64_t)(tjv_constant_bits(0x1p400) - tjv_constant_bits(1.0)));
}

TJV_RARE tjv_double tjv_acosh_special(tjv_double x)
{
    tjv_long special = tjv_acosh_is_special(x), low = tjv_is_below(x, 1.0), nan = tjv_is_nan(x);
    tjv_double y = tjv_acosh_near(tjv_select(special, tjv_all(2.0), x));
    y = tjv_select(special, tjv_log_of_twice(tjv_select(special, x, tjv_all(1.0))), y);
    return tjv_invalid(low & ~nan, y);
}

TJV_INLINE tjv_double tjv_acosh(tjv_double x)
{
    return TJV_UNLIKELY(tjv_any(tjv_acosh_is_special(x))) ? tjv_acosh_special(x)
                                                          : tjv_acosh_near(x);
}

/* log1p(2 a / (1 - a)) / 2, a = |x| */
TJV_INLINE tjv_double tjv_atanh_near(tjv_double x)
{
    tjv_double a = tjv_abs(x);
    tjv_pair w = tjv_quotient((tjv_pair){a + a, tjv_all(0.0)}, tjv_ordered_sum(tjv_all(1.0), -a));
    return tjv_signed(0.5 * tjv_log_sum(tjv_two_sum(tjv_all(1.0), w.h), w.l), x);
}

TJV_RARE tjv_double tjv_atanh_special(tjv_double x)
{
    tjv_long special = tjv_is_large(x, 1.0), nan = tjv_is_nan(x);
    tjv_long pole = tjv_is(tjv_abs(x), 1.0);
    tjv_double y = tjv_atanh_near(tjv_select(special, tjv_all(0.0), x));
    y = tjv_pole(pole, x, y);
    y = tjv_invalid(special & ~pole & ~nan, y);
    return tjv_select(nan, tjv_quiet(x), y);
}

TJV_INLINE tjv_double tjv_atanh(tjv_double x)
{
    bool special = tjv_any(tjv_is_large(x, 1.0));
    return TJV_UNLIKELY(special) ? tjv_atanh_special(x) : tjv_atanh_near(x);
}

/* For floats: a cosh r + b sinh r and b cosh r + a sinh r, without second parts. */
TJV_INLINE tjv_pair tjv_hyperbolic_light(tjv_double x)
{
    static const double p[] = {TJV_SINHF}, q[] = {TJV_COSHF};
    tjv_double shifted = tjv_fma(x, tjv_all(TJV_1_LN2), tjv_all(TJV_ONES));
    tjv_double r = tjv_fma(shifted - TJV_ONES, tjv_all(-TJV_LN2_HIGH), x), z = r * r;
    tjv_long n = tjv_shift(shifted, 52), half = tjv_bits(tjv_all(0.5));
    tjv_double large = tjv_of_bits(half + n), small = tjv_of_bits(half - n);
    tjv_double s =
        tjv_fma(z * r, tjv_fma(tjv_fma(tjv_all(p[2]), z, tjv_all(p[1])), z, tjv_all(p[0])), r);
    tjv_double c = tjv_fma(z, tjv_fma(TJV_LINEAR(q, 0, z), z, tjv_all(0.5)), tjv_all(1.0));
    tjv_double a = large - small, b = large + small;
    return (tjv_pair){tjv_fma(a, c, b * s), tjv_fma(b, c, a * s)};
}

TJV_INLINE tjv_double tjv_sinh_light(tjv_double x)
{
    return tjv_select(tjv_is_zero(x), x, tjv_hyperbolic_light(x).h);
}

TJV_INLINE tjv_double tjv_cosh_light(tjv_double x)
{
    return tjv_hyperbolic_light(x).l;
}

TJV_INLINE tjv_double tjv_tanh_light(tjv_double x)
{
    tjv_pair y = tjv_hyperbolic_light(x);
    return tjv_select(tjv_is_zero(x), x, y.h / y.l);
}

TJV_BY_LIGHT(sinh, tjv_exceeds(x, 200.0), 0.0)
TJV_BY_LIGHT(cosh, tjv_exceeds(x, 200.0), 0.0)
TJV_BY_LIGHT(tanh, tjv_exceeds(x, 200.0), 0.0)

/* For floats: squares of floats neither overflow nor underflow, and sums lose nothing that matters. */
TJV_INLINE tjv_double tjv_asinh_light(tjv_double x)
{
    tjv_double a = tjv_abs(x), square = a * a;
    return tjv_copysign(tjv_log1p_light(a + square / (1.0 + tjv_sqrt(1.0 + square))), x);
}

TJV_INLINE tjv_double tjv_acosh_light(tjv_double x)
{
    tjv_double t = x - 1.0;
    return tjv_log1p_light(t + tjv_sqrt(t * (x + 1.0)));
}

TJV_INLINE tjv_double tjv_atanh_light(tjv_double x)
{
    tjv_double a = tjv_abs(x);
    return tjv_copysign(0.5 * tjv_log1p_light((a + a) / (1.0 - a)), x);
}

TJV_BY_LIGHT(asinh, tjv_exceeds(x, 0x1p400), 0.0)
TJV_BY_LIGHT(acosh, tjv_acosh_is_special(x), 2.0)
TJV_BY_LIGHT(atanh, tjv_is_large(x, 1.0), 0.0)
