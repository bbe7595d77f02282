/* log.h: log, log2, log10, log1p. x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), and
 * log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)), s = f / (2 + f) (K. C. Ng's algorithm, described in fdlibm's e_log.c); here the sum
 * k ln 2 + f - f^2/2 is kept in two parts. */
#pragma once

#include "common.h"

typedef struct {
    tjv_double k, f, sum, power; /* sum is 2 + f, power is 2^-k */
} tjv_log_reduced;

/* For normal x above 0. */
TJV_INLINE tjv_log_reduced tjv_log_reduce(tjv_double x)
{
    tjv_long b = tjv_bits(x) + (INT64_C(0x3ff0000000000000) - TJV_SQRT_HALF_BITS);
    tjv_long k = (tjv_long)((tjv_ulong)b >> 52) | INT64_C(0x4330000000000000);
    tjv_long m = (b & INT64_C(0x000fffffffffffff)) + TJV_SQRT_HALF_BITS;
    tjv_double one = tjv_of_bits(m);
    return (tjv_log_reduced){tjv_of_bits(k) - (0x1p52 + 1023), one - 1.0, one + 1.0,
                             tjv_of_bits((tjv_long)((tjv_ulong)(2046 - k) << 52))};
}

/* log(1 + f) - f + f^2/2; sum is 2 + f */
TJV_INLINE tjv_double tjv_log_rest(tjv_double f, tjv_double sum)
{
    static const double p[] = {TJV_LOG};
    tjv_double s = f / sum, z = s * s, w = z * z;
    tjv_double a = TJV_LINEAR(p, 0, z), b = TJV_LINEAR(p, 2, z), c = TJV_LINEAR(p, 4, z);
    c = tjv_fma(tjv_all(p[6]), w, c);
    b = tjv_fma(c, w, b);
    a = tjv_fma(b, w, a);
    return s * tjv_fma(a, z, 0.5 * f * f);
}

/* k ln 2 + log(1 + f) */
TJV_INLINE tjv_pair tjv_log_pair(tjv_log_reduced z)
{
    tjv_pair u = tjv_ordered_sum(z.k * TJV_LN2_SHORT, z.f);
    tjv_double half = -0.5 * z.f, v = tjv_fma(half, z.f, u.h);
    tjv_double low = tjv_fma(half, z.f, u.h - v) + u.l;
    return (tjv_pair){v, tjv_fma(z.k, tjv_all(TJV_LN2_SHORT_LOW), low) + tjv_log_rest(z.f, z.sum)};
}

/* f - f^2/2 times the constant high + low; the rest of log(1 + f) is still to be added. */
TJV_INLINE tjv_pair tjv_log_times(tjv_double f, double high, double low)
{
    tjv_double half = -0.5 * f, v = tjv_fma(half, f, f), p = v * high;
    tjv_double rest = tjv_fma(v, tjv_all(low), tjv_fma(v, tjv_all(high), -p));
    return (tjv_pair){p, tjv_fma(tjv_fma(half, f, f - v), tjv_all(high), rest)};
}

/* All but positive normal numbers. */
TJV_INLINE tjv_long tjv_log_is_special(tjv_double x)
{
    return TJV_MASK((tjv_long)((tjv_ulong)tjv_bits(x) + UINT64_C(0x7ff0000000000000)) >=
                    INT64_C(-0x0020000000000000));
}

/* Of positive numbers, subnormal ones, too; of 1 for the other lanes. */
TJV_INLINE tjv_log_reduced tjv_log_reduce_special(tjv_double x)
{
    tjv_long small = tjv_is_small(x, 0x1p-1022);
    tjv_double y = tjv_select(small, tjv_select(small, tjv_abs(x), tjv_all(1.0)) * 0x1p54, x);
    y = tjv_select(tjv_log_is_special(y), tjv_all(1.0), y);
    tjv_log_reduced z = tjv_log_reduce(y);
    z.k = z.k - tjv_select(small, tjv_all(54.0), tjv_all(0.0));
    return z;
}

/* y, or what log has of 0, of negative numbers, of infinity and NaN, with their flags. */
TJV_INLINE tjv_double tjv_log_specials(tjv_double x, tjv_double y)
{
    tjv_long zero = tjv_is_zero(x), nan = tjv_is_nan(x);
    y = tjv_pole(zero, tjv_all(-1.0), y);
    y = tjv_invalid(tjv_is_negative(x) & ~zero & ~nan, y);
    return tjv_select(nan | tjv_is(x, __builtin_inf()), tjv_quiet(x), y);
}

TJV_INLINE tjv_double tjv_log_finish(tjv_log_reduced z)
{
    tjv_pair y = tjv_log_pair(z);
    return y.h + y.l;
}

TJV_INLINE tjv_double tjv_log2_finish(tjv_log_reduced z)
{
    tjv_pair y = tjv_log_times(z.f, TJV_LOG2E_HIGH, TJV_LOG2E_LOW), s = tjv_ordered_sum(z.k, y.h);
    return s.h + tjv_fma(tjv_log_rest(z.f, z.sum), tjv_all(TJV_LOG2E_HIGH), s.l + y.l);
}

TJV_INLINE tjv_double tjv_log10_finish(tjv_log_reduced z)
{
    tjv_pair y = tjv_log_times(z.f, TJV_LOG10E_HIGH, TJV_LOG10E_LOW);
    tjv_pair s = tjv_ordered_sum(z.k * TJV_LOG10_2_SHORT, y.h);
    tjv_double low = tjv_fma(z.k, tjv_all(TJV_LOG10_2_SHORT_LOW), s.l + y.l);
    return s.h + tjv_fma(tjv_log_rest(z.f, z.sum), tjv_all(TJV_LOG10E_HIGH), low);
}

