/* live.h: counts living objects, for tests of leaks; tj_live in tinyjit.h counts the rest. */
#pragma once

#include "base/api.h"

/* X(KIND, name). */
#define CWJ_LIVE(X)                                               \
    X(FUNCTIONS, "functions")                                     \
    X(GRAPHS, "graphs") /* and their bindings */                  \
    X(LIBRARY_FUNCTIONS, "functions of libraries")                \
    X(INSTANCES, "instances")                                     \
    X(OWNERS, "owners") /* instances that own memory: owners.c */ \
    X(CALLBACKS, "callbacks") /* trampolines in use */

typedef enum cwj_live {
#define CWJ_LIVE_KIND(kind, name) CWJ_LIVE_##kind,
    CWJ_LIVE(CWJ_LIVE_KIND)
#undef CWJ_LIVE_KIND
    CWJ_LIVE_KINDS
} cwj_live;

/* Guarded by the GIL. */
extern Py_ssize_t cwj_live_counts[CWJ_LIVE_KINDS];

/* Returns a new dict from names to counts, after the background thread has become idle. */
PyObject *cwj_live_table(Py_ssize_t blocks_of_calls);
