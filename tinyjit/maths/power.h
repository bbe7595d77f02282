/* power.h: pow, cbrt, hypot. pow is exp(y log x) with log x in two parts, as the series of 2 atanh(s) whose first two
 * terms have two parts (Muller, Elementary Functions, chapter 12); cbrt by Newton's steps for 1 / cbrt x. */
#pragma once

#include "common.h"
#include "exp.h"
#include "hyperbolic.h"
#include "log.h"

/* log x for normal x above 0: with the centre nearest to m of three, s = (m - centre) / (m + centre). */
TJV_INLINE tjv_pair tjv_log_long(tjv_log_reduced m)
{
    static const double p[] = {TJV_LOG_LONG};
    tjv_double zero = tjv_all(0.0), x = 1.0 + m.f;
    tjv_long below =
        tjv_bits(x)<tjv_constant_bits(0.86), above = tjv_bits(x)> tjv_constant_bits(1.16);
    tjv_double centre = tjv_select(above, tjv_all(TJV_CENTRE_ABOVE), tjv_all(1.0));
    centre = tjv_select(below, tjv_all(TJV_CENTRE_BELOW), centre);
    tjv_double high = tjv_select(above, tjv_all(TJV_LOG_ABOVE_HIGH), zero);
    high = tjv_fma(m.k, tjv_all(TJV_LN2_SHORT),
                   tjv_select(below, tjv_all(TJV_LOG_BELOW_HIGH), high)); /* exact */
    tjv_double least = tjv_select(above, tjv_all(TJV_LOG_ABOVE_LOW), zero);
    least = tjv_fma(m.k, tjv_all(TJV_LN2_SHORT_LOW),
                    tjv_select(below, tjv_all(TJV_LOG_BELOW_LOW), least));
    tjv_pair s = tjv_quotient((tjv_pair){x - centre, zero}, tjv_ordered_sum(centre, x));
    tjv_pair z = tjv_two_product(s.h, s.h);
    z.l = tjv_fma(s.h + s.h, s.l, z.l);
    tjv_pair cube = tjv_two_product(s.h, z.h);
    cube.l = tjv_fma(s.l, z.h, tjv_fma(s.h, z.l, cube.l));
    tjv_pair term = tjv_two_product(cube.h, tjv_all(TJV_2_3_HIGH));
    term.l = tjv_fma(cube.l, tjv_all(TJV_2_3_HIGH), tjv_fma(cube.h, tjv_all(TJV_2_3_LOW), term.l));
    tjv_double w = z.h * z.h, a = tjv_fma(tjv_all(p[4]), w, TJV_LINEAR(p, 2, z.h));
    tjv_double rest = tjv_fma(a, w, TJV_LINEAR(p, 0, z.h)) * (z.h * cube.h);
    tjv_pair u = tjv_ordered_sum(s.h + s.h, term.h), sum = tjv_ordered_sum(high, u.h);
    tjv_double low = u.l + (tjv_fma(tjv_all(2.0), s.l, term.l) + rest);
    return tjv_ordered_sum(sum.h, sum.l + (least + low));
}

/* y times a number in two parts. */
TJV_INLINE tjv_pair tjv_times(tjv_double y, tjv_pair x)
{
    tjv_pair p = tjv_two_product(y, x.h);
    return (tjv_pair){p.h, tjv_fma(y, x.l, p.l)};
}

/* -1 where y is an integer; in *odd -1 where it is an odd one. */
TJV_INLINE tjv_long tjv_is_integer(tjv_double y, tjv_long *odd)
{
    tjv_double a = tjv_abs(y);
    tjv_long small = tjv_bits(a) < tjv_constant_bits(0x1p52),
             large = tjv_bits(a) >= tjv_constant_bits(0x1p53);
    tjv_double sum = tjv_select(small, a, tjv_all(0.0)) + 0x1p52;
    tjv_long integer = ~small | (sum - 0x1p52 == a);
    *odd = integer & ~large & -(tjv_bits(tjv_select(small, sum, a)) & 1);
    return integer;
}

