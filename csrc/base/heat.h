/* heat.h: says when code has run long enough for the system's compiler to pay off, and which runs are timed, because
 * reading a clock may cost more than a run. For the calls of functions (m.write() embeds this text) and graphs. */
#pragma once

#include "os/clock.h"

/* Run time in nanoseconds. */
#define CWJ_HOT_TIME 2000000ull
#define CWJ_LOOK_TIME 20000000ull /* between two checks for the result */

enum {
    CWJ_SHORT_NS = 10000, /* a run below this is short, ... */
    CWJ_SAMPLE = 64 /* ... and one of so many short runs is timed and counts for all of them */
};
