/* unit.h: turns the functions into those of one instruction set. The including unit defines TJV_LANES, and TJV_SET, the
 * name of its table of vectors' functions, or TJV_ALONE, that of functions of one number, or both. */
#include "vector.h"

#include "functions.h"
#include "maths.h"

#define TJV_JOINED(a, b) a##b
#define TJV_JOIN(a, b) TJV_JOINED(a, b)

#ifdef TJV_SET
#if defined(__aarch64__)
#define TJV_ENTRY static __attribute__((aarch64_vector_pcs))
#else
#define TJV_ENTRY static
#endif

#define TJV_ENTRY_1(name, vector)            \
    TJV_ENTRY vector vector_##name(vector x) \
    {                                        \
        return tjv_##name(x);                \
    }
#define TJV_ENTRY_2(name, vector)                      \
    TJV_ENTRY vector vector_##name(vector x, vector y) \
    {                                                  \
        return tjv_##name(x, y);                       \
    }
#define TJV_FUNCTION(name, arity, type) TJV_ENTRY_##arity(name, tjv_##type)
#include "functions.def"
#undef TJV_FUNCTION

#define TJV_FUNCTION(name, arity, type) (const void *)vector_##name,
const void *const TJV_JOIN(tj_maths_, TJV_SET)[TJ_MATHS_COUNT + 1] = {
#include "functions.def"
};
#undef TJV_FUNCTION
#endif

#ifdef TJV_ALONE
/* Other lanes hold the same number, and raise the same flags. */
#define TJV_ALL_double tjv_all
#define TJV_ALL_float tjv_allf
#define TJV_ALONE_1(name, type)                            \
    static type alone_##name(type x)                       \
    {                                                      \
        return TJV_LANE(tjv_##name(TJV_ALL_##type(x)), 0); \
    }
#define TJV_ALONE_2(name, type)                                               \
    static type alone_##name(type x, type y)                                  \
    {                                                                         \
        return TJV_LANE(tjv_##name(TJV_ALL_##type(x), TJV_ALL_##type(y)), 0); \
    }
#define TJV_FUNCTION(name, arity, type) TJV_ALONE_##arity(name, type)
#include "functions.def"
#undef TJV_FUNCTION

#define TJV_FUNCTION(name, arity, type) (const void *)alone_##name,
const void *const TJV_JOIN(tj_maths_, TJV_ALONE)[TJ_MATHS_COUNT + 1] = {
#include "functions.def"
};
#undef TJV_FUNCTION
#endif
