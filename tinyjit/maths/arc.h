/* arc.h: asin, acos, atan, atan2. atan by three ranges and one polynomial (Cody and Waite, Software Manual for the Elementary
 * Functions, chapter 11), asin and acos beyond 1/2 by asin x = pi/2 - 2 asin(sqrt((1 - x) / 2)) (chapter 10); quotients, roots and
 * the multiples of pi in two parts. */
#pragma once

#include "common.h"

/* (atan(t) - t) / t for z = t^2, t <= sqrt(2) - 1 */
TJV_INLINE tjv_double tjv_atan_rest(tjv_double z)
{
    static const double p[] = {TJV_ATAN};
    tjv_double w = z * z, v = w * w;
    tjv_double a = TJV_LINEAR(p, 0, z), b = TJV_LINEAR(p, 2, z), c = TJV_LINEAR(p, 4, z);
    tjv_double d = TJV_LINEAR(p, 6, z), e = TJV_LINEAR(p, 8, z);
    e = tjv_fma(tjv_all(p[10]), w, e);
    c = tjv_fma(d, w, c);
    a = tjv_fma(b, w, a);
    c = tjv_fma(e, v, c);
    return tjv_fma(c, v, a) * z;
}

/* count pi/4 + sign atan(n / d), for integers count from 0 to 4; sign: 0 or the bit of the sign */
TJV_INLINE tjv_double tjv_atan_sum(tjv_pair n, tjv_pair d, tjv_double count, tjv_long sign)
{
    tjv_pair t = tjv_quotient(n, d), base = tjv_two_product(count, tjv_all(TJV_PI_4_HIGH));
    tjv_double z = t.h * t.h;
    tjv_double low = tjv_fma(t.h, tjv_atan_rest(z), tjv_fma(-z, t.l, t.l));
    tjv_pair s = tjv_ordered_sum(base.h, tjv_flip(t.h, sign));
    return s.h + (tjv_flip(low, sign) + (s.l + tjv_fma(count, tjv_all(TJV_PI_4_LOW), base.l)));
}

#define TJV_TAN_PI_8 0.41421356237309503

TJV_INLINE tjv_double tjv_atan_near(tjv_double x)
{
    tjv_double a = tjv_abs(x), zero = tjv_all(0.0), one = tjv_all(1.0);
    tjv_long middle = tjv_exceeds(x, TJV_TAN_PI_8), large = tjv_exceeds(x, 2.414213562373095);
    tjv_pair less = tjv_ordered_sum(-one, a), more = tjv_ordered_sum(one, a);
    tjv_pair n = {tjv_select(large, -one, tjv_select(middle, less.h, a)),
                  tjv_select(middle & ~large, less.l, zero)};
    tjv_pair d = {tjv_select(large, a, tjv_select(middle, more.h, one)),
                  tjv_select(middle & ~large, more.l, zero)};
    tjv_double count = tjv_select(large, tjv_all(2.0), tjv_select(middle, one, zero));
    return tjv_signed(tjv_atan_sum(n, d, count, tjv_all_long(0)), x);
}

TJV_RARE tjv_double tjv_atan_special(tjv_double x)
{
    tjv_double large = tjv_copysign(tjv_all(0x1p60), x);
    tjv_double y = tjv_atan_near(tjv_select(tjv_exceeds(x, 0x1p60), large, x));
    return tjv_select(tjv_is_nan(x), tjv_quiet(x), y);
}

TJV_INLINE tjv_double tjv_atan(tjv_double x)
{
    return TJV_UNLIKELY(tjv_any(tjv_exceeds(x, 0x1p60))) ? tjv_atan_special(x) : tjv_atan_near(x);
}

/* What both ways of atan2 begin with: the larger of |y| and |x|, the lesser, and where they are swapped. */
typedef struct {
    tjv_double less, more;
    tjv_long swapped;
} tjv_two;

TJV_INLINE tjv_two tjv_in_order(tjv_double y, tjv_double x)
{
    tjv_long swapped = TJV_MASK(tjv_magnitude(y) > tjv_magnitude(x));
    return (tjv_two){tjv_abs(tjv_pick(swapped, x, y)), tjv_abs(tjv_pick(swapped, y, x)), swapped};
}

