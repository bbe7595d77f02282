/* exp.h: exp, exp2, expm1. x = n ln 2 + r (Cody and Waite), a polynomial on |r| <= ln(2)/2, and 1 + r in two parts
 * (Muller, Elementary Functions, 3rd edition, chapters 6 and 11). */
#pragma once

#include "common.h"

/* r and a part below its last bit, and n in the last bits of shifted. */
typedef struct {
    tjv_double shifted, r, low;
} tjv_exp_reduced;

/* p[0] + p[1] r + ... + p[9] r^9 */
TJV_INLINE tjv_double tjv_exp_series(const double *p, tjv_double r, tjv_double r2)
{
    tjv_double a = TJV_LINEAR(p, 0, r), b = TJV_LINEAR(p, 2, r), c = TJV_LINEAR(p, 4, r);
    tjv_double d = TJV_LINEAR(p, 6, r), e = TJV_LINEAR(p, 8, r);
    d = tjv_fma(e, r2, d);
    c = tjv_fma(d, r2, c);
    a = tjv_fma(b, r2, a);
    return tjv_fma(c, r2 * r2, a);
}

/* exp(r) - 1 - r, for |r| <= 0.3467. */
TJV_INLINE tjv_double tjv_exp_rest(tjv_double r)
{
    static const double p[] = {TJV_EXP};
    tjv_double r2 = r * r;
    return tjv_exp_series(p, r, r2) * r2;
}

/* exp(r) - 1 - r - r^2/2, small beside r. */
TJV_INLINE tjv_double tjv_expm1_rest(tjv_double r)
{
    static const double p[] = {TJV_EXPM1};
    tjv_double r2 = r * r;
    return tjv_exp_series(p, r, r2) * (r2 * r);
}

/* n ln 2 + r = x + low */
TJV_INLINE tjv_exp_reduced tjv_exp_reduce(tjv_double x, tjv_double low)
{
    tjv_double shifted = tjv_fma(x, tjv_all(TJV_1_LN2), tjv_all(TJV_ONES)), n = shifted - TJV_ONES;
    tjv_double high =
        tjv_fma(n, tjv_all(-TJV_LN2_HIGH), x); /* exact: a multiple of 2^-54 below 1/2 */
    low = tjv_fma(n, tjv_all(-TJV_LN2_LOW), low);
    tjv_double r = high + low;
    return (tjv_exp_reduced){shifted, r, (high - r) + low};
}

TJV_INLINE tjv_exp_reduced tjv_exp2_reduce(tjv_double x)
{
    tjv_double shifted = x + TJV_ONES, part = x - (shifted - TJV_ONES), r = part * TJV_LN2_HIGH;
    tjv_double low = tjv_fma(part, tjv_all(TJV_LN2_HIGH), -r);
    return (tjv_exp_reduced){shifted, r, tjv_fma(part, tjv_all(TJV_LN2_LOW), low)};
}

TJV_INLINE tjv_double tjv_exp_finish(tjv_exp_reduced z)
{
    tjv_pair s = tjv_ordered_sum(tjv_all(1.0), z.r);
    return s.h + ((s.l + z.low) + tjv_exp_rest(z.r));
}

/* y 2^n, n in the last bits of shifted, where y and the result are normal numbers. */
TJV_INLINE tjv_double tjv_scale(tjv_double y, tjv_double shifted)
{
#if TJV_LANES == 1 /* a product is quicker than the way to the registers of integers and back */
    return y * tjv_of_bits(tjv_bits(1.0) + tjv_shift(shifted, 52));
#else
    return tjv_of_bits(tjv_bits(y) + tjv_shift(shifted, 52));
#endif
}

/* The same for all n from -2000 to 2000: in two steps, so that overflow and underflow are as they should be. */
TJV_INLINE tjv_double tjv_scale_far(tjv_double y, tjv_double shifted)
{
    tjv_double n = shifted - TJV_ONES, half = n * 0.5 + TJV_ONES,
               rest = n - (half - TJV_ONES) + TJV_ONES;
    tjv_double one = tjv_all(1.0);
    return y * tjv_scale(one, half) * tjv_scale(one, rest);
}

/* For lanes where |x| exceeds limit, limit with the sign of x: a number that overflows or underflows as x does. */
TJV_INLINE tjv_double tjv_clamped(tjv_double x, double limit)
{
    return tjv_select(tjv_exceeds(x, limit), tjv_copysign(tjv_all(limit), x), x);
}

/* y, or for infinities and NaN: at_minus for -inf, x for the others. */
TJV_INLINE tjv_double tjv_exp_specials(tjv_double x, tjv_double y, double at_minus)
{
    tjv_long minus = tjv_is(x, -__builtin_inf());
    y = tjv_select(tjv_is_infinite_or_nan(x), tjv_quiet(x), y);
    return tjv_select(minus, tjv_all(at_minus), y);
}

/* 1 for infinities and NaN, whose exponential would raise flags. */
TJV_INLINE tjv_double tjv_finite(tjv_double x, double limit)
{
    return tjv_select(tjv_is_infinite_or_nan(x), tjv_all(1.0), tjv_clamped(x, limit));
}

TJV_RARE tjv_double tjv_exp_special(tjv_double x)
{
    tjv_exp_reduced z = tjv_exp_reduce(tjv_finite(x, 800.0), tjv_all(0.0));
    return tjv_exp_specials(x, tjv_scale_far(tjv_exp_finish(z), z.shifted), 0.0);
}

