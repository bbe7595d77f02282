/* error.h: erf, erfc. erfc a = exp(-a^2) h / (1 + 2 a) for a >= 1/2, where h is one polynomial in (a - 4) / (a + 4): the mapping of
 * M. M. Shepherd and J. G. Laframboise (Chebyshev approximation of (1 + 2 x) exp(x^2) erfc x in 0 <= x < infinity, Mathematics of
 * Computation 36, 1981); products and quotients in two parts. erf x is x times a polynomial in x^2 below 1/2, 1 - erfc x above. */
#pragma once

#include "common.h"
#include "exp.h"

/* p[1] + ... + p[22] t^21 */
TJV_INLINE tjv_double tjv_erfc_series(const double *p, tjv_double t)
{
    tjv_double t2 = t * t, t4 = t2 * t2, t8 = t4 * t4;
#define TJV_FOUR(i) tjv_fma(TJV_LINEAR(p, (i) + 2, t), t2, TJV_LINEAR(p, i, t))
    tjv_double a = tjv_fma(TJV_FOUR(5), t4, TJV_FOUR(1));
    tjv_double b = tjv_fma(TJV_FOUR(13), t4, TJV_FOUR(9));
    tjv_double c = tjv_fma(TJV_LINEAR(p, 21, t), t4, TJV_FOUR(17));
#undef TJV_FOUR
    return tjv_fma(tjv_fma(c, t8, b), t8, a);
}

/* erfc(a) 2^n, for a from 1/2 to 28: the parts of exp(-a^2) and of the quotient. */
TJV_INLINE tjv_pair tjv_erfc_pair(tjv_double a, tjv_double *shifted)
{
    static const double p[] = {TJV_ERFC}, slope[] = {TJV_ERFC_SLOPE};
    tjv_pair t = tjv_quotient(tjv_ordered_sum(a, tjv_all(-4.0)), tjv_ordered_sum(a, tjv_all(4.0)));
    tjv_pair h = tjv_two_product(t.h, tjv_erfc_series(p, t.h));
    tjv_double change = tjv_fma(tjv_all(slope[4]), t.h, tjv_all(slope[3]));
    change = tjv_fma(tjv_fma(change, t.h, tjv_all(slope[2])), t.h, tjv_all(slope[1]));
    h.l = tjv_fma(tjv_fma(change, t.h, tjv_all(slope[0])), t.l, h.l + TJV_ERFC_LOW);
    tjv_pair s = tjv_ordered_sum(tjv_all(p[0]), h.h);
    tjv_pair d = tjv_two_sum(a + a, tjv_all(1.0));
    tjv_pair q = tjv_quotient((tjv_pair){s.h, s.l + h.l}, d);
    tjv_pair square = tjv_two_product(a, a);
    tjv_exp_reduced z = tjv_exp_reduce(-square.h, -square.l);
    tjv_pair one = tjv_ordered_sum(tjv_all(1.0), z.r);
    tjv_double half = 0.5 * z.r, v = tjv_fma(half, z.r, one.h), low = tjv_fma(half, z.r, one.h - v);
    tjv_pair e = tjv_ordered_sum(v, ((low + one.l) + z.low) + tjv_expm1_rest(z.r));
    tjv_pair y = tjv_two_product(e.h, q.h);
    *shifted = z.shifted;
    return (tjv_pair){y.h, y.l + tjv_fma(e.h, q.l, e.l * q.h)};
}

/* erf(x) - x for |x| <= 1/2 */
TJV_INLINE tjv_double tjv_erf_inner(tjv_double x)
{
    static const double p[] = {TJV_ERF};
    tjv_double z = x * x, w = z * z, v = w * w;
    tjv_double a = tjv_fma(TJV_LINEAR(p, 2, z), w, TJV_LINEAR(p, 0, z));
    tjv_double b = tjv_fma(TJV_LINEAR(p, 6, z), w, TJV_LINEAR(p, 4, z));
    tjv_double low = tjv_fma(tjv_fma(b, v, a), z * x, x * TJV_ERF_LOW);
    return tjv_fma(x, tjv_all(TJV_ERF_HIGH), low);
}

/* For x up to 26: no result is subnormal. */
TJV_INLINE tjv_double tjv_erfc_near(tjv_double x)
{
    tjv_long large = tjv_exceeds(x, 0.5);
    tjv_pair t = tjv_ordered_sum(tjv_all(1.0), -x);
    tjv_double inner = t.h + (t.l - tjv_erf_inner(x)), shifted;
    if (TJV_IF_ONE(~large))
        return inner;
    tjv_pair y = tjv_erfc_pair(tjv_select(large, tjv_abs(x), tjv_all(0.5)), &shifted);
    tjv_double power = tjv_scale(tjv_all(1.0), shifted);
    tjv_pair s = tjv_ordered_sum(tjv_all(2.0), -y.h * power);
    tjv_double outer =
        tjv_select(tjv_is_negative(x), s.h + (s.l - y.l * power), (y.h + y.l) * power);
    return tjv_select(large, outer, inner);
}

