/* roots.h: cbrt, by Newton's steps for 1 / cbrt x, and hypot. */
#pragma once

#include "common.h"

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
    tjv_double factor = tjv_pick(tjv_is(rest, 1.0), tjv_all(TJV_CBRT2), tjv_all(1.0));
    factor = tjv_pick(tjv_is(rest, 2.0), tjv_all(TJV_CBRT4), factor);
    tjv_double a = tjv_of_bits(m + tjv_shift(rest + TJV_ONES, 52));
    return (tjv_cbrt_reduced){a, i * factor, shifted};
}

/* y 2^q with the sign of x */
TJV_INLINE tjv_double tjv_cbrt_scale(tjv_double y, tjv_double shifted, tjv_double x)
{
    return tjv_of_bits((tjv_bits(y) + tjv_shift(shifted, 52) - (INT64_C(341) << 52)) ^ tjv_sign(x));
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
    return TJV_MASK((tjv_ulong)tjv_magnitude(x) - UINT64_C(0x0010000000000000) >=
                    UINT64_C(0x7fe0000000000000));
}

TJV_RARE tjv_double tjv_cbrt_special(tjv_double x)
{
    tjv_long special = tjv_is_not_normal(x), subnormal = tjv_is_small(x, 0x1p-1022);
    tjv_long none = tjv_is_zero(x);
    tjv_double large = tjv_select(subnormal & ~none, x, tjv_all(1.0)) * 0x1p54;
    tjv_double y = tjv_cbrt_near(tjv_select(special, large, x));
    y = tjv_select(subnormal, y * 0x1p-18, y);
    y = tjv_select(none, x, y);
    return tjv_select(tjv_is_infinite_or_nan(x), tjv_quiet(x), y);
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
    tjv_long swapped = TJV_MASK(tjv_magnitude(y) > tjv_magnitude(x)),
             nan = tjv_is_nan(x) | tjv_is_nan(y);
    tjv_double less = tjv_abs(tjv_select(swapped, x, y)), more = tjv_abs(tjv_select(swapped, y, x));
    tjv_long infinite = tjv_is_infinite(x) | tjv_is_infinite(y);
    tjv_long none = tjv_is(more, 0.0), odd = none | infinite | nan;
    more = tjv_select(odd, tjv_all(1.0), more);
    less = tjv_select(odd, tjv_all(0.0), less);
    tjv_long large = tjv_is_above(more, 0x1p500), small = tjv_is_below(more, 0x1p-500);
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
    tjv_long swapped = TJV_MASK(tjv_magnitude(y) > tjv_magnitude(x));
    tjv_double less = tjv_abs(tjv_pick(swapped, x, y)), more = tjv_abs(tjv_pick(swapped, y, x));
    tjv_long special = tjv_is_above(more, 0x1p500) | tjv_is_below(more, 0x1p-500);
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
    tjv_long special = tjv_is_infinite_or_nan(x) | tjv_is_infinite_or_nan(y);
    if (TJV_UNLIKELY(tjv_any(special)))
        result =
            tjv_select(special, tjv_hypot_special(tjv_select(special, x, tjv_all(0.0)), y), result);
    return result;
}

TJV_INLINE tjv_float tjv_hypotf(tjv_float x, tjv_float y)
{
    return TJV_BY_DOUBLES2(tjv_hypot_wide, x, y);
}
