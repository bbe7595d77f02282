/* neon.c: the functions for NEON. */
#if defined(__aarch64__)
#define TJV_LANES 2
#define TJV_SET neon
#include "unit.h"

/* The ABI also has vectors of two floats. */
#define TJV_SHORT_double(name, arity)
#define TJV_SHORT_float(name, arity) TJV_SHORT_##arity(name)
#define TJV_SHORT_1(name)                                                              \
    static __attribute__((aarch64_vector_pcs)) float32x2_t short_##name(float32x2_t x) \
    {                                                                                  \
        float32x4_t both = vcombine_f32(x, x);                                         \
        return vget_low_f32((float32x4_t)tjv_##name((tjv_float)both));                 \
    }
#define TJV_SHORT_2(name)                                                              \
    static __attribute__((aarch64_vector_pcs)) float32x2_t short_##name(float32x2_t x, \
                                                                        float32x2_t y) \
    {                                                                                  \
        float32x4_t a = vcombine_f32(x, x), b = vcombine_f32(y, y);                    \
        return vget_low_f32((float32x4_t)tjv_##name((tjv_float)a, (tjv_float)b));      \
    }
#define TJV_FUNCTION(name, arity, type) TJV_SHORT_##type(name, arity)
#include "functions.def"
#undef TJV_FUNCTION

#define TJV_ROW_double(name)
#define TJV_ROW_float(name) [TJ_MATHS_##name] = (const void *)short_##name,
#define TJV_FUNCTION(name, arity, type) TJV_ROW_##type(name)
const void *const tj_maths_neon_short[TJ_MATHS_COUNT + 1] = {
#include "functions.def"
};
#undef TJV_FUNCTION
#endif
