/* symbols.c: finds the addresses of names that a unit leaves undefined.
 *
 * libtcc's code generator calls helper functions for operations that need more than an instruction. The system compiler
 * compiles them here, so that libtcc1.a is rarely read. All other names are searched in this order: symbols of the
 * embedding program, the environment's C files, its libraries in the given order, the loaded process (libc, libm, the
 * embedding program). The answer for each name in the process is remembered, because most identifiers of a snippet are
 * local variables, for which the loader would search every library again and again. */
#include "internal.h"

#include "os/shared_object.h"
#include "os/system.h"

#include <stdint.h>
#include <string.h>

/* ---- helpers of the code generator ------------------------------------- */

#if defined(__x86_64__)

/* Converts between floating point and 64-bit integers, in the directions for which x86-64 has no instruction. */
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

#elif defined(__aarch64__)

/* long double is computed by libgcc's functions here; the cc tier calls the same ones. */
extern const char __addtf3[], __subtf3[], __multf3[], __divtf3[], __eqtf2[], __netf2[], __lttf2[],
    __letf2[], __gttf2[], __getf2[], __extendsftf2[], __extenddftf2[], __trunctfsf2[],
    __trunctfdf2[], __fixtfsi[], __fixtfdi[], __fixunstfsi[], __fixunstfdi[], __floatsitf[],
    __floatditf[], __floatunsitf[], __floatunditf[];

#define ENTRY(name) {#name, name, true}
const tj_symbol tj_helper_symbols[] = {
    ENTRY(__addtf3),      ENTRY(__subtf3),     ENTRY(__multf3),      ENTRY(__divtf3),
    ENTRY(__eqtf2),       ENTRY(__netf2),      ENTRY(__lttf2),       ENTRY(__letf2),
    ENTRY(__gttf2),       ENTRY(__getf2),      ENTRY(__extendsftf2), ENTRY(__extenddftf2),
    ENTRY(__trunctfsf2),  ENTRY(__trunctfdf2), ENTRY(__fixtfsi),     ENTRY(__fixtfdi),
    ENTRY(__fixunstfsi),  ENTRY(__fixunstfdi), ENTRY(__floatsitf),   ENTRY(__floatditf),
    ENTRY(__floatunsitf), ENTRY(__floatunditf)};
#undef ENTRY
const size_t tj_helper_count = sizeof tj_helper_symbols / sizeof *tj_helper_symbols;

#endif

const char *const tj_implied_names[] = {
    "memcpy", "memmove", "memset", TJ_HIDDEN_NAMES, NULL,
};

const char *const tj_remembering_names[] = {
    "rand",    "srand",   "random", "srandom", "drand48", "lrand48",
    "mrand48", "srand48", "strtok", "write",   "system",  NULL,
};

/* ---- symbols of the loaded process ------------------------------------- */

/* Caches the names that were looked up; a NULL address means that a name was not found. Guarded by the compile
 * lock. Emptied when it gets large. */
static tj_map known;
enum {
    MANY_NAMES = 8192
};

/* Opens libm, which need not be in the global scope of the embedding program. It is never closed. */
static void *open_libm(void)
{
    static void *handle;
    static bool tried;
    if (!tried) {
        handle = tj_shared_object_open(TJ_LIBM);
        tried = true;
    }
    return handle;
}

const void *tj_libm_symbol(const char *name)
{
    return open_libm() ? tj_shared_object_symbol(open_libm(), name) : NULL;
}

/* Returns the address of a name in the loaded process, or NULL. `again`: asks the loader even if an earlier look-up
 * failed. Compile lock held. */
static const void *process_symbol(const char *name, bool again)
{
    const tj_map_item *item = tj_map_get(&known, name);
    if (item && (item->address || !again))
        return item->address;
    const void *address = tj_mathematical_function(name, strlen(name));
    address = address ? address : tj_program_symbol(name);
    address = address ? address : tj_libm_symbol(name);
    if (known.count >= MANY_NAMES)
        tj_map_clear(&known);
    tj_map_set(&known, name, address, true); /* if out of memory, the name is looked up again */
    return address;
}

/* ---- the embedding program's symbols --------------------------------------- */

struct tj_offer {
    int shares; /* the latest offer and `shares` are guarded by the compile lock */
    const tj_symbol *symbols; /* borrowed */
    size_t count;
    tj_map map; /* owned */
};

static tj_offer *latest_offer; /* borrowed: an offer that still has shares, or NULL */

/* Compile lock held. */
static void drop_offer(tj_offer *offer)
{
    if (!offer || --offer->shares > 0)
        return;
    if (offer == latest_offer)
        latest_offer = NULL;
    tj_map_clear(&offer->map);
    tj_free(offer);
}

static tj_offer *new_offer(const tj_symbol *symbols, size_t count)
{
    tj_offer *made = tj_alloc_zeroed(1, sizeof *made);
    if (!made)
        return NULL;
    *made = (tj_offer){.shares = 1, .symbols = symbols, .count = count};
    for (size_t i = 0; i < count; i++)
        if (!tj_map_set(&made->map, symbols[i].name, symbols[i].address, symbols[i].neutral)) {
            drop_offer(made);
            return NULL;
        }
    return made;
}

tj_offer *tj_offer_share(const tj_symbol *symbols, size_t count)
{
    tj_compile_lock();
    tj_offer *offer = latest_offer;
    if (offer && offer->symbols == symbols && offer->count == count)
        offer->shares++;
    else if ((offer = new_offer(symbols, count)))
        latest_offer = offer;
    tj_compile_unlock();
    return offer;
}