/* The angle of the point of signs as those of y and x, for sizes from 2^-400 to 2^400. */
TJV_INLINE tjv_double tjv_atan2_of(tjv_two s, tjv_double y, tjv_double x)
{
    tjv_double zero = tjv_all(0.0);
    tjv_long middle = TJV_MASK(tjv_bits(s.more * TJV_TAN_PI_8) < tjv_bits(s.less));
    tjv_pair difference = tjv_ordered_sum(-s.more, s.less), sum = tjv_ordered_sum(s.more, s.less);
    tjv_pair n = {tjv_select(middle, difference.h, s.less), tjv_select(middle, difference.l, zero)};
    tjv_pair d = {tjv_select(middle, sum.h, s.more), tjv_select(middle, sum.l, zero)};
    /* first octants: atan; then pi/2 minus that, then pi minus that */
    tjv_double count = tjv_select(middle, tjv_all(1.0), zero);
    count = tjv_select(s.swapped, 2.0 - count, count);
    count = tjv_select(tjv_is_negative(x), 4.0 - count, count);
    tjv_long sign = tjv_sign(x) ^ (s.swapped & INT64_MIN);
    return tjv_signed(tjv_atan_sum(n, d, count, sign), y);
}

TJV_INLINE tjv_long tjv_atan2_is_special(tjv_two s)
{
    return tjv_is_below(s.less, 0x1p-400) | tjv_is_above(s.more, 0x1p400);
}

TJV_RARE tjv_double tjv_atan2_special(tjv_double y, tjv_double x)
{
    tjv_two s = tjv_in_order(y, x);
    tjv_double one = tjv_all(1.0), zero = tjv_all(0.0);
    tjv_long nan = tjv_is_nan(y) | tjv_is_nan(x), none = tjv_is(s.more, 0.0);
    tjv_long infinite = tjv_is(s.more, __builtin_inf()) & ~nan;
    tjv_double less =
        tjv_select(infinite, tjv_select(tjv_is(s.less, __builtin_inf()), one, zero), s.less);
    less = tjv_select(nan, zero, less);
    tjv_double more = tjv_select(infinite | none | nan, one, s.more);
    /* the quotient, where it is the angle: far below 2^-30 */
    tjv_long tiny = TJV_MASK(tjv_bits(more) - tjv_bits(less) > (INT64_C(60) << 52));
    tjv_long quotient = tiny & ~s.swapped & ~tjv_is_negative(x) & ~tjv_is(less, 0.0);
    tjv_double angle = tjv_select(quotient, less, zero) / tjv_select(quotient, more, one);
    tjv_double scale = tjv_select(tjv_is_above(more, 0x1p300), tjv_all(0x1p-600), one);
    scale = tjv_select(tjv_is_below(more, 0x1p-300), tjv_all(0x1p600), scale);
    s.less = tjv_select(tiny, zero, less) * scale;
    s.more = more * scale;
    tjv_double result = tjv_atan2_of(s, y, x);
    result = tjv_select(quotient, tjv_signed(angle, y), result);
    return tjv_select(nan, tjv_select(tjv_is_nan(y), tjv_quiet(y), tjv_quiet(x)), result);
}

TJV_INLINE tjv_double tjv_atan2(tjv_double y, tjv_double x)
{
    tjv_two s = tjv_in_order(y, x);
    if (TJV_UNLIKELY(tjv_any(tjv_atan2_is_special(s))))
        return tjv_atan2_special(y, x);
    return tjv_atan2_of(s, y, x);
}

/* (asin(t) - t) / t for z = t^2, t <= 1/2 */
TJV_INLINE tjv_double tjv_asin_rest(tjv_double z)
{
    static const double p[] = {TJV_ASIN};
    tjv_double w = z * z, v = w * w;
    tjv_double a = TJV_LINEAR(p, 0, z), b = TJV_LINEAR(p, 2, z), c = TJV_LINEAR(p, 4, z);
    tjv_double d = TJV_LINEAR(p, 6, z), e = TJV_LINEAR(p, 8, z), f = TJV_LINEAR(p, 10, z);
    f = tjv_fma(tjv_all(p[12]), w, f);
    e = tjv_fma(f, w, e);
    c = tjv_fma(d, w, c);
    a = tjv_fma(b, w, a);
    c = tjv_fma(e, v, c);
    return tjv_fma(c, v, a) * z;
}

