/* live.h: counts the objects that live, for tests of what is kept; tj_live in tinyjit.h does the rest. */
#pragma once

#include "base/api.h"

/* X(KIND, name). */
#define CWJ_LIVE(X)                                                \
    X(FUNCTIONS, "functions")                                      \
    X(GRAPHS, "graphs") /* and what they are bound to */           \
    X(LIBRARY_FUNCTIONS, "functions of libraries")                 \
    X(INSTANCES, "instances")                                      \
    X(OWNERS, "owners") /* instances that have memory: owners.c */ \
    X(CALLBACKS, "callbacks") /* trampolines that are somebody's */

typedef enum cwj_live {
#define CWJ_LIVE_KIND(kind, name) CWJ_LIVE_##kind,
    CWJ_LIVE(CWJ_LIVE_KIND)
#undef CWJ_LIVE_KIND
    CWJ_LIVE_KINDS
} cwj_live;

/* Guarded by the GIL. */
extern Py_ssize_t cwj_live_counts[CWJ_LIVE_KINDS];

/* A new dict from names to counts, once the background has come to rest. */
PyObject *cwj_live_table(Py_ssize_t blocks_of_calls);