/* Annex F's results that are no power of a positive number, and their flags: y is the result for |x|. */
TJV_INLINE tjv_double tjv_pow_specials(tjv_double x, tjv_double y, tjv_double result)
{
    tjv_double one = tjv_all(1.0), zero = tjv_all(0.0), infinity = tjv_all(__builtin_inf());
    tjv_long odd, integer = tjv_is_integer(y, &odd), nan = tjv_is_nan(x) | tjv_is_nan(y);
    tjv_long none = tjv_magnitude(x) == 0, infinite = tjv_magnitude(x) == TJV_INFINITY_BITS;
    tjv_long y_infinite = tjv_magnitude(y) == TJV_INFINITY_BITS, y_negative = tjv_bits(y) < 0;
    tjv_long unity = tjv_magnitude(x) == tjv_constant_bits(1.0);
    /* of |x| 0 or infinite, or y infinite */
    tjv_long grows = (tjv_magnitude(x) > tjv_constant_bits(1.0)) ^ y_negative;
    tjv_double extreme = tjv_select(grows, infinity, zero);
    result = tjv_select(none | infinite | y_infinite, extreme, result);
    tjv_long pole = none & y_negative & ~y_infinite & ~nan & (tjv_magnitude(y) != 0);
    result = tjv_pole(pole, one, result);
    result = tjv_select(unity & y_infinite, one, result);
    result = tjv_flip(result, tjv_sign(x) & odd);
    result =
        tjv_invalid((tjv_bits(x) < 0) & ~integer & ~none & ~infinite & ~nan & ~y_infinite, result);
    result = tjv_select(nan, tjv_select(tjv_is_nan(x), tjv_quiet(x), tjv_quiet(y)), result);
    return tjv_select((tjv_magnitude(y) == 0) | (tjv_bits(x) == tjv_constant_bits(1.0)), one,
                      result);
}

TJV_RARE tjv_double tjv_pow_special(tjv_double x, tjv_double y)
{
    tjv_long nan = tjv_is_nan(y);
    tjv_double exponent = tjv_select(nan, tjv_all(1.0), tjv_clamped(y, 0x1p66));
    tjv_long odd = tjv_magnitude(x) == 0;
    tjv_log_reduced z = tjv_log_reduce_special(tjv_select(odd, tjv_all(1.0), tjv_abs(x)));
    tjv_pair p = tjv_times(exponent, tjv_log_long(z));
    tjv_long far = tjv_exceeds(p.h, 800.0);
    p.h = tjv_clamped(p.h, 800.0);
    p.l = tjv_select(far, tjv_all(0.0), p.l);
    /* where a flag would be wrong: the result comes from tjv_pow_specials() */
    tjv_long known = nan | odd | (tjv_magnitude(x) >= TJV_INFINITY_BITS) |
                     (tjv_magnitude(y) == TJV_INFINITY_BITS);
    tjv_long whole_odd;
    known = known | ((tjv_bits(x) < 0) & ~tjv_is_integer(y, &whole_odd));
    p.h = tjv_select(known, tjv_all(0.0), p.h);
    p.l = tjv_select(known, tjv_all(0.0), p.l);
    tjv_exp_reduced e = tjv_exp_reduce(p.h, p.l);
    return tjv_pow_specials(x, y, tjv_scale_far(tjv_exp_finish(e), e.shifted));
}

TJV_INLINE tjv_double tjv_pow(tjv_double x, tjv_double y)
{
    tjv_long special = tjv_log_is_special(x) | tjv_exceeds(y, 0x1p62);
    if (TJV_UNLIKELY(tjv_any(special)))
        return tjv_pow_special(x, y);
    tjv_pair p = tjv_times(y, tjv_log_long(tjv_log_reduce(x)));
    if (TJV_UNLIKELY(tjv_any(tjv_exceeds(p.h, 708.0))))
        return tjv_pow_special(x, y);
    tjv_exp_reduced e = tjv_exp_reduce(p.h, p.l);
    return tjv_scale(tjv_exp_finish(e), e.shifted);
}

/* a and 1 / cbrt(a), nearly, for x = a 8^q, a from 1 to 8, and q + 341 in the last bits of shifted. */
typedef struct {
    tjv_double a, inverse, shifted;
} tjv_cbrt_reduced;

TJV_INLINE tjv_cbrt_reduced tjv_cbrt_reduce(tjv_double x)
{
    static const double p[] = {TJV_CBRT};
    tjv_long b = tjv_magnitude(x);
    tjv_double e =
        tjv_of_bits((tjv_long)((tjv_ulong)b >> 52) | INT64_C(0x4330000000000000)) - 0x1p52;
    tjv_double third = tjv_all(1.0 / 3), shifted = tjv_fma(e, third, -third) + TJV_ONES;
    tjv_double rest = tjv_fma(shifted - TJV_ONES, tjv_all(-3.0), e); /* 0, 1 or 2 */
    tjv_long m = (b & INT64_C(0x000fffffffffffff)) | INT64_C(0x3ff0000000000000);
    tjv_double z = tjv_of_bits(m), w = z * z;
    tjv_double i =
        tjv_fma(tjv_fma(tjv_fma(tjv_all(p[6]), w, TJV_LINEAR(p, 4, z)), w, TJV_LINEAR(p, 2, z)), w,
                TJV_LINEAR(p, 0, z));
    tjv_double factor =
        tjv_select(tjv_bits(rest) == tjv_constant_bits(1.0), tjv_all(TJV_CBRT2), tjv_all(1.0));
    factor = tjv_select(tjv_bits(rest) == tjv_constant_bits(2.0), tjv_all(TJV_CBRT4), factor);
    tjv_double a = tjv_of_bits(m + (tjv_bits(rest + TJV_ONES) << 52));
    return (tjv_cbrt_reduced){a, i * factor, shifted};
}

