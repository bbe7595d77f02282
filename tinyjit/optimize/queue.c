/* queue.c: the jobs that wait for a thread, the lock of all jobs, and fork().
 *
 * fork() takes the lock, and the child begins with an empty queue and without threads.
 */
#define _GNU_SOURCE 1 /* clocks of conditions */
#include "optimize/jobs.h"

#include <errno.h>

tj_pool_state tj_pool;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t set_up = PTHREAD_ONCE_INIT;

/* ---- the lock and fork ------------------------------------------------------- */

static void make_conditions(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&tj_pool.work, &attributes);
    pthread_cond_init(&tj_pool.news, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

/* Gives the pool's share of a job back, which starts anew. */
static void take_back(tj_job *job)
{
    job->state = TJ_JOB_NEW;
    job->next = NULL;
    if (--job->shares == 0) { /* not freed here: the lock around libtcc may be taken */
        job->next = tj_pool.orphans;
        tj_pool.orphans = job;
    }
}

/* The parent's threads and processes are the parent's. */
static void after_fork_in_child(void)
{
    for (int i = 0; i < TJ_MOST_THREADS; i++) {
        if (tj_pool.workers[i].used) {
            tj_pipework_close(&tj_pool.workers[i].files);
            if (tj_pool.workers[i].job)
                take_back(tj_pool.workers[i].job);
        }
        tj_pool.workers[i] = (tj_worker){.files = {-1, -1, -1, 0}};
    }
    for (tj_job *job = tj_pool.first, *next; job; job = next) {
        next = job->next;
        take_back(job);
    }
    tj_pool.first = NULL;
    tj_pool.last = &tj_pool.first;
    tj_pool.queued = tj_pool.threads = tj_pool.idle = tj_pool.coming = 0;
    make_conditions();
    pthread_mutex_unlock(&lock);
}

static void set_up_pool(void)
{
    for (int i = 0; i < TJ_MOST_THREADS; i++)
        tj_pool.workers[i].files = (tj_pipework){-1, -1, -1, 0};
    tj_pool.last = &tj_pool.first;
    tj_pool.processes = 1;
    tj_pool.seconds = TJ_USUAL_SECONDS;
    make_conditions();
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

void tj_pool_lock(void)
{
    pthread_once(&set_up, set_up_pool);
    pthread_mutex_lock(&lock);
}

void tj_pool_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

struct timespec tj_time_in(double seconds)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    double whole = seconds < 1e9 ? seconds : 1e9;
    long nanoseconds = time.tv_nsec + (long)((whole - (double)(long)whole) * 1e9);
    time.tv_sec += (time_t)whole + nanoseconds / 1000000000;
    time.tv_nsec = nanoseconds % 1000000000;
    return time;
}

bool tj_pool_wait(pthread_cond_t *condition, const struct timespec *end)
{
    return end ? pthread_cond_timedwait(condition, &lock, end) != ETIMEDOUT
               : pthread_cond_wait(condition, &lock) == 0;
}

/* ---- the queue ----------------------------------------------------------------- */

bool tj_pool_remove(tj_job *job)
{
    for (tj_job **at = &tj_pool.first; *at; at = &(*at)->next) {
        if (*at != job)
            continue;
        *at = job->next;
        if (tj_pool.last == &job->next)
            tj_pool.last = at;
        job->next = NULL;
        tj_pool.queued--;
        return true;
    }
    return false;
}
