/* compile_lock.c: the lock around libtcc.
 *
 * libtcc serialises itself by a semaphore that a forked child inherits taken,
 * so every call of it happens under a lock of ours, and fork() takes that lock
 * first: no child is born in the middle of a compilation.
 */
#define _GNU_SOURCE 1 /* for os/threads.h */
#include "internal.h"

#include "os/threads.h"

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
    tj_on_fork(take, release, release);
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