TJV_RARE tjv_double tjv_erfc_special(tjv_double x)
{
    tjv_long nan = tjv_is_nan(x), far = tjv_exceeds(x, 26.0);
    tjv_double a = tjv_select(nan, tjv_all(0.0), tjv_clamped(x, 28.0)), shifted;
    tjv_pair y = tjv_erfc_pair(tjv_select(tjv_is_negative(a), tjv_all(26.5), a), &shifted);
    tjv_double small = tjv_scale_far(y.h + y.l, shifted);
    small = tjv_select(tjv_is_negative(x), tjv_all(2.0), small);
    small = tjv_select(far, small, tjv_erfc_near(tjv_select(far, tjv_all(0.0), x)));
    return tjv_select(nan, tjv_quiet(x), small);
}

TJV_INLINE tjv_double tjv_erfc(tjv_double x)
{
    return TJV_UNLIKELY(tjv_any(tjv_exceeds(x, 26.0))) ? tjv_erfc_special(x) : tjv_erfc_near(x);
}

TJV_INLINE tjv_double tjv_erf_near(tjv_double x)
{
    tjv_long large = tjv_exceeds(x, 0.5);
    if (TJV_IF_ONE(~large))
        return tjv_copysign(x + tjv_erf_inner(x), x);
    tjv_double a = tjv_abs(x), shifted;
    tjv_double outer =
        tjv_select(tjv_exceeds(x, 6.0), tjv_all(6.0), tjv_select(large, a, tjv_all(0.5)));
    tjv_pair y = tjv_erfc_pair(outer, &shifted);
    tjv_double power = tjv_scale(tjv_all(1.0), shifted);
    tjv_pair s = tjv_ordered_sum(tjv_all(1.0), -y.h * power);
    return tjv_copysign(tjv_select(large, s.h + (s.l - y.l * power), x + tjv_erf_inner(x)), x);
}

TJV_RARE tjv_double tjv_erf_special(tjv_double x)
{
    tjv_long far = tjv_exceeds(x, 100.0);
    tjv_double y = tjv_erf_near(tjv_select(far, tjv_all(1.0), x));
    y = tjv_select(far, tjv_copysign(tjv_all(1.0), x), y);
    return tjv_select(tjv_is_nan(x), tjv_quiet(x), y);
}

TJV_INLINE tjv_double tjv_erf(tjv_double x)
{
    return TJV_UNLIKELY(tjv_any(tjv_exceeds(x, 100.0))) ? tjv_erf_special(x) : tjv_erf_near(x);
}

/* For floats: erf(x) for |x| <= 1/2, and erfc(a) for a from 1/2 to 28. */
TJV_INLINE tjv_double tjv_erf_inner_light(tjv_double x)
{
    static const double p[] = {TJV_ERFF};
    tjv_double z = x * x, w = z * z, a = tjv_fma(tjv_all(p[4]), w, TJV_LINEAR(p, 2, z));
    return tjv_fma(tjv_fma(a, w, TJV_LINEAR(p, 0, z)), z * x, x * (1 + TJV_ERF_HIGH));
}

TJV_INLINE tjv_double tjv_erfc_outer_light(tjv_double a)
{
    static const double p[] = {TJV_ERFCF};
    tjv_double t = (a - 4.0) / (a + 4.0), t2 = t * t, t4 = t2 * t2;
    tjv_double b = tjv_fma(TJV_LINEAR(p, 2, t), t2, TJV_LINEAR(p, 0, t));
    tjv_double c = tjv_fma(TJV_LINEAR(p, 6, t), t2, TJV_LINEAR(p, 4, t));
    tjv_double d =
        tjv_fma(tjv_all(p[12]), t4, tjv_fma(TJV_LINEAR(p, 10, t), t2, TJV_LINEAR(p, 8, t)));
    return tjv_exp_light(-a * a) * tjv_fma(tjv_fma(d, t4, c), t4, b) / (1.0 + (a + a));
}

TJV_INLINE tjv_double tjv_erf_light(tjv_double x)
{
    tjv_long large = tjv_exceeds(x, 0.5);
    if (TJV_IF_ONE(~large))
        return tjv_copysign(tjv_erf_inner_light(x), x);
    tjv_double outer = 1.0 - tjv_erfc_outer_light(tjv_select(large, tjv_abs(x), tjv_all(0.5)));
    return tjv_copysign(tjv_select(large, outer, tjv_erf_inner_light(x)), x);
}

TJV_INLINE tjv_double tjv_erfc_light(tjv_double x)
{
    tjv_long large = tjv_exceeds(x, 0.5);
    if (TJV_IF_ONE(~large))
        return 1.0 - tjv_erf_inner_light(x);
    tjv_double outer = tjv_erfc_outer_light(tjv_select(large, tjv_abs(x), tjv_all(0.5)));
    outer = tjv_select(tjv_is_negative(x), 2.0 - outer, outer);
    return tjv_select(large, outer, 1.0 - tjv_erf_inner_light(x));
}

TJV_BY_LIGHT(erf, tjv_exceeds(x, 12.0), 0.0)
TJV_BY_LIGHT(erfc, tjv_exceeds(x, 12.0), 0.0)
