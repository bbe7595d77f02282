/* common.h: what the functions share: bits, sums and products in two parts, floats by way of doubles. */
#pragma once

#include "coefficients.h"
#include "vector.h"

#define TJV_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
/* The whole of a function for vectors with a special lane: out of line, so that the rest needs no stack. */
#define TJV_RARE static __attribute__((noinline, cold, unused))

#define TJV_MAGNITUDE_BITS INT64_C(0x7fffffffffffffff)
#define TJV_INFINITY_BITS INT64_C(0x7ff0000000000000)

TJV_INLINE int64_t tjv_constant_bits(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

TJV_INLINE double tjv_number_of_bits(int64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

TJV_INLINE tjv_long tjv_magnitude(tjv_double x)
{
    return tjv_bits(x) & TJV_MAGNITUDE_BITS;
}

TJV_INLINE tjv_long tjv_sign(tjv_double x)
{
    return tjv_bits(x) & INT64_MIN;
}

/* Masks: comparisons of bits raise no flag, and x and y above 0 have the order of their bits. */
TJV_INLINE tjv_long tjv_is_nan(tjv_double x)
{
    return TJV_MASK(tjv_magnitude(x) > TJV_INFINITY_BITS);
}

TJV_INLINE tjv_long tjv_is_infinite(tjv_double x)
{
    return TJV_MASK(tjv_magnitude(x) == TJV_INFINITY_BITS);
}

TJV_INLINE tjv_long tjv_is_infinite_or_nan(tjv_double x)
{
    return TJV_MASK(tjv_magnitude(x) >= TJV_INFINITY_BITS);
}

TJV_INLINE tjv_long tjv_is_zero(tjv_double x)
{
    return TJV_MASK(tjv_magnitude(x) == 0);
}

TJV_INLINE tjv_long tjv_is_small(tjv_double x, double limit)
{
    return TJV_MASK(tjv_magnitude(x) < tjv_constant_bits(limit));
}

TJV_INLINE tjv_long tjv_is_large(tjv_double x, double limit)
{
    return TJV_MASK(tjv_magnitude(x) >= tjv_constant_bits(limit));
}

TJV_INLINE tjv_long tjv_is_negative(tjv_double x)
{
    return TJV_MASK(tjv_bits(x) < 0);
}

/* Are the bits those of the constant y? Its zeros have signs. */
TJV_INLINE tjv_long tjv_is(tjv_double x, double y)
{
    return TJV_MASK(tjv_bits(x) == tjv_constant_bits(y));
}

TJV_INLINE tjv_long tjv_is_below(tjv_double x, double y)
{
    return TJV_MASK(tjv_bits(x) < tjv_constant_bits(y));
}

TJV_INLINE tjv_long tjv_is_above(tjv_double x, double y)
{
    return TJV_MASK(tjv_bits(x) > tjv_constant_bits(y));
}

/* The bits of x, of which those that remain move up. */
TJV_INLINE tjv_long tjv_shift(tjv_double x, int count)
{
    return (tjv_long)((tjv_ulong)tjv_bits(x) << count);
}

/* NaN for NaN, quiet. */
TJV_INLINE tjv_double tjv_quiet(tjv_double x)
{
    return x + 1.0;
}

/* NaN with the flag "invalid", if a lane of mask is -1, there. */
TJV_INLINE tjv_double tjv_invalid(tjv_long mask, tjv_double y)
{
    tjv_double infinity = tjv_all(__builtin_inf());
    return tjv_any(mask) ? tjv_select(mask, infinity - tjv_select(mask, infinity, tjv_all(0.0)), y)
                         : y;
}

/* The infinity with the sign of x and the flag "divide by zero", likewise. */
TJV_INLINE tjv_double tjv_pole(tjv_long mask, tjv_double x, tjv_double y)
{
    if (!tjv_any(mask))
        return y;
    return tjv_select(
        mask, tjv_copysign(tjv_all(1.0), x) / tjv_select(mask, tjv_all(0.0), tjv_all(1.0)), y);
}

/* p[i] + p[i + 1] x */
#define TJV_LINEAR(p, i, x) tjv_fma(tjv_all((p)[(i) + 1]), x, tjv_all((p)[i]))

/* A number as the sum of two. */
typedef struct {
    tjv_double h, l;
} tjv_pair;

/* Dekker's sum: requires |a| >= |b|, or a = 0. */
TJV_INLINE tjv_pair tjv_ordered_sum(tjv_double a, tjv_double b)
{
    tjv_double s = a + b;
    return (tjv_pair){s, (a - s) + b};
}

/* Knuth's sum. */
TJV_INLINE tjv_pair tjv_two_sum(tjv_double a, tjv_double b)
{
    tjv_double s = a + b, t = s - a;
    return (tjv_pair){s, (a - (s - t)) + (b - t)};
}

TJV_INLINE tjv_pair tjv_two_product(tjv_double a, tjv_double b)
{
    tjv_double p = a * b;
    return (tjv_pair){p, tjv_fma(a, b, -p)};
}

/* (a.h + a.l) / (b.h + b.l), rounded twice. */
TJV_INLINE tjv_pair tjv_quotient(tjv_pair a, tjv_pair b)
{
    tjv_double inverse = 1.0 / b.h, q = a.h * inverse;
    tjv_double rest = tjv_fma(-q, b.l, tjv_fma(-q, b.h, a.h) + a.l);
    return (tjv_pair){q, rest * inverse};
}

/* The root of x.h + x.l, for x.h above 0 or with a 0 for both. */
TJV_INLINE tjv_pair tjv_root(tjv_pair x)
{
    tjv_double root = tjv_sqrt(x.h), rest = tjv_fma(-root, root, x.h) + x.l;
    return (tjv_pair){root, rest * (0.5 / (root + 0x1p-1000))};
}

/* tjv_NAMEf by tjv_NAME_light, a function of doubles that is exact enough for floats, and tjv_NAME for the lanes that are
 * special; `safe` is no special argument. Each lane's bits depend on that lane only. */
#define TJV_BY_LIGHT(name, special, safe)                                             \
    TJV_RARE tjv_double tjv_##name##_light_special(tjv_double x)                      \
    {                                                                                 \
        tjv_long lanes = special;                                                     \
        tjv_double y = tjv_##name##_light(tjv_select(lanes, tjv_all(safe), x));       \
        return tjv_select(lanes, tjv_##name(tjv_select(lanes, x, tjv_all(safe))), y); \
    }                                                                                 \
    TJV_INLINE tjv_double tjv_##name##_wide(tjv_double x)                             \
    {                                                                                 \
        return TJV_UNLIKELY(tjv_any(special)) ? tjv_##name##_light_special(x)         \
                                              : tjv_##name##_light(x);                \
    }                                                                                 \
    TJV_INLINE tjv_float tjv_##name##f(tjv_float x)                                   \
    {                                                                                 \
        return TJV_BY_DOUBLES(tjv_##name##_wide, x);                                  \
    }
