/* lanes.h: the operations of vector.h for several lanes, in instructions of the processor where GNU C has no word for them. */
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define TJV_FLOAT_LANES (2 * TJV_LANES)
#define TJV_BYTES (8 * TJV_LANES)

typedef double tjv_double __attribute__((vector_size(TJV_BYTES)));
typedef int64_t tjv_long __attribute__((vector_size(TJV_BYTES)));
typedef uint64_t tjv_ulong __attribute__((vector_size(TJV_BYTES)));
typedef float tjv_float __attribute__((vector_size(TJV_BYTES)));
typedef int32_t tjv_int __attribute__((vector_size(TJV_BYTES)));
typedef uint32_t tjv_uint __attribute__((vector_size(TJV_BYTES)));

/* A lane, and the mask of a comparison. */
#define TJV_LANE(x, i) (x)[i]
#define TJV_MASK(comparison) (comparison)

/* Half of the lanes of tjv_float, as many as tjv_double has. */
typedef float tjv_half_float __attribute__((vector_size(TJV_BYTES / 2)));

/* All lanes are x. (x - 0 keeps the sign of zero; a sum with 0 would not.) */
TJV_INLINE tjv_double tjv_all(double x)
{
    return x - (tjv_double){0};
}

TJV_INLINE tjv_float tjv_allf(float x)
{
    return x - (tjv_float){0};
}

TJV_INLINE tjv_long tjv_all_long(int64_t n)
{
    return n + (tjv_long){0};
}

TJV_INLINE tjv_long tjv_bits(tjv_double x)
{
    return (tjv_long)x;
}

TJV_INLINE tjv_double tjv_of_bits(tjv_long bits)
{
    return (tjv_double)bits;
}

TJV_INLINE tjv_int tjv_bitsf(tjv_float x)
{
    return (tjv_int)x;
}

TJV_INLINE tjv_float tjv_of_bitsf(tjv_int bits)
{
    return (tjv_float)bits;
}

TJV_INLINE tjv_double tjv_abs(tjv_double x)
{
    return (tjv_double)((tjv_long)x & INT64_MAX);
}

TJV_INLINE tjv_float tjv_absf(tjv_float x)
{
    return (tjv_float)((tjv_int)x & INT32_MAX);
}

/* The size of x with the sign of y. */
TJV_INLINE tjv_double tjv_copysign(tjv_double x, tjv_double y)
{
    return (tjv_double)(((tjv_long)x & INT64_MAX) | ((tjv_long)y & INT64_MIN));
}

/* x with the sign changed where sign has that bit. */
TJV_INLINE tjv_double tjv_flip(tjv_double x, tjv_long sign)
{
    return (tjv_double)((tjv_long)x ^ sign);
}

/* The number x >= 0 with the sign of y. */
TJV_INLINE tjv_double tjv_signed(tjv_double x, tjv_double y)
{
    return tjv_flip(x, (tjv_long)y & INT64_MIN);
}

/* Lanes of a where the mask is -1, of b where it is 0. */
TJV_INLINE tjv_double tjv_select(tjv_long mask, tjv_double a, tjv_double b)
{
#if defined(__AVX512DQ__) && TJV_LANES == 8
    return (tjv_double)_mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)mask), (__m512d)b,
                                            (__m512d)a);
#elif defined(__AVX2__) && TJV_LANES == 4
    return (tjv_double)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)mask);
#else
    return (tjv_double)((mask & (tjv_long)a) | (~mask & (tjv_long)b));
#endif
}

TJV_INLINE tjv_float tjv_selectf(tjv_int mask, tjv_float a, tjv_float b)
{
    return (tjv_float)((mask & (tjv_int)a) | (~mask & (tjv_int)b));
}

/* Returns true if a lane of the mask is -1. */
TJV_INLINE bool tjv_any(tjv_long mask)
{
#if defined(__AVX512F__) && TJV_LANES == 8
    return _mm512_cmplt_epi64_mask((__m512i)mask, _mm512_setzero_si512()) != 0;
#elif defined(__AVX2__) && TJV_LANES == 4
    return _mm256_movemask_pd((__m256d)mask) != 0;
#elif defined(__SSE2__) && TJV_LANES == 2
    return _mm_movemask_pd((__m128d)mask) != 0;
#elif defined(__aarch64__) && TJV_LANES == 2
    return vmaxvq_u32((uint32x4_t)mask) != 0;
#else
    int64_t found = 0;
    for (int i = 0; i < TJV_LANES; i++)
        found |= mask[i];
    return found != 0;
#endif
}

TJV_INLINE bool tjv_anyf(tjv_int mask)
{
#if defined(__SSE2__) && TJV_LANES == 2
    return _mm_movemask_ps((__m128)mask) != 0;
#elif defined(__AVX2__) && TJV_LANES == 4
    return _mm256_movemask_ps((__m256)mask) != 0;
#endif
    return tjv_any((tjv_long)mask | (tjv_long)((tjv_ulong)mask << 32));
}

