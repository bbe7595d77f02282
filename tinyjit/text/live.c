/* live.c: counts live memory and objects, over all threads. */
#include "tinyjit.h"

static ptrdiff_t counts[TJ_LIVE_KINDS];

void tj_live_add(tj_live kind, ptrdiff_t change)
{
    __atomic_fetch_add(&counts[kind], change, __ATOMIC_RELAXED);
}

ptrdiff_t tj_live_count(tj_live kind)
{
    return __atomic_load_n(&counts[kind], __ATOMIC_RELAXED);
}
