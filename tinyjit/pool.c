/* pool.c: the threads that do the optimizing compiler's jobs.
 *
 * Threads start when there is work and end when there was none for a while:
 * a program that forks then has one thread less. fork() takes the lock, and the
 * child begins with an empty pool.
 */
#define _GNU_SOURCE 1 /* clocks of conditions */
#include "optimize.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

enum {
    STACK_BYTES = 512 << 10 /* libtcc has a stack of its own */
};
#define IDLE_SECONDS 1.0
#define USUAL_SECONDS 60.0

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
    tj_pool.seconds = USUAL_SECONDS;
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

bool tj_pool_wait(const struct timespec *end)
{
    return end ? pthread_cond_timedwait(&tj_pool.news, &lock, end) != ETIMEDOUT
               : pthread_cond_wait(&tj_pool.news, &lock) == 0;
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

/* ---- threads ---------------------------------------------------------------- */

/* Lock held. The next job, or NULL: the thread should end. */
static tj_job *wait_for_work(void)
{
    struct timespec end = tj_time_in(IDLE_SECONDS);
    bool late = false;
    tj_pool.idle++;
    while (!tj_pool.first && !tj_pool.stopping && !late && tj_pool.threads <= tj_pool.processes)
        late = pthread_cond_timedwait(&tj_pool.work, &lock, &end) == ETIMEDOUT;
    tj_pool.idle--;
    tj_job *job = tj_pool.stopping || tj_pool.threads > tj_pool.processes ? NULL : tj_pool.first;
    if (job)
        tj_pool_remove(job);
    return job;
}

static void *work(void *argument)
{
    tj_worker *this = argument;
    /* Neither it nor the compiler takes the processor from who asked for them. */
    sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
    tj_pool_lock();
    tj_pool.coming--;
    while ((this->job = wait_for_work())) {
        tj_pool_unlock();
        tj_job_do(this);
        tj_pool_lock();
    }
    tj_pool.threads--;
    if (!tj_pool.stopping) { /* else tj_optimizer_stop() waits for the thread */
        this->used = false;
        pthread_detach(pthread_self());
    }
    tj_pool_unlock();
    return NULL;
}

/* Lock held. Returns false when the system gives no thread. No signal of the
 * program's is handled there. */
static bool start_thread(void)
{
    tj_worker *this = tj_pool.workers;
    while (this->used)
        this ++; /* threads < processes <= TJ_MOST_THREADS: one is free */
    sigset_t all, old;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes))
        return false;
    size_t stack = STACK_BYTES;
    pthread_attr_setstacksize(&attributes, stack);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool started = !pthread_create(&this->thread, &attributes, work, this);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    if (started) {
        this->used = true;
        tj_pool.threads++;
        tj_pool.coming++;
    }
    return started;
}

/* Lock held. As many as have something to do. */
static void start_threads(void)
{
    while (tj_pool.queued > tj_pool.idle + tj_pool.coming && tj_pool.threads < tj_pool.processes)
        if (!start_thread())
            return;
}

bool tj_pool_add(tj_job *job)
{
    *tj_pool.last = job;
    tj_pool.last = &job->next;
    job->shares++;
    job->state = TJ_JOB_STARTED;
    tj_pool.queued++;
    start_threads();
    if (tj_pool.threads == 0) {
        tj_pool_remove(job);
        job->shares--;
        job->state = TJ_JOB_NEW;
        return false;
    }
    pthread_cond_signal(&tj_pool.work);
    return true;
}

/* ---- the whole ------------------------------------------------------------------- */

void tj_optimizer_set_limits(int processes, double seconds)
{
    tj_pool_lock();
    tj_pool.processes = processes < 1                 ? 1
                        : processes > TJ_MOST_THREADS ? TJ_MOST_THREADS
                                                      : processes;
    tj_pool.seconds = seconds > 0 ? seconds : USUAL_SECONDS;
    if (!tj_pool.stopping)
        start_threads();
    pthread_cond_broadcast(&tj_pool.work);
    tj_pool_unlock();
}

/* Lock held. Nobody will do what is queued. */
static void refuse_queue(void)
{
    while (tj_pool.first) {
        tj_job *job = tj_pool.first;
        tj_pool_remove(job);
        job->shares--; /* the owner's share is left, or it had left the queue */
        tj_job_fail(job, "stopping");
    }
}

void tj_optimizer_stop(void)
{
    tj_pool_lock();
    __atomic_store_n(&tj_pool.stopping, true, __ATOMIC_RELEASE);
    refuse_queue();
    pthread_cond_broadcast(&tj_pool.work);
    for (int i = 0; i < TJ_MOST_THREADS; i++) {
        if (!tj_pool.workers[i].used)
            continue;
        tj_pool.workers[i].used = false;
        pthread_t thread = tj_pool.workers[i].thread;
        tj_pool_unlock();
        pthread_join(thread, NULL);
        tj_pool_lock();
    }
    tj_pool_unlock();
}
