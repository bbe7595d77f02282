/* mathematics.h: functions of libm that compilers may inline, for both tiers.
 *
 * A call of libm costs ten times as much as these operations, and prevents vectorisation of the loop. The
 * code that compilers inline by themselves gives other bits than libm, so we disable it and use these
 * functions instead. The extension is compiled with them, for the tcc tier (unit/mathematics.c), and the cc
 * tier and m.write() compile their text. Each function is exact, or rounds better than libm's, and treats
 * zeros, infinities and NaNs as libm does. They do not set errno.
 *
 * Needs <math.h>. Ends with the macros that give these functions the usual names. */
#pragma once

#define CWJ_INLINE static inline __attribute__((always_inline, unused))

/* ---- minimum, maximum, difference ----------------------------------------------------------------- */

/* If x and y compare equal (zeros of different sign), the result is y, as in glibc on x86-64. On arm64 there
 * are instructions for these functions, which treat -0 as less than 0. gcc does not vectorise a loop whose
 * condition contains both the comparison and the check for NaN. It uses one instruction for both if the check
 * is that y equals itself. */
#if defined(__aarch64__)
#define CWJ_EXTREME(type, function, x, sign, y) return __builtin_##function(x, y)
#else
#define CWJ_EXTREME(type, function, x, sign, y) \
    type found = x sign y ? x : y;              \
    return y >= y ? found : x