/* table[index] of each lane; all lanes of index must be inside the table. */
TJV_INLINE tjv_double tjv_look_up(const double *table, tjv_long index)
{
#if defined(__AVX512F__) && TJV_LANES == 8
    return (tjv_double)_mm512_i64gather_pd((__m512i)index, table, 8);
#elif defined(__AVX2__) && TJV_LANES == 4
    return (tjv_double)_mm256_i64gather_pd(table, (__m256i)index, 8);
#else
    tjv_double found = {0};
    for (int i = 0; i < TJV_LANES; i++)
        found[i] = table[index[i]];
    return found;
#endif
}

#define TJV_IF_ONE(mask) false
#define tjv_pick tjv_select

typedef union tjv_halves {
    tjv_float whole;
    tjv_half_float parts[2];
} tjv_halves;

/* part: 0 for the first TJV_LANES floats, 1 for the others. */
TJV_INLINE tjv_double tjv_widen(tjv_float x, int part)
{
#if defined(__AVX512DQ__) && TJV_LANES == 8
    return (tjv_double)_mm512_cvtps_pd(part ? _mm512_extractf32x8_ps((__m512)x, 1)
                                            : _mm512_castps512_ps256((__m512)x));
#elif defined(__AVX2__) && TJV_LANES == 4
    return (tjv_double)_mm256_cvtps_pd(part ? _mm256_extractf128_ps((__m256)x, 1)
                                            : _mm256_castps256_ps128((__m256)x));
#elif defined(__SSE2__) && TJV_LANES == 2
    return (tjv_double)_mm_cvtps_pd(part ? _mm_movehl_ps((__m128)x, (__m128)x) : (__m128)x);
#else
    return __builtin_convertvector(((tjv_halves){x}).parts[part], tjv_double);
#endif
}

TJV_INLINE tjv_float tjv_narrow(tjv_double first, tjv_double second)
{
#if defined(__AVX512DQ__) && TJV_LANES == 8
    return (tjv_float)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)first)),
                                         _mm512_cvtpd_ps((__m512d)second), 1);
#elif defined(__AVX2__) && TJV_LANES == 4
    return (tjv_float)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps((__m256d)first)),
                                           _mm256_cvtpd_ps((__m256d)second), 1);
#elif defined(__SSE2__) && TJV_LANES == 2
    return (tjv_float)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)first), _mm_cvtpd_ps((__m128d)second));
#else
    tjv_halves both;
    both.parts[0] = __builtin_convertvector(first, tjv_half_float);
    both.parts[1] = __builtin_convertvector(second, tjv_half_float);
    return both.whole;
#endif
}

/* function(x) of floats, computed by a function of doubles. */
#define TJV_BY_DOUBLES(function, x) tjv_narrow(function(tjv_widen(x, 0)), function(tjv_widen(x, 1)))
#define TJV_BY_DOUBLES2(function, x, y)                    \
    tjv_narrow(function(tjv_widen(x, 0), tjv_widen(y, 0)), \
               function(tjv_widen(x, 1), tjv_widen(y, 1)))

TJV_INLINE tjv_double tjv_sqrt(tjv_double x)
{
#if defined(__AVX512F__) && TJV_LANES == 8
    return (tjv_double)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX2__) && TJV_LANES == 4
    return (tjv_double)_mm256_sqrt_pd((__m256d)x);
#elif defined(__SSE2__) && TJV_LANES == 2
    return (tjv_double)_mm_sqrt_pd((__m128d)x);
#elif defined(__aarch64__) && TJV_LANES == 2
    return (tjv_double)vsqrtq_f64((float64x2_t)x);
#else
    for (int i = 0; i < TJV_LANES; i++)
        x[i] = sqrt(x[i]);
    return x;
#endif
}

/* x * y + z, rounded once, of each lane. */
#if defined(__AVX512F__) && TJV_LANES == 8
TJV_INLINE tjv_double tjv_fma(tjv_double x, tjv_double y, tjv_double z)
{
    return (tjv_double)_mm512_fmadd_pd((__m512d)x, (__m512d)y, (__m512d)z);
}

TJV_INLINE tjv_float tjv_fmaf(tjv_float x, tjv_float y, tjv_float z)
{
    return (tjv_float)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)z);
}
#elif defined(__FMA__) && TJV_LANES == 4
TJV_INLINE tjv_double tjv_fma(tjv_double x, tjv_double y, tjv_double z)
{
    return (tjv_double)_mm256_fmadd_pd((__m256d)x, (__m256d)y, (__m256d)z);
}

TJV_INLINE tjv_float tjv_fmaf(tjv_float x, tjv_float y, tjv_float z)
{
    return (tjv_float)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)z);
}
#elif defined(__FMA__) && TJV_LANES == 2
TJV_INLINE tjv_double tjv_fma(tjv_double x, tjv_double y, tjv_double z)
{
    return (tjv_double)_mm_fmadd_pd((__m128d)x, (__m128d)y, (__m128d)z);
}

TJV_INLINE tjv_float tjv_fmaf(tjv_float x, tjv_float y, tjv_float z)
{
    return (tjv_float)_mm_fmadd_ps((__m128)x, (__m128)y, (__m128)z);
}
#elif defined(__aarch64__) && TJV_LANES == 2
TJV_INLINE tjv_double tjv_fma(tjv_double x, tjv_double y, tjv_double z)
{
    return (tjv_double)vfmaq_f64((float64x2_t)z, (float64x2_t)x, (float64x2_t)y);
}

