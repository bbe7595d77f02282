/* clock.h: reads the monotonic clock. The function is inline because it is read between the chunks of a call,
 * and because modules emitted by module.write() contain this text, too.
 *
 * Include <Python.h> or define _GNU_SOURCE before it: plain C11 has no such clock. */
#pragma once

#include <time.h>

/* Returns the nanoseconds since an arbitrary start. */
static inline unsigned long long tj_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}