/* y 2^q with the sign of x */
TJV_INLINE tjv_double tjv_cbrt_scale(tjv_double y, tjv_double shifted, tjv_double x)
{
    return tjv_of_bits((tjv_bits(y) + ((tjv_bits(shifted) - 341) << 52)) ^ tjv_sign(x));
}

TJV_INLINE tjv_double tjv_cbrt_near(tjv_double x)
{
    tjv_cbrt_reduced z = tjv_cbrt_reduce(x);
    tjv_double i = z.inverse, e = tjv_fma(-z.a * i, i * i, tjv_all(1.0));
    i = tjv_fma(i * e, tjv_all(1.0 / 3), i);
    tjv_double square = i * i, y = z.a * square;
    tjv_pair s = tjv_two_product(y, y);
    tjv_double rest = tjv_fma(-s.l, y, tjv_fma(-s.h, y, z.a));
    return tjv_cbrt_scale(tjv_fma(rest, square * (1.0 / 3), y), z.shifted, x);
}

TJV_INLINE tjv_long tjv_is_not_normal(tjv_double x)
{
    return (tjv_ulong)(tjv_magnitude(x) - INT64_C(0x0010000000000000)) >=
           UINT64_C(0x7fe0000000000000);
}

TJV_RARE tjv_double tjv_cbrt_special(tjv_double x)
{
    tjv_long special = tjv_is_not_normal(x),
             subnormal = tjv_magnitude(x) < INT64_C(0x0010000000000000);
    tjv_long none = tjv_magnitude(x) == 0;
    tjv_double large = tjv_select(subnormal & ~none, x, tjv_all(1.0)) * 0x1p54;
    tjv_double y = tjv_cbrt_near(tjv_select(special, large, x));
    y = tjv_select(subnormal, y * 0x1p-18, y);
    y = tjv_select(none, x, y);
    return tjv_select(tjv_magnitude(x) >= TJV_INFINITY_BITS, tjv_quiet(x), y);
}

TJV_INLINE tjv_double tjv_cbrt(tjv_double x)
{
    return TJV_UNLIKELY(tjv_any(tjv_is_not_normal(x))) ? tjv_cbrt_special(x) : tjv_cbrt_near(x);
}

/* more >= less >= 0, more from 2^-500 to 2^500 */
TJV_INLINE tjv_double tjv_hypot_near(tjv_double more, tjv_double less)
{
    tjv_pair a = tjv_two_product(more, more), b = tjv_two_product(less, less),
             s = tjv_ordered_sum(a.h, b.h);
    tjv_pair root = tjv_root((tjv_pair){s.h, s.l + (a.l + b.l)});
    return root.h + root.l;
}

TJV_RARE tjv_double tjv_hypot_special(tjv_double x, tjv_double y)
{
    tjv_long swapped = tjv_magnitude(y) > tjv_magnitude(x), nan = tjv_is_nan(x) | tjv_is_nan(y);
    tjv_double less = tjv_abs(tjv_select(swapped, x, y)), more = tjv_abs(tjv_select(swapped, y, x));
    tjv_long infinite =
        (tjv_magnitude(x) == TJV_INFINITY_BITS) | (tjv_magnitude(y) == TJV_INFINITY_BITS);
    tjv_long none = tjv_bits(more) == 0, odd = none | infinite | nan;
    more = tjv_select(odd, tjv_all(1.0), more);
    less = tjv_select(odd, tjv_all(0.0), less);
    tjv_long large = tjv_bits(more) > tjv_constant_bits(0x1p500),
             small = tjv_bits(more) < tjv_constant_bits(0x1p-500);
    tjv_double scale =
        tjv_select(large, tjv_all(0x1p-600), tjv_select(small, tjv_all(0x1p600), tjv_all(1.0)));
    tjv_double back =
        tjv_select(large, tjv_all(0x1p600), tjv_select(small, tjv_all(0x1p-600), tjv_all(1.0)));
    tjv_double result = tjv_hypot_near(more * scale, less * scale) * back;
    result = tjv_select(none, tjv_all(0.0), result);
    result = tjv_select(nan, tjv_select(tjv_is_nan(x), tjv_quiet(x), tjv_quiet(y)), result);
    return tjv_select(infinite, tjv_all(__builtin_inf()), result);
}

