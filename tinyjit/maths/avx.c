/* avx.c: the functions for vectors of 32 bytes on processors with AVX, but without FMA3: twice those of SSE2. */
#if defined(__x86_64__) /* compiled with: -mavx */
#include "maths.h"

typedef double double4 __attribute__((vector_size(32)));
typedef double double2 __attribute__((vector_size(16)));
typedef float float4 __attribute__((vector_size(16)));
typedef float float8 __attribute__((vector_size(32)));
#define WHOLE_double double4
#define HALF_double double2
#define WHOLE_float float8
#define HALF_float float4

#define HALVES(type)         \
    union {                  \
        WHOLE_##type whole;  \
        HALF_##type half[2]; \
    }
#define TWICE_1(name, type)                                                \
    static WHOLE_##type twice_##name(WHOLE_##type x)                       \
    {                                                                      \
        HALF_##type (*half)(HALF_##type) = tj_maths_sse2[TJ_MATHS_##name]; \
        HALVES(type) a = {x};                                              \
        a.half[0] = half(a.half[0]);                                       \
        a.half[1] = half(a.half[1]);                                       \
        return a.whole;                                                    \
    }
#define TWICE_2(name, type)                                                             \
    static WHOLE_##type twice_##name(WHOLE_##type x, WHOLE_##type y)                    \
    {                                                                                   \
        HALF_##type (*half)(HALF_##type, HALF_##type) = tj_maths_sse2[TJ_MATHS_##name]; \
        HALVES(type) a = {x}, b = {y};                                                  \
        a.half[0] = half(a.half[0], b.half[0]);                                         \
        a.half[1] = half(a.half[1], b.half[1]);                                         \
        return a.whole;                                                                 \
    }
#define TJV_FUNCTION(name, arity, type) TWICE_##arity(name, type)
#include "functions.def"
#undef TJV_FUNCTION

#define TJV_FUNCTION(name, arity, type) (const void *)twice_##name,
const void *const tj_maths_avx[TJ_MATHS_COUNT + 1] = {
#include "functions.def"
};
#undef TJV_FUNCTION
#endif