/* asin(t.h + t.l) - t.h with t = |x|, or t = sqrt((1 - |x|) / 2) where |x| exceeds 1/2 */
TJV_INLINE tjv_pair tjv_asin_part(tjv_double x)
{
    tjv_long large = tjv_exceeds(x, 0.5);
    tjv_double a = tjv_abs(x),
               z = tjv_select(large, tjv_fma(tjv_all(-0.5), a, tjv_all(0.5)), a * a);
    tjv_pair root = tjv_root((tjv_pair){z, tjv_all(0.0)});
    tjv_double t = tjv_select(large, root.h, a);
    return (tjv_pair){t, tjv_fma(t, tjv_asin_rest(z), tjv_select(large, root.l, tjv_all(0.0)))};
}

TJV_INLINE tjv_double tjv_asin_near(tjv_double x)
{
    tjv_pair t = tjv_asin_part(x), s = tjv_ordered_sum(tjv_all(TJV_PI_2_1), -2.0 * t.h);
    tjv_double large = s.h + tjv_fma(tjv_all(-2.0), t.l, s.l + TJV_PI_2_2);
    return tjv_signed(tjv_select(tjv_exceeds(x, 0.5), large, t.h + t.l), x);
}

TJV_INLINE tjv_double tjv_acos_near(tjv_double x)
{
    tjv_pair t = tjv_asin_part(x);
    tjv_long large = tjv_exceeds(x, 0.5), negative = tjv_is_negative(x);
    /* pi/2 -+ t; 2 t; pi - 2 t */
    tjv_double base =
        tjv_select(large, tjv_select(negative, tjv_all(2.0), tjv_all(0.0)), tjv_all(1.0));
    tjv_double factor = tjv_select(large ^ negative, tjv_all(1.0), tjv_all(-1.0));
    factor = tjv_select(large, factor + factor, factor);
    tjv_pair s = tjv_ordered_sum(base * TJV_PI_2_1, factor * t.h);
    return s.h + tjv_fma(factor, t.l, tjv_fma(base, tjv_all(TJV_PI_2_2), s.l));
}

#define TJV_ARC_FUNCTION(name)                                                         \
    TJV_RARE tjv_double tjv_##name##_special(tjv_double x)                             \
    {                                                                                  \
        tjv_long special = tjv_exceeds(x, 1.0), nan = tjv_is_nan(x);                   \
        tjv_double y = tjv_##name##_near(tjv_select(special, tjv_all(0.0), x));        \
        return tjv_select(nan, tjv_quiet(x), tjv_invalid(special & ~nan, y));          \
    }                                                                                  \
    TJV_INLINE tjv_double tjv_##name(tjv_double x)                                     \
    {                                                                                  \
        bool special = tjv_any(tjv_exceeds(x, 1.0));                                   \
        return TJV_UNLIKELY(special) ? tjv_##name##_special(x) : tjv_##name##_near(x); \
    }
TJV_ARC_FUNCTION(asin)
TJV_ARC_FUNCTION(acos)

/* The same for floats, without second parts: atan(t), t <= sqrt(2) - 1. */
TJV_INLINE tjv_double tjv_atan_light_part(tjv_double t)
{
    static const double p[] = {TJV_ATANF};
    tjv_double z = t * t, w = z * z, r = tjv_fma(tjv_all(p[4]), w, TJV_LINEAR(p, 2, z));
    return tjv_fma(tjv_fma(r, w, TJV_LINEAR(p, 0, z)), z * t, t);
}

TJV_INLINE tjv_double tjv_atan_light(tjv_double x)
{
    tjv_double a = tjv_abs(x), one = tjv_all(1.0);
    tjv_long middle = tjv_exceeds(x, TJV_TAN_PI_8), large = tjv_exceeds(x, 2.414213562373095);
    tjv_double n = tjv_select(large, -one, tjv_select(middle, a - 1.0, a));
    tjv_double d = tjv_select(large, a, tjv_select(middle, a + 1.0, one));
    tjv_double base = tjv_select(middle, tjv_all(TJV_PI_4_HIGH), tjv_all(0.0));
    base = tjv_select(large, tjv_all(2 * TJV_PI_4_HIGH), base);
    return tjv_signed(base + tjv_atan_light_part(n / d), x);
}

