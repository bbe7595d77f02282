/* choice.c: chooses the instruction set, and finds the functions by their names.
 *
 * $CWRAPJIT_CPU lowers the choice. The bits are the same, so it is only for tests and comparisons. */
#include "maths/maths.h"

#include "internal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define TJV_FUNCTION(name, arity, type) #name,
#include "maths/functions.def"
#undef TJV_FUNCTION
    NULL};

static const struct {
    int arity;
    bool is_float;
} kinds[] = {
#define TJV_FUNCTION(name, arity, type) {arity, sizeof(type) == sizeof(float)},
#include "maths/functions.def"
#undef TJV_FUNCTION
    {0, false}};

#if defined(__x86_64__)

/* From the lowest to the highest. */
static const char *const sets[] = {"sse2", "avx2", "avx512"};
enum {
    SSE2,
    AVX2,
    AVX512
};

static int best_set(void)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return SSE2;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
               ? AVX512
               : AVX2;
}

#else

static const char *const sets[] = {"neon"};

static int best_set(void)
{
    return 0;
}

#endif

enum {
    SETS = sizeof sets / sizeof *sets
};

static int chosen = -1; /* written once, with the compile lock held */

tj_status tj_maths_choose(tj_error *error)
{
    int best = best_set(), wanted = best;
    const char *said = getenv("CWRAPJIT_CPU");
    if (said && *said)
        for (wanted = 0; wanted < SETS && strcmp(said, sets[wanted]) != 0; wanted++)
            ;
    if (wanted > best) {
        tj_text known = {0};
        for (int i = 0; i <= best; i++)
            tj_text_printf(&known, "%s'%s'", i == 0 ? "" : i < best ? ", " : " or ", sets[i]);
        tj_status status = known.failed ? tj_fail_no_memory(error)
                                        : tj_fail(error, TJ_BAD_SPEC,
                                                  "CWRAPJIT_CPU must be %s on this processor, "
                                                  "not '%s'",
                                                  known.data, said);
        tj_text_clear(&known);
        return status;
    }
    tj_compile_lock();
    chosen = chosen < 0 ? wanted : chosen;
    tj_compile_unlock();
    return TJ_OK;
}

static int set(void)
{
    return chosen < 0 ? best_set() : chosen;
}

bool tj_maths_may_use(const char *instructions)
{
    for (int i = 0; i <= set(); i++)
        if (!strcmp(instructions, sets[i]))
            return true;
    return false;
}

const char *tj_maths_name(size_t i)
{
    return names[i];
}

int tj_maths_arity(size_t i)
{
    return kinds[i].arity;
}

bool tj_maths_is_float(size_t i)
{
    return kinds[i].is_float;
}

/* Returns TJ_MATHS_COUNT, where all tables have NULL, if there is none. */
static size_t find(const char *name)
{
    size_t i = 0;
    while (names[i] && (*names[i] != *name || strcmp(names[i], name) != 0))
        i++;
    return i;
}

static const void *alone(size_t i)
{
#if defined(__x86_64__)
    return (set() >= AVX2 ? tj_maths_one : tj_maths_sse2_one)[i];
#else
    return tj_maths_one[i];
#endif
}

/* sincos is no function for vectors: mathematics.h calls sin and cos. */
#define SINCOS(type, suffix)                                         \
    static void own_sincos##suffix(type x, type *sine, type *cosine) \
    {                                                                \
        type (*sin_of_one)(type) = alone(TJ_MATHS_sin##suffix);      \
        type (*cos_of_one)(type) = alone(TJ_MATHS_cos##suffix);      \
        *sine = sin_of_one(x);                                       \
        *cosine = cos_of_one(x);                                     \
    }
SINCOS(double, )
SINCOS(float, f)

const void *tj_maths_function(const char *name)
{
    return !strcmp(name, "sincos")    ? (const void *)own_sincos
           : !strcmp(name, "sincosf") ? (const void *)own_sincosf
                                      : alone(find(name));
}

/* Returns the functions of vectors of these registers: a letter of the ABI, and bytes. */
static const void *const *table_of(char letter, int bytes)
{
#if defined(__x86_64__)
    switch (letter) {
    case 'b':
        return bytes != 16 ? NULL : set() >= AVX2 ? tj_maths_fma : tj_maths_sse2;
    case 'c':
    case 'd':
        return bytes != 32 ? NULL : set() >= AVX2 ? tj_maths_avx2 : tj_maths_avx;
    case 'e':
        return bytes == 64 && set() >= AVX512 ? tj_maths_avx512 : NULL;
    default:
        return NULL;
    }
#else
    return letter != 'n' ? NULL
           : bytes == 16 ? tj_maths_neon
           : bytes == 8  ? tj_maths_neon_short
                         : NULL;
#endif
}

/* Sources: System V ABI for x86-64, vector functions; Vector Function ABI for AArch64. */
const void *tj_maths_vector(const char *symbol)
{
    char letter, kinds_of_arguments[4];
    int lanes, end = 0;
    if (sscanf(symbol, "_ZGV%cN%2d%3[v]_%n", &letter, &lanes, kinds_of_arguments, &end) != 3 ||
        !end)
        return NULL;
    size_t i = find(symbol + end);
    if (!names[i] || (int)strlen(kinds_of_arguments) != kinds[i].arity)
        return NULL;
    const void *const *table = table_of(letter, lanes * (kinds[i].is_float ? 4 : 8));
    return table ? table[i] : NULL;
}
