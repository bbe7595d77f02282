/* vector.h: numbers in vectors of the compiler, and the few operations that the functions of maths/ are written with.
 *
 * The including unit defines TJV_LANES, the doubles of a vector: 2 (SSE2, NEON), 4 (AVX2), 8 (AVX-512), or 1 for calls
 * with one number. A vector of floats has twice as many lanes, or 1. Arithmetic, comparisons and bit operations are
 * those of GNU C: a comparison gives an integer vector, whose lanes are 0 or -1 (a mask), and `x * 2.0` multiplies each
 * lane. One source thus has the same bits on each processor, if it obeys these rules:
 *
 *   - products and sums are fused where the text says tjv_fma(), and nowhere else (-ffp-contract=off);
 *   - no lane depends on another: a special case is `if (tjv_any(mask)) result = tjv_select(mask, fixed, result)`,
 *     where `fixed` is right for all lanes of the mask;
 *   - there are no calls of libm;
 *   - `x < y` of doubles or floats raises "invalid" for NaN: compare the bits of |x| as integers instead (tjv_exceeds()),
 *     or use == and !=, which are quiet.
 *
 * one.h has the operations for one lane, lanes.h those for more. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifndef TJV_LANES
#error "define TJV_LANES"
#endif
#define TJV_INLINE static inline __attribute__((always_inline, unused))

#if TJV_LANES == 1
#include "one.h"
#else
#include "lanes.h"
#endif

TJV_INLINE tjv_long tjv_select_long(tjv_long mask, tjv_long a, tjv_long b)
{
    return (mask & a) | (~mask & b);
}

/* Lanes where |x| > limit or x is NaN, without a flag; limit >= 0. */
TJV_INLINE tjv_long tjv_exceeds(tjv_double x, double limit)
{
    return TJV_MASK((tjv_bits(x) & INT64_MAX) > tjv_bits(tjv_all(limit)));
}

TJV_INLINE tjv_int tjv_exceedsf(tjv_float x, float limit)
{
    return TJV_MASK((tjv_bitsf(x) & INT32_MAX) > tjv_bitsf(tjv_allf(limit)));
}

/* Numbers next to TJV_ONES are integers, whose last bits are those of the integer. */
#define TJV_ONES 0x1.8p52
#define TJV_ONESF 0x1.8p23f