TJV_INLINE tjv_float tjv_fmaf(tjv_float x, tjv_float y, tjv_float z)
{
    return (tjv_float)vfmaq_f32((float32x4_t)z, (float32x4_t)x, (float32x4_t)y);
}
#else /* the processor has no such instruction: the same bits, some 40 operations */

/* The sum of x and y: rounded, and its rounding error in *rest. */
TJV_INLINE tjv_double tjv_sum(tjv_double x, tjv_double y, tjv_double *rest)
{
    tjv_double sum = x + y, part = sum - x;
    *rest = (x - (sum - part)) + (y - part);
    return sum;
}

/* x + rest rounded to odd: if the sum is inexact, its last bit is 1. Requires |rest| <= half an ulp of x. */
TJV_INLINE tjv_double tjv_to_odd(tjv_double x, tjv_double rest)
{
    tjv_long bits = (tjv_long)x;
    tjv_long toward_zero = ((tjv_long)x ^ (tjv_long)rest) < 0;
    tjv_long inexact = rest != 0;
    /* The truncated sum is x, or the number before it. Its last bit becomes 1. */
    tjv_long truncated = bits + (toward_zero & inexact);
    return (tjv_double)(truncated | (inexact & 1));
}

static __attribute__((noinline, unused)) tjv_double tjv_fma_of_lanes(tjv_double x, tjv_double y,
                                                                     tjv_double z)
{
    tjv_double result = {0};
    for (int i = 0; i < TJV_LANES; i++)
        result[i] = fma(x[i], y[i], z[i]); /* libm's is exact */
    return result;
}

/* The exponent's bits of x, as an integer. */
TJV_INLINE tjv_long tjv_exponent(tjv_double x)
{
    return ((tjv_long)x >> 52) & 0x7ff;
}

/* Source: Boldo and Melquiond, Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd,
 * IEEE Transactions on Computers 57, 2008. The product's halves are Dekker's, as in mathematics.h. */
static __attribute__((noinline, unused)) tjv_double tjv_fma(tjv_double x, tjv_double y,
                                                            tjv_double z)
{
    /* Numbers for which nothing overflows or underflows on the way. Zeros need care, too: 0 has a small exponent. */
    tjv_long ex = tjv_exponent(x), ey = tjv_exponent(y), ez = tjv_exponent(z);
    tjv_long product = ex + ey - 1023;
    tjv_long fine = (ex > 200) & (ex < 1800) & (ey > 200) & (ey < 1800) & (product > 300) &
                    (product < 1900) & (((ez > 200) & (ez < 1900)) | (z == 0));
    fine |= ((x == 0) | (y == 0)) & (ex < 1800) & (ey < 1800) & (ez > 200) & (ez < 1900);
    if (tjv_any(~fine))
        return tjv_fma_of_lanes(x, y, z);
    tjv_double a = 0x1.0000002p27 * x, b = 0x1.0000002p27 * y;
    tjv_double x_high = a - (a - x), y_high = b - (b - y), x_low = x - x_high, y_low = y - y_high;
    tjv_double high = x * y;
    tjv_double low = ((x_high * y_high - high) + x_high * y_low + x_low * y_high) + x_low * y_low;
    tjv_double low_sum_rest, sum_rest, odd_rest;
    tjv_double low_sum = tjv_sum(z, low, &low_sum_rest);
    tjv_double sum = tjv_sum(high, low_sum, &sum_rest);
    tjv_double odd = tjv_sum(sum_rest, low_sum_rest, &odd_rest);
    return sum + tjv_to_odd(odd, odd_rest);
}

static __attribute__((noinline, unused)) tjv_float tjv_fmaf_of_lanes(tjv_float x, tjv_float y,
                                                                     tjv_float z)
{
    tjv_float result = {0};
    for (int i = 0; i < TJV_FLOAT_LANES; i++)
        result[i] = fmaf(x[i], y[i], z[i]);
    return result;
}

/* A product of floats is exact in double, so only the sum must be rounded to odd. */
TJV_INLINE tjv_double tjv_fused_half(tjv_float x, tjv_float y, tjv_float z, int part)
{
    tjv_double rest,
        sum = tjv_sum(tjv_widen(x, part) * tjv_widen(y, part), tjv_widen(z, part), &rest);
    return tjv_to_odd(sum, rest);
}

static __attribute__((noinline, unused)) tjv_float tjv_fmaf(tjv_float x, tjv_float y, tjv_float z)
{
    tjv_int infinite = 0x7f800000 + (tjv_int){0};
    tjv_int special = ((tjv_int)tjv_absf(x) >= infinite) | ((tjv_int)tjv_absf(y) >= infinite) |
                      ((tjv_int)tjv_absf(z) >= infinite);
    if (tjv_anyf(special))
        return tjv_fmaf_of_lanes(x, y, z);
    return tjv_narrow(tjv_fused_half(x, y, z, 0), tjv_fused_half(x, y, z, 1));
}
#endif
