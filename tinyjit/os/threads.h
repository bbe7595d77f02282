/* threads.h: adds functions that C11 and basic POSIX threads (mutexes, conditions, once) lack: starting
 * threads, waiting until a time, fork handlers. They are inline because modules emitted by module.write()
 * contain this text, too.
 *
 * Include <Python.h> or define _GNU_SOURCE before it. */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

/* Registers handlers for every later fork(): `before` runs before it, the others after it, in the parent and
 * in the child. Each may be NULL. Returns false if out of memory. Does nothing on systems without fork(). */
static inline bool tj_on_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
    return pthread_atfork(before, in_parent, in_child) == 0;
}

/* Starts a thread with a stack of `stack` bytes (0: the default). If `joined`, another thread must join it; otherwise
 * it is detached. All signals are blocked, except those for its own faults and SIGURG (os/signals.h). Returns 0, or an
 * errno value. */
static inline int tj_thread_start(pthread_t *thread, size_t stack, bool joined,
                                  void *(*run)(void *argument), void *argument)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGURG};
    sigset_t blocked, before;
    pthread_attr_t attributes;
    int failed = pthread_attr_init(&attributes);
    if (failed)
        return failed;
    if (stack)
        pthread_attr_setstacksize(&attributes, stack);
    if (!joined)
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    failed = pthread_create(thread, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}

/* Returns the number of processors that this process may use. */
static inline int tj_count_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return CPU_COUNT(&set);
    long count = sysconf(_SC_NPROCESSORS_ONLN); /* more than a cpu_set_t can hold */
    return count < 1 ? 1 : count > 1024 ? 1024 : (int)count;
}

/* ---- waiting until a time -------------------------------------------------------------------- */

/* Initialises a condition for tj_condition_wait(). In a forked child, the condition may be in any state before. */
static inline void tj_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Returns the time `seconds` (>= 0) from now, on the monotonic clock. */
static inline struct timespec tj_time_in(double seconds)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    double whole = seconds < 1e9 ? seconds : 1e9;
    long nanoseconds = time.tv_nsec + (long)((whole - (double)(long)whole) * 1e9);
    time.tv_sec += (time_t)whole + nanoseconds / 1000000000;
    time.tv_nsec = nanoseconds % 1000000000;
    return time;
}

/* Waits for the condition like pthread_cond_wait(), until the given time at most (NULL: no limit). Returns
 * false at that time; may return true without reason. */
static inline bool tj_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                     const struct timespec *end)
{
    return (end ? pthread_cond_timedwait(condition, mutex, end)
                : pthread_cond_wait(condition, mutex)) == 0;
}