TJV_INLINE tjv_double tjv_hypot(tjv_double x, tjv_double y)
{
    tjv_long swapped = tjv_magnitude(y) > tjv_magnitude(x);
    tjv_double less = tjv_abs(tjv_select(swapped, x, y)), more = tjv_abs(tjv_select(swapped, y, x));
    tjv_long special = (tjv_bits(more) > tjv_constant_bits(0x1p500)) |
                       (tjv_bits(more) < tjv_constant_bits(0x1p-500));
    return TJV_UNLIKELY(tjv_any(special)) ? tjv_hypot_special(x, y) : tjv_hypot_near(more, less);
}

/* For floats. */
TJV_INLINE tjv_double tjv_cbrt_light(tjv_double x)
{
    tjv_cbrt_reduced z = tjv_cbrt_reduce(x);
    tjv_double i = z.inverse, e = tjv_fma(-z.a * i, i * i, tjv_all(1.0));
    i = tjv_fma(i * e, tjv_all(1.0 / 3), i);
    return tjv_cbrt_scale(z.a * (i * i), z.shifted, x);
}

TJV_BY_LIGHT(cbrt, tjv_is_not_normal(x), 1.0)

/* The squares of floats are exact. */
TJV_INLINE tjv_double tjv_hypot_wide(tjv_double x, tjv_double y)
{
    tjv_double result = tjv_sqrt(tjv_fma(x, x, y * y));
    tjv_long special =
        (tjv_magnitude(x) >= TJV_INFINITY_BITS) | (tjv_magnitude(y) >= TJV_INFINITY_BITS);
    if (TJV_UNLIKELY(tjv_any(special)))
        result =
            tjv_select(special, tjv_hypot_special(tjv_select(special, x, tjv_all(0.0)), y), result);
    return result;
}

TJV_INLINE tjv_float tjv_hypotf(tjv_float x, tjv_float y)
{
    return TJV_BY_DOUBLES2(tjv_hypot_wide, x, y);
}

TJV_INLINE tjv_double tjv_pow_light(tjv_double x, tjv_double y, tjv_long *special)
{
    static const double p[] = {TJV_LOG_POWF};
    tjv_log_reduced z = tjv_log_reduce(x);
    tjv_double s = z.f / (2.0 + z.f), w = s * s, v = w * w;
    tjv_double a = tjv_fma(tjv_fma(tjv_all(p[4]), v, TJV_LINEAR(p, 2, w)), v, TJV_LINEAR(p, 0, w));
    tjv_double log = tjv_fma(z.k, tjv_all(TJV_LN2_HIGH), tjv_fma(s * w, a, s + s)),
               product = y * log;
    tjv_long far = tjv_exceeds(product, 200.0);
    *special = *special | far;
    return tjv_exp_light(tjv_select(far, tjv_all(0.0), product));
}

TJV_RARE tjv_double tjv_pow_light_special(tjv_double x, tjv_double y)
{
    tjv_double one = tjv_all(1.0);
    tjv_long special = tjv_log_is_special(x) | (tjv_magnitude(y) >= TJV_INFINITY_BITS);
    tjv_double result =
        tjv_pow_light(tjv_select(special, one, x), tjv_select(special, one, y), &special);
    return tjv_select(
        special, tjv_pow_special(tjv_select(special, x, one), tjv_select(special, y, one)), result);
}

TJV_INLINE tjv_double tjv_pow_wide(tjv_double x, tjv_double y)
{
    tjv_long special = tjv_log_is_special(x) | (tjv_magnitude(y) >= TJV_INFINITY_BITS);
    if (TJV_UNLIKELY(tjv_any(special)))
        return tjv_pow_light_special(x, y);
    tjv_double result = tjv_pow_light(x, y, &special);
    return TJV_UNLIKELY(tjv_any(special)) ? tjv_pow_light_special(x, y) : result;
}

TJV_INLINE tjv_float tjv_powf(tjv_float x, tjv_float y)
{
    return TJV_BY_DOUBLES2(tjv_pow_wide, x, y);
}