TJV_INLINE tjv_double tjv_exp(tjv_double x)
{
    if (TJV_UNLIKELY(tjv_any(tjv_exceeds(x, 708.0))))
        return tjv_exp_special(x);
    tjv_exp_reduced z = tjv_exp_reduce(x, tjv_all(0.0));
    return tjv_scale(tjv_exp_finish(z), z.shifted);
}

TJV_RARE tjv_double tjv_exp2_special(tjv_double x)
{
    tjv_exp_reduced z = tjv_exp2_reduce(tjv_finite(x, 1200.0));
    return tjv_exp_specials(x, tjv_scale_far(tjv_exp_finish(z), z.shifted), 0.0);
}

TJV_INLINE tjv_double tjv_exp2(tjv_double x)
{
    if (TJV_UNLIKELY(tjv_any(tjv_exceeds(x, 1022.0))))
        return tjv_exp2_special(x);
    tjv_exp_reduced z = tjv_exp2_reduce(x);
    return tjv_scale(tjv_exp_finish(z), z.shifted);
}

/* 2^-n, for |n| <= 1022 */
TJV_INLINE tjv_double tjv_power_minus(tjv_exp_reduced z)
{
    return tjv_of_bits(tjv_bits(tjv_all(1.0)) - tjv_shift(z.shifted, 52));
}

/* (exp(x) - 1) / 2^n in two parts, for one = 1 - 2^-n. */
TJV_INLINE tjv_pair tjv_expm1_pair(tjv_exp_reduced z, tjv_pair one)
{
    tjv_pair s = tjv_ordered_sum(one.h, z.r);
    tjv_double half = 0.5 * z.r, v = tjv_fma(half, z.r, s.h), low = tjv_fma(half, z.r, s.h - v);
    return (tjv_pair){v, ((low + s.l) + (z.low + one.l)) + tjv_expm1_rest(z.r)};
}

TJV_INLINE tjv_double tjv_expm1_near(tjv_double x)
{
    tjv_exp_reduced z = tjv_exp_reduce(x, tjv_all(0.0));
    /* where 2^-n is above 1, what this sum loses does not matter */
    tjv_pair y = tjv_expm1_pair(z, tjv_ordered_sum(tjv_all(1.0), -tjv_power_minus(z)));
    /* times 2^n by a product: the sum may be 0 */
    tjv_double result = (y.h + y.l) * tjv_scale(tjv_all(1.0), z.shifted);
    return tjv_select(tjv_is_small(x, 0x1p-54), x, result);
}

TJV_RARE tjv_double tjv_expm1_special(tjv_double x)
{
    tjv_long far = tjv_exceeds(x, 708.0);
    tjv_double y = tjv_expm1_near(tjv_select(far, tjv_all(0.0), x));
    return tjv_select(far, tjv_exp_special(tjv_select(far, x, tjv_all(0.0))) - 1.0, y);
}

TJV_INLINE tjv_double tjv_expm1(tjv_double x)
{
    return TJV_UNLIKELY(tjv_any(tjv_exceeds(x, 708.0))) ? tjv_expm1_special(x) : tjv_expm1_near(x);
}

/* exp(x) for floats: error 2^-28. */
TJV_INLINE tjv_double tjv_exp_rest_light(tjv_double r)
{
    static const double p[] = {TJV_EXPF};
    tjv_double r2 = r * r;
    tjv_double a = TJV_LINEAR(p, 0, r), b = TJV_LINEAR(p, 2, r);
    b = tjv_fma(r2, tjv_all(p[4]), b);
    return tjv_fma(b, r2, a) * r2;
}

TJV_INLINE tjv_double tjv_exp_light(tjv_double x)
{
    tjv_double shifted = tjv_fma(x, tjv_all(TJV_1_LN2), tjv_all(TJV_ONES));
    tjv_double r = tjv_fma(shifted - TJV_ONES, tjv_all(-TJV_LN2_HIGH), x);
    return tjv_scale(1.0 + r + tjv_exp_rest_light(r), shifted);
}

TJV_INLINE tjv_double tjv_exp2_light(tjv_double x)
{
    tjv_double shifted = x + TJV_ONES, r = (x - (shifted - TJV_ONES)) * TJV_LN2_HIGH;
    return tjv_scale(1.0 + r + tjv_exp_rest_light(r), shifted);
}

TJV_BY_LIGHT(exp2, tjv_exceeds(x, 200.0), 0.0)

/* 2^n (exp(r) - 1) + (2^n - 1): exact to 2^-30 near 0, too. */
TJV_INLINE tjv_double tjv_expm1_light(tjv_double x)
{
    static const double p[] = {TJV_EXPM1F};
    tjv_double shifted = tjv_fma(x, tjv_all(TJV_1_LN2), tjv_all(TJV_ONES));
    tjv_double r = tjv_fma(shifted - TJV_ONES, tjv_all(-TJV_LN2_HIGH), x), r2 = r * r;
    tjv_double a = tjv_fma(TJV_LINEAR(p, 4, r), r2, TJV_LINEAR(p, 2, r));
    tjv_double y = tjv_fma(tjv_fma(a, r2, TJV_LINEAR(p, 0, r)), r2, r);
    tjv_double power = tjv_scale(tjv_all(1.0), shifted);
    return tjv_select(tjv_is_zero(x), x, tjv_fma(power, y, power - 1.0));
}

TJV_BY_LIGHT(expm1, tjv_exceeds(x, 200.0), 0.0)