void tj_offer_free(tj_offer *offer)
{
    if (!offer)
        return;
    tj_compile_lock();
    drop_offer(offer);
    tj_compile_unlock();
}

const tj_map *tj_environment_symbols(const tj_environment *environment)
{
    static const tj_map none;
    return environment->offer ? &environment->offer->map : &none;
}

/* ---- in an environment ---------------------------------------------------------- */

/* Returns the address that the sources define, or NULL. */
static const void *source_symbol(const tj_environment *environment, const char *name)
{
    const tj_unit *sources = environment->sources_unit; /* constant after new */
    return sources ? tj_unit_symbol(sources, name) : NULL;
}

/* Returns the address that the libraries give for a name. If a library only needs the name from another one, the
 * process is searched first, as the loader does: if another malloc is preloaded, free() must belong to it. */
static const void *library_symbol(const tj_environment *environment, const char *name)
{
    const void *needed = NULL;
    for (size_t i = 0; i < environment->nlibraries; i++) {
        const void *address = tj_shared_object_symbol(environment->libraries[i], name);
        if (address && tj_shared_object_has(environment->libraries[i], address))
            return address;
        if (!needed)
            needed = address;
    }
    const void *global = needed ? process_symbol(name, false) : NULL;
    return global ? global : needed;
}

/* Finds a symbol that is not the embedding program's. */
static const void *other_symbol(const tj_environment *environment, const char *name, bool again)
{
    if (!strncmp(name, TJ_HIDDEN_PREFIX, strlen(TJ_HIDDEN_PREFIX)))
        return process_symbol(name + strlen(TJ_HIDDEN_PREFIX), again);
    if (environment->own_mathematics && tj_mathematical_function(name, strlen(name)))
        name += strlen("cwj_");
    const void *address = source_symbol(environment, name);
    if (!address)
        address = library_symbol(environment, name);
    return address ? address : process_symbol(name, again);
}

bool tj_environment_brings(const tj_environment *environment, const char *name)
{
    const void *address = source_symbol(environment, name);
    for (size_t i = 0; !address && i < environment->nlibraries; i++) {
        const void *found = tj_shared_object_symbol(environment->libraries[i], name);
        if (found && tj_shared_object_has(environment->libraries[i], found))
            address = found;
    }
    return address && address != tj_libm_symbol(name); /* which may be one of the libraries */
}

bool tj_environment_has_mathematics(const tj_environment *environment)
{
    const char *name;
    tj_compile_lock();
    bool found = tj_environment_brings(environment, "sincos") ||
                 tj_environment_brings(environment, "sincosf");
    for (size_t i = 0; !found && (name = tj_mathematical_name(i)); i++)
        found = tj_environment_brings(environment, name);
    tj_compile_unlock();
    return found;
}

bool tj_uses_libm(const tj_environment *environment, const char *text)
{
    return text && strstr(text, environment->libm ? TJ_WITHOUT_LIBM : TJ_WITH_LIBM)
               ? !environment->libm
               : environment->libm;
}

bool tj_environment_find(const tj_environment *environment, const char *name, bool again, bool libm,
                         tj_symbol *found)
{
    const tj_map_item *item = tj_map_get(tj_environment_symbols(environment), name);
    bool renamed = tj_mathematical_function(name, strlen(name)); /* cwj_pow */
    const char *plain = renamed ? name + strlen("cwj_") : name;
    const void *ours = libm ? NULL : tj_maths_function(plain);
    if (item)
        *found = (tj_symbol){item->name, item->address, item->neutral};
    else if (ours && !tj_environment_brings(environment, plain))
        *found = (tj_symbol){name, ours, true};
    else
        *found = (tj_symbol){name, other_symbol(environment, name, again), false};
    return item || found->address;
}

const void *tj_environment_symbol(tj_environment *environment, const char *name)
{
    tj_compile_lock(); /* guards the cache of the process' symbols */
    const void *address = other_symbol(environment, name, true);
    tj_compile_unlock();
    return address;
}

bool tj_environment_compiled(const tj_environment *environment, const char *name)
{
    return source_symbol(environment, name) != NULL;
}

bool tj_environment_is_host(const tj_environment *environment, const tj_symbol *symbol)
{
    const char *data = environment->host_data;
    if (symbol->neutral || !environment->host_prefixes ||
        (data && !strncmp(symbol->name, data, strlen(data))))
        return false;
    for (const char *const *prefix = environment->host_prefixes; *prefix; prefix++)
        if (!strncmp(symbol->name, *prefix, strlen(*prefix)))
            return true;
    return false;
}

bool tj_environment_speaks(const tj_environment *environment, const tj_symbol *symbol)
{
    if (tj_map_get(tj_environment_symbols(environment), symbol->name))
        return strncmp(symbol->name, "cwj_contiguous", strlen("cwj_contiguous")) != 0;
    if (source_symbol(environment, symbol->name))
        return false; /* the sources' unit was already checked */
    for (const char *const *name = tj_remembering_names; *name; name++)
        if (!strcmp(symbol->name, *name))
            return true;
    for (size_t i = 0; i < environment->nlibraries; i++)
        if (tj_shared_object_symbol(environment->libraries[i], symbol->name) == symbol->address)
            return process_symbol(symbol->name, false) != symbol->address; /* e.g. libm's */
    return false;
}
