/* symbols.c: names that a unit may leave undefined, and their addresses.
 *
 * Two sources: helper functions that libtcc's code generator calls for what
 * takes more than an instruction, here compiled by the system compiler, so that
 * libtcc1.a is rarely read; and whatever the process has loaded (libc, libm,
 * the embedding program), asked once per name and remembered, because most
 * identifiers of a snippet are local variables, about which the loader would
 * search every library again and again.
 */
#define _GNU_SOURCE 1 /* RTLD_DEFAULT */
#include "internal.h"

#include <dlfcn.h>
#include <stdint.h>

/* ---- helpers of the code generator ------------------------------------- */

#if defined(__x86_64__)

/* Between floating point and 64-bit integers, the directions that x86-64 has no
 * instruction for. */
#define CONVERT(name, to, from) \
    static to name(from x)      \
    {                           \
        return (to)x;           \
    }
CONVERT(float_from_u64, float, uint64_t)
CONVERT(double_from_u64, double, uint64_t)
CONVERT(longdouble_from_u64, long double, uint64_t)
CONVERT(u64_from_float, uint64_t, float)
CONVERT(u64_from_double, uint64_t, double)
CONVERT(u64_from_longdouble, uint64_t, long double)
CONVERT(i64_from_float, int64_t, float)
CONVERT(i64_from_double, int64_t, double)
CONVERT(i64_from_longdouble, int64_t, long double)
#undef CONVERT

const tj_symbol tj_helper_symbols[] = {
    {"__floatundisf", (const void *)float_from_u64, true},
    {"__floatundidf", (const void *)double_from_u64, true},
    {"__floatundixf", (const void *)longdouble_from_u64, true},
    {"__fixunssfdi", (const void *)u64_from_float, true},
    {"__fixunsdfdi", (const void *)u64_from_double, true},
    {"__fixunsxfdi", (const void *)u64_from_longdouble, true},
    {"__fixsfdi", (const void *)i64_from_float, true},
    {"__fixdfdi", (const void *)i64_from_double, true},
    {"__fixxfdi", (const void *)i64_from_longdouble, true},
};
const size_t tj_helper_count = sizeof tj_helper_symbols / sizeof *tj_helper_symbols;

#else /* libtcc1.a has what other machines need */

const tj_symbol tj_helper_symbols[] = {{"", NULL, true}};
const size_t tj_helper_count = 0;

#endif

const char *const tj_implied_names[] = {
    "memcpy", "memmove", "memset", "__errno_location", "__assert_fail", NULL,
};

const char *const tj_remembering_names[] = {
    "rand",    "srand",   "random", "srandom", "drand48", "lrand48",
    "mrand48", "srand48", "strtok", "write",   "system",  NULL,
};

/* ---- what the process has loaded ---------------------------------------- */

/* Names that were looked up; a NULL address: there is none. Guarded by the
 * compile lock. Emptied when it gets large: it is only a memory. */
static tj_map known;
enum {
    MANY_NAMES = 8192
};

/* libm need not be in the global scope of the embedding program. It stays open
 * to the end of the process. */
static void *open_libm(void)
{
    static void *handle;
    static bool tried;
    if (!tried) {
        handle = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        tried = true;
    }
    return handle;
}

static const void *ask_loader(const char *name)
{
    const void *address = dlsym(RTLD_DEFAULT, name);
    if (!address && open_libm())
        address = dlsym(open_libm(), name);
    return address;
}

const void *tj_process_symbol(const char *name, bool again)
{
    const tj_map_item *item = tj_map_get(&known, name);
    if (item && (item->address || !again))
        return item->address;
    const void *address = ask_loader(name);
    if (known.count >= MANY_NAMES)
        tj_map_clear(&known);
    tj_map_set(&known, name, address, true); /* without memory it is asked again */
    return address;
}