TJV_BY_LIGHT(atan, tjv_exceeds(x, 0x1p60), 0.0)

TJV_INLINE tjv_pair tjv_asin_part_light(tjv_double x)
{
    static const double p[] = {TJV_ASINF};
    tjv_long large = tjv_exceeds(x, 0.5);
    tjv_double a = tjv_abs(x),
               z = tjv_select(large, tjv_fma(tjv_all(-0.5), a, tjv_all(0.5)), a * a), w = z * z;
    tjv_double t = tjv_select(large, tjv_sqrt(z), a);
    tjv_double r = tjv_fma(TJV_LINEAR(p, 4, z), w, TJV_LINEAR(p, 2, z));
    return (tjv_pair){t, tjv_fma(tjv_fma(r, w, TJV_LINEAR(p, 0, z)), z * t, t)};
}

TJV_INLINE tjv_double tjv_asin_light(tjv_double x)
{
    tjv_double y = tjv_asin_part_light(x).l, large = tjv_fma(tjv_all(-2.0), y, tjv_all(TJV_PI_2_1));
    return tjv_signed(tjv_select(tjv_exceeds(x, 0.5), large, y), x);
}

TJV_INLINE tjv_double tjv_acos_light(tjv_double x)
{
    tjv_double y = tjv_asin_part_light(x).l;
    tjv_long large = tjv_exceeds(x, 0.5), negative = tjv_is_negative(x);
    tjv_double base = tjv_select(negative, tjv_all(2 * TJV_PI_2_1), tjv_all(0.0));
    base = tjv_select(large, base, tjv_all(TJV_PI_2_1));
    tjv_double part = tjv_select(large, y + y, y);
    return base + tjv_flip(part, tjv_select_long(large ^ negative, tjv_all_long(0),
                                                 tjv_all_long(INT64_MIN)));
}

TJV_BY_LIGHT(asin, tjv_exceeds(x, 1.0), 0.0)
TJV_BY_LIGHT(acos, tjv_exceeds(x, 1.0), 0.0)
TJV_INLINE tjv_double tjv_atan2_light(tjv_double y, tjv_double x)
{
    tjv_two s = tjv_in_order(y, x);
    tjv_long middle = TJV_MASK(tjv_bits(s.more * TJV_TAN_PI_8) < tjv_bits(s.less));
    tjv_double n = tjv_select(middle, s.less - s.more, s.less),
               d = tjv_select(middle, s.less + s.more, s.more);
    tjv_double angle =
        tjv_select(middle, tjv_all(TJV_PI_4_HIGH), tjv_all(0.0)) + tjv_atan_light_part(n / d);
    angle = tjv_select(s.swapped, TJV_PI_2_1 - angle, angle);
    angle = tjv_select(tjv_is_negative(x), 2 * TJV_PI_2_1 - angle, angle);
    return tjv_signed(angle, y);
}

/* Sizes of floats need no care, but 0 / 0, infinities and NaN. */
TJV_INLINE tjv_long tjv_atan2_light_is_special(tjv_double y, tjv_double x)
{
    tjv_double more = tjv_in_order(y, x).more;
    return tjv_is(more, 0.0) | tjv_is_infinite_or_nan(more);
}

TJV_RARE tjv_double tjv_atan2_light_special(tjv_double y, tjv_double x)
{
    tjv_long special = tjv_atan2_light_is_special(y, x);
    tjv_double one = tjv_all(1.0);
    tjv_double result = tjv_atan2_light(tjv_select(special, one, y), tjv_select(special, one, x));
    return tjv_select(special, tjv_atan2_special(y, x), result);
}

TJV_INLINE tjv_double tjv_atan2_wide(tjv_double y, tjv_double x)
{
    bool special = tjv_any(tjv_atan2_light_is_special(y, x));
    return TJV_UNLIKELY(special) ? tjv_atan2_light_special(y, x) : tjv_atan2_light(y, x);
}

TJV_INLINE tjv_float tjv_atan2f(tjv_float y, tjv_float x)
{
    return TJV_BY_DOUBLES2(tjv_atan2_wide, y, x);
}
