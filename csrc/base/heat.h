/* heat.h: when code has run long enough to be worth the system compiler's time, and how that is
 * found out where a clock costs more than a run: for the call path of functions, whose text
 * m.write() embeds, and for graphs.
 */
#pragma once

#include "os/clock.h"

/* Nanoseconds that it ran. */
#define CWJ_HOT_TIME 2000000ull
#define CWJ_LOOK_TIME 20000000ull /* between two looks at what has come of it */

enum {
    CWJ_SHORT_NS = 10000, /* a run below this is short, ... */
    CWJ_SAMPLE = 64 /* ... and one of so many short ones is timed, and stands for the others */
};