#define TJV_LOG_FUNCTION(name)                                                      \
    TJV_RARE tjv_double tjv_##name##_special(tjv_double x)                          \
    {                                                                               \
        return tjv_log_specials(x, tjv_##name##_finish(tjv_log_reduce_special(x))); \
    }                                                                               \
    TJV_INLINE tjv_double tjv_##name(tjv_double x)                                  \
    {                                                                               \
        if (TJV_UNLIKELY(tjv_any(tjv_log_is_special(x))))                           \
            return tjv_##name##_special(x);                                         \
        return tjv_##name##_finish(tjv_log_reduce(x));                              \
    }
TJV_LOG_FUNCTION(log)
TJV_LOG_FUNCTION(log2)
TJV_LOG_FUNCTION(log10)

/* k ln 2 + log(1 + f + low), for a low part that is small beside f. */
TJV_INLINE tjv_double tjv_log_with(tjv_log_reduced z, tjv_double low)
{
    tjv_pair y = tjv_log_pair(z);
    /* 1 / (1 + f), nearly */
    tjv_double slope = tjv_fma(-z.f, tjv_fma(-z.f, 1.0 - z.f, tjv_all(1.0)), tjv_all(1.0));
    return y.h + tjv_fma(low, slope, y.l);
}

/* log(u.h + u.l + least), for u.h above 0 and below 2^1000, and least about as small as u.l. */
TJV_INLINE tjv_double tjv_log_sum(tjv_pair u, tjv_double least)
{
    tjv_log_reduced z = tjv_log_reduce(u.h);
    tjv_pair f = tjv_ordered_sum(z.f, u.l * z.power);
    z.f = f.h;
    z.sum = 2.0 + f.h;
    return tjv_log_with(z, tjv_fma(least, z.power, f.l));
}

TJV_INLINE tjv_double tjv_log1p_near(tjv_double x)
{
    tjv_double y = tjv_log_sum(tjv_two_sum(tjv_all(1.0), x), tjv_all(0.0));
    return tjv_select(tjv_is_small(x, 0x1p-54), x, y);
}

TJV_INLINE tjv_long tjv_log1p_is_special(tjv_double x)
{
    return TJV_MASK((tjv_ulong)tjv_bits(x) >= (uint64_t)tjv_constant_bits(-1.0)) |
           TJV_MASK(tjv_bits(x) >= tjv_constant_bits(0x1p1000));
}

TJV_RARE tjv_double tjv_log1p_special(tjv_double x)
{
    tjv_long special = tjv_log1p_is_special(x), nan = tjv_is_nan(x);
    tjv_long pole = tjv_is(x, -1.0);
    tjv_double y = tjv_log1p_near(tjv_select(special, tjv_all(1.0), x));
    tjv_long large = special & tjv_is_above(x, 0.0);
    y = tjv_select(large, tjv_log_special(tjv_select(large, x, tjv_all(1.0))), y);
    y = tjv_pole(pole, x, y);
    y = tjv_invalid(special & tjv_is_negative(x) & ~pole & ~nan, y);
    return tjv_select(nan, tjv_quiet(x), y);
}

TJV_INLINE tjv_double tjv_log1p(tjv_double x)
{
    return TJV_UNLIKELY(tjv_any(tjv_log1p_is_special(x))) ? tjv_log1p_special(x)
                                                          : tjv_log1p_near(x);
}

/* log(1 + f), of floats: relative error 2^-30. */
TJV_INLINE tjv_double tjv_log_light_part(tjv_double f, tjv_double sum)
{
    static const double p[] = {TJV_LOGF};
    tjv_double s = f / sum, z = s * s;
    tjv_double a = tjv_fma(tjv_all(p[2]), z * z, TJV_LINEAR(p, 0, z));
    return tjv_fma(s * z, a, s + s);
}

TJV_INLINE tjv_double tjv_log_light(tjv_double x)
{
    tjv_log_reduced z = tjv_log_reduce(x);
    return tjv_fma(z.k, tjv_all(TJV_LN2_HIGH), tjv_log_light_part(z.f, z.sum));
}

TJV_INLINE tjv_double tjv_log2_light(tjv_double x)
{
    tjv_log_reduced z = tjv_log_reduce(x);
    return tjv_fma(tjv_log_light_part(z.f, z.sum), tjv_all(TJV_LOG2E_HIGH), z.k);
}

TJV_INLINE tjv_double tjv_log10_light(tjv_double x)
{
    return tjv_log_light(x) * TJV_LOG10E_HIGH;
}

TJV_BY_LIGHT(log2, tjv_log_is_special(x), 1.0)
TJV_BY_LIGHT(log10, tjv_log_is_special(x), 1.0)

/* log(1 + x) for x above -1. */
TJV_INLINE tjv_double tjv_log1p_light(tjv_double x)
{
    tjv_log_reduced z = tjv_log_reduce(1.0 + x);
    tjv_long near = tjv_is(z.k, 0.0); /* x itself, not what is left of it in 1 + x */
    tjv_double f = tjv_select(near, x, z.f), y = tjv_log_light_part(f, 2.0 + f);
    return tjv_copysign(tjv_fma(z.k, tjv_all(TJV_LN2_HIGH), y), x);
}

TJV_BY_LIGHT(log1p, tjv_log1p_is_special(x), 1.0)
