/* worker.c: the lock around libtcc and the stack that it runs on.
 *
 * libtcc serialises itself by a semaphore that a forked child inherits taken,
 * so every call of it happens under a lock of ours, and fork() takes that lock
 * first: no child is born in the middle of a compilation.
 *
 * libtcc parses by recursion. How deep a text nests is limited by the scanner,
 * how large the caller's stack is nobody knows (threads of some programs have
 * 256 KiB). So each compilation runs on a thread of known stack size, which
 * lives for that compilation only: nothing has to survive a fork, and glibc
 * keeps the stack for the next one.
 */
#define _GNU_SOURCE 1 /* threads and signals under -std=c11 */
#include "internal.h"

#include <pthread.h>
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_handlers = PTHREAD_ONCE_INIT;

static void take(void)
{
    pthread_mutex_lock(&lock);
}

static void release(void)
{
    pthread_mutex_unlock(&lock);
}

static void register_fork_handlers(void)
{
    pthread_atfork(take, release, release);
}

void tj_compile_lock(void)
{
    pthread_once(&fork_handlers, register_fork_handlers);
    take();
}

void tj_compile_unlock(void)
{
    release();
}

typedef struct job {
    void (*task)(void *argument);
    void *argument;
} job;

static void *run_job(void *data)
{
    job *todo = data;
    todo->task(todo->argument);
    return NULL;
}

/* Signals that are sent to the process are for the caller's threads; faults of
 * the thread itself stay with it. */
static void fill_with_asynchronous(sigset_t *mask)
{
    sigfillset(mask);
    sigdelset(mask, SIGSEGV);
    sigdelset(mask, SIGBUS);
    sigdelset(mask, SIGFPE);
    sigdelset(mask, SIGILL);
    sigdelset(mask, SIGABRT);
}

bool tj_run_on_big_stack(void (*task)(void *argument), void *argument)
{
    job todo = {task, argument};
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes))
        return false;
    pthread_t thread;
    bool started = false;
    if (!pthread_attr_setstacksize(&attributes, TJ_COMPILE_STACK)) {
        sigset_t mask, before;
        fill_with_asynchronous(&mask);
        pthread_sigmask(SIG_SETMASK, &mask, &before); /* the new thread inherits it */
        started = !pthread_create(&thread, &attributes, run_job, &todo);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    if (started)
        pthread_join(thread, NULL);
    return started;
}