#endif
#define CWJ_EXTREMES(type, suffix)                   \
    CWJ_INLINE type cwj_fmin##suffix(type x, type y) \
    {                                                \
        CWJ_EXTREME(type, fmin##suffix, x, <, y);    \
    }                                                \
    CWJ_INLINE type cwj_fmax##suffix(type x, type y) \
    {                                                \
        CWJ_EXTREME(type, fmax##suffix, x, >, y);    \
    }                                                \
    CWJ_INLINE type cwj_fdim##suffix(type x, type y) \
    {                                                \
        type difference = x - y;                     \
        return x <= y ? 0 : difference;              \
    }
CWJ_EXTREMES(double, )
CWJ_EXTREMES(float, f)
#undef CWJ_EXTREMES
#undef CWJ_EXTREME
#define fmin cwj_fmin
#define fminf cwj_fminf
#define fmax cwj_fmax
#define fmaxf cwj_fmaxf
#define fdim cwj_fdim
#define fdimf cwj_fdimf

#ifdef CWJ_FASTMATH /* compilers inline the functions below better, but not those above */
#define cwj_pow pow
#define cwj_powf powf
#else

/* ---- rounding to integers ------------------------------------------------------------------------- */

/* Compilers have vector instructions for these functions, but do not use them, because they raise floating
 * point exceptions that the functions do not raise. Our code raises them, too; a text that asks for
 * exceptions does not use it. Adding and subtracting `ones`, the first number without digits after the point,
 * gives an integer next to |x|. All of this is exact in every rounding mode. */
#define CWJ_WHOLE(type, suffix, ones)                                         \
    CWJ_INLINE type cwj_floor##suffix(type x)                                 \
    {                                                                         \
        type size = fabs##suffix(x);                                          \
        type whole = copysign##suffix((size + ones) - ones, x);               \
        whole = copysign##suffix(whole > x ? whole - 1 : whole, x);           \
        return size < ones ? whole : x;                                       \
    }                                                                         \
    CWJ_INLINE type cwj_ceil##suffix(type x)                                  \
    {                                                                         \
        return -cwj_floor##suffix(-x);                                        \
    }                                                                         \
    CWJ_INLINE type cwj_trunc##suffix(type x)                                 \
    {                                                                         \
        return copysign##suffix(cwj_floor##suffix(fabs##suffix(x)), x);       \
    }                                                                         \
    CWJ_INLINE type cwj_round##suffix(type x)                                 \
    {                                                                         \
        type size = fabs##suffix(x), whole = cwj_floor##suffix(size);         \
        return copysign##suffix(size - whole >= 0.5f ? whole + 1 : whole, x); \
    }                                                                         \
    CWJ_INLINE long cwj_lround##suffix(type x)                                \
    {                                                                         \
        return (long)cwj_round##suffix(x);                                    \
    }                                                                         \
    CWJ_INLINE long long cwj_llround##suffix(type x)                          \
    {                                                                         \
        return (long long)cwj_round##suffix(x);                               \
    }
CWJ_WHOLE(double, , 0x1p52)
CWJ_WHOLE(float, f, 0x1p23f)
#undef CWJ_WHOLE

/* ---- powers --------------------------------------------------------------------------------------- */

enum {
    CWJ_LARGEST_POWER = 8 /* the largest power that is computed by products */
};

/* A number with twice the digits: the sum of both members. */
typedef struct {
    double high, low;
} cwj_pair;

/* Returns x * y - product, where product = x * y is rounded. It is exact except for overflow and underflow. Source:
 * Dekker, A floating-point technique for extending the available precision, Numerische Mathematik 18, 1971. */
CWJ_INLINE double cwj_rest_of_product(double x, double y, double product)
{
    double a = 0x1.0000002p27 * x, b = 0x1.0000002p27 * y;
    double x_high = a - (a - x), y_high = b - (b - y);
    double x_low = x - x_high, y_low = y - y_high;
    return ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low;
}

CWJ_INLINE cwj_pair cwj_times(cwj_pair x, cwj_pair y)
{
    double high = x.high * y.high;
    double low = cwj_rest_of_product(x.high, y.high, high) + (x.high * y.low + x.low * y.high);
    return (cwj_pair){high, low};
}

CWJ_INLINE cwj_pair cwj_reciprocal(cwj_pair x)
{
    double high = 1 / x.high, product = high * x.high;
    double rest = (1 - product) - cwj_rest_of_product(high, x.high, product) - high * x.low;
    return (cwj_pair){high, high * rest};
}

/* 1 <= n <= CWJ_LARGEST_POWER. Both kinds of numbers use the same steps. */
#define CWJ_LADDER(type, times)                                                              \
    type x2 = times(x, x), x4 = n < 4 ? x2 : times(x2, x2), x6 = n < 6 ? x4 : times(x4, x2); \
    return n == 1   ? x                                                                      \
           : n == 2 ? x2                                                                     \
           : n == 3 ? times(x2, x)                                                           \
           : n == 4 ? x4                                                                     \
           : n == 5 ? times(x4, x)                                                           \
           : n == 6 ? x6                                                                     \
           : n == 7 ? times(x6, x)                                                           \
                    : times(x4, x4)
#define CWJ_PLAIN_TIMES(x, y) ((x) * (y))
CWJ_INLINE cwj_pair cwj_pair_power(cwj_pair x, int n)
{
    CWJ_LADDER(cwj_pair, cwj_times);
}
CWJ_INLINE double cwj_plain_power(double x, int n)
{
    CWJ_LADDER(double, CWJ_PLAIN_TIMES);
}
#undef CWJ_PLAIN_TIMES
#undef CWJ_LADDER

typedef union {
    double number;
    long long bits;
} cwj_bits;

#define CWJ_BITS_OF_POWER(n) ((1023LL + (n)) << 52) /* of 2^n */

/* Requires 0 < |n| <= CWJ_LARGEST_POWER. Intermediate results have twice the digits, so the result is rounded once,
 * except for results below DBL_MIN. Large and small numbers are first scaled towards 1 by powers of 2, and the result
 * is scaled back. If the result overflows or underflows by far, or x is 0, infinite or NaN, plain products give it with
 * the right flags. */
static inline __attribute__((unused)) double cwj_whole_power(double x, int n)
{
    if (n == 1 || n == 2)
        return n == 1 ? x : x * x;
    if (n == -1)
        return 1 / x;
    int k = n < 0 ? -n : n;
    int e = 540 / k;
    /* Bits, as comparisons of numbers would raise a flag for NaN; masks, as compilers make no vectors of branches. */
    cwj_bits near = {x}, rest = {x}; /* x = near * rest, one of them is 1 */
    long long size = near.bits & 0x7fffffffffffffff, large = size >= CWJ_BITS_OF_POWER(0);
    long long far = -(long long)((size >= CWJ_BITS_OF_POWER(2 * e + 1)) |
                                 (size <= CWJ_BITS_OF_POWER(-2 * e - 1)));
    near.bits = (near.bits & ~far) | (CWJ_BITS_OF_POWER(0) & far);
    rest.bits = (rest.bits & far) | (CWJ_BITS_OF_POWER(0) & ~far);
    cwj_bits scale = {.bits = CWJ_BITS_OF_POWER(e) - large * (2LL * e << 52)};
    cwj_pair power = cwj_pair_power((cwj_pair){near.number * scale.number, 0}, k);
    long long up = n < 0 ? -e * k : e * k; /* the exponent if x is large */
    cwj_bits back = {.bits = CWJ_BITS_OF_POWER(-up) + large * (2 * up * (1LL << 52))};
    if (n < 0)
        power = cwj_reciprocal(power);
    return (power.high + power.low) * back.number *
           cwj_plain_power(n < 0 ? 1 / rest.number : rest.number, k);
}

CWJ_INLINE float cwj_whole_powerf(float x, int n)
{
    return n == 1 ? x : (float)cwj_plain_power(n < 0 ? 1 / (double)x : x, n < 0 ? -n : n);
}

/* sqrt alone is wrong: pow(-0.0, 0.5) is 0.0, and pow(-INFINITY, 0.5) is INFINITY. gcc would compare with infinity by
 * `x < -DBL_MAX`, which raises a flag for NaN. */
#ifdef CWJ_OWN_MATHS /* pow itself has the same bits, and forms for vectors */
#define CWJ_ANY_POW(type, suffix)
#define cwj_any_pow pow
#define cwj_any_powf powf
#else
#define CWJ_ANY_POW(type, suffix)                                                     \
    static __attribute__((noinline, unused)) type cwj_any_pow##suffix(type x, type y) \
    {                                                                                 \
        return cwj_quick_pow##suffix(x, y);                                           \
    }
#endif
#define CWJ_POW(type, suffix)                                                                      \
    CWJ_INLINE type cwj_half_power##suffix(type x)                                                 \
    {                                                                                              \
        return sqrt##suffix(x * 0.5f == x ? fabs##suffix(x) : x);                                  \
    }                                                                                              \
    CWJ_INLINE type cwj_quick_pow##suffix(type x, type y)                                          \
    {                                                                                              \
        if (__builtin_islessequal(fabs##suffix(y), CWJ_LARGEST_POWER)) {                           \
            int n = (int)y;                                                                        \
            if (n == y)                                                                            \
                return n == 0 ? 1 : cwj_whole_power##suffix(x, n);                                 \
            if (y == 0.5f)                                                                         \
                return cwj_half_power##suffix(x);                                                  \
        }                                                                                          \
        return pow##suffix(x, y);                                                                  \
    }                                                                                              \
    CWJ_ANY_POW(type, suffix)                                                                      \
    /* Both branches give the same numbers; inlined only if most of the text is then removed. */   \
    CWJ_INLINE type cwj_pow##suffix(type x, type y)                                                \
    {                                                                                              \
        return !__builtin_constant_p(y) ? cwj_any_pow##suffix(x, y)                                \
               : y == 2                 ? x * x /* in modules, gcc does not take whole_power in */ \
                                        : cwj_quick_pow##suffix(x, y);                             \
    }
CWJ_POW(double, )
CWJ_POW(float, f)
#undef CWJ_POW
#undef CWJ_ANY_POW

/* ---- sine and cosine ------------------------------------------------------------------------------ */

#ifdef CWJ_OWN_MATHS /* sin and cos have forms for vectors */
#define CWJ_SINCOS(type, suffix)                                         \
    CWJ_INLINE void cwj_sincos##suffix(type x, type *sine, type *cosine) \
    {                                                                    \
        *sine = sin##suffix(x);                                          \
        *cosine = cos##suffix(x);                                        \
    }
CWJ_SINCOS(double, )
CWJ_SINCOS(float, f)
#undef CWJ_SINCOS
#define sincos cwj_sincos
#define sincosf cwj_sincosf
#endif

#ifndef CWJ_SEES_EXCEPTIONS
#define floor cwj_floor
#define floorf cwj_floorf
#define ceil cwj_ceil
#define ceilf cwj_ceilf
#define trunc cwj_trunc
#define truncf cwj_truncf
#define round cwj_round
#define roundf cwj_roundf
#define lround cwj_lround
#define lroundf cwj_lroundf
#define llround cwj_llround
#define llroundf cwj_llroundf
#endif
#define pow cwj_pow
#define powf cwj_powf
#endif
#undef CWJ_INLINE
