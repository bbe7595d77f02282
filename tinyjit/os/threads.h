/* threads.h: what C11 and the plain part of POSIX threads (mutexes, conditions, once) leave open: how threads
 * start, waiting until a time, fork(). Inline, as modules that module.write() emits have this text, too.
 *
 * Whoever includes it has <Python.h> or _GNU_SOURCE before it.
 */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

/* Whenever the process forks from now on: the first is called before it, the others behind it, each where
 * its name says. NULL: nothing is. Returns false without memory. Where no process forks, there is nothing to do. */
static inline bool tj_on_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
    return pthread_atfork(before, in_parent, in_child) == 0;
}

/* Starts a thread with a stack of so many bytes (0: as many as usual), which somebody joins, or which goes by
 * itself. Signals are for others of the program's threads, but for those that this one brings upon itself.
 * Returns 0, or an errno value. */
static inline int tj_thread_start(pthread_t *thread, size_t stack, bool joined,
                                  void *(*run)(void *argument), void *argument)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
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

/* How many processors this process may use. */
static inline int tj_count_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return CPU_COUNT(&set);
    long count = sysconf(_SC_NPROCESSORS_ONLN); /* more than a cpu_set_t holds */
    return count < 1 ? 1 : count > 1024 ? 1024 : (int)count;
}

/* ---- waiting until a time -------------------------------------------------------------------- */

/* A condition for tj_condition_wait(); also in a forked child, whatever it was there. */
static inline void tj_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* So many seconds from now, 0 or more, on a clock that nobody sets. */
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

/* Waits for the condition as pthread_cond_wait() does, until then at most (NULL: no limit). Returns false when
 * it is that time; may return true for no reason. */
static inline bool tj_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                     const struct timespec *end)
{
    return (end ? pthread_cond_timedwait(condition, mutex, end)
                : pthread_cond_wait(condition, mutex)) == 0;
}
