/* maths.h: what the instruction sets' units export: each function of functions.def, in the order of that file. */
#pragma once

#include <stddef.h>

enum {
#define TJV_FUNCTION(name, arity, type) TJ_MATHS_##name,
#include "functions.def"
#undef TJV_FUNCTION
    TJ_MATHS_COUNT
};

/* x to the power of y, a whole number from -8 to 8, or 0.5 (unit/mathematics.c). */
double tj_whole_power(double x, double y);
float tj_whole_powerf(float x, float y);

/* Functions of one number, and of vectors, in registers as the vector function ABI says. */
extern const void *const tj_maths_one[]; /* with fused products */
#if defined(__x86_64__)
extern const void *const tj_maths_sse2[], *const tj_maths_sse2_one[];
extern const void *const tj_maths_avx[]; /* of 32 bytes, by SSE2's */
extern const void *const tj_maths_fma[]; /* of 16 bytes, with FMA3 */
extern const void *const tj_maths_avx2[], *const tj_maths_avx512[];
#else
extern const void *const tj_maths_neon[];
extern const void *const tj_maths_neon_short[]; /* of 8 bytes; NULL for doubles */
#endif
