/* clock.h: the clock, which only goes forward. Inline, as it is read between the chunks of a call, and as
 * modules that module.write() emits have this text, too.
 *
 * Whoever includes it has <Python.h> or _GNU_SOURCE before it: C11 alone has no such clock.
 */
#pragma once

#include <time.h>

/* Nanoseconds since some time before. */
static inline unsigned long long tj_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}
