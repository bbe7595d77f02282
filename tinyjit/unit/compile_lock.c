/* compile_lock.c: serialises all calls of libtcc.
 *
 * libtcc has its own semaphore, which a forked child would inherit locked. Every call of libtcc is therefore
 * made under this lock, and fork() takes it first, so that no child is created during a compilation. */
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

void tj_know_forks(void)
{
    pthread_once(&fork_handlers, register_fork_handlers);
}

void tj_compile_lock(void)
{
    tj_know_forks();
    take();
}

void tj_compile_unlock(void)
{
    release();
}
