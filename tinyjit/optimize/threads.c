/* threads.c: the threads that do the optimizing compiler's jobs.
 *
 * Threads start when there is work and end when there was none for a while:
 * a program that forks then has one thread less.
 */
#define _GNU_SOURCE 1 /* SCHED_BATCH */
#include "optimize/jobs.h"

#include <sched.h>
#include <signal.h>
#include <string.h>

enum {
    STACK_BYTES = 512 << 10 /* libtcc has a stack of its own */
};
#define IDLE_SECONDS 1.0

/* Lock held. The next job, or NULL: the thread should end. */
static tj_job *wait_for_work(void)
{
    struct timespec end = tj_time_in(IDLE_SECONDS);
    bool late = false;
    tj_pool.idle++;
    while (!tj_pool.first && !tj_pool.stopping && !late && tj_pool.threads <= tj_pool.processes)
        late = !tj_pool_wait(&tj_pool.work, &end);
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

/* Lock held. Returns 0, or why the system gives no thread. No signal of the program's is
 * handled there. */
static int start_thread(void)
{
    tj_worker *this = tj_pool.workers;
    while (this->used)
        this ++; /* threads < processes <= TJ_MOST_THREADS: one is free */
    sigset_t all, old;
    pthread_attr_t attributes;
    int failed = pthread_attr_init(&attributes);
    if (failed)
        return failed;
    size_t stack = STACK_BYTES;
    pthread_attr_setstacksize(&attributes, stack);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    failed = pthread_create(&this->thread, &attributes, work, this);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    if (!failed) {
        this->used = true;
        tj_pool.threads++;
        tj_pool.coming++;
    }
    return failed;
}

/* Lock held. As many as have something to do. Returns 0, or why there are not so many. */
static int start_threads(void)
{
    int failed = 0;
    while (!failed && tj_pool.queued > tj_pool.idle + tj_pool.coming &&
           tj_pool.threads < tj_pool.processes)
        failed = start_thread();
    return failed;
}

/* Lock held. */
static void fail_without_thread(tj_job *job, int number)
{
    tj_text reason = {0};
    tj_text_printf(&reason, "no thread for the optimizing compiler: %s", strerror(number));
    tj_job_fail(job, reason.failed ? "no thread for the optimizing compiler" : reason.data);
    tj_text_clear(&reason);
    job->unstarted = true;
}

bool tj_pool_add(tj_job *job)
{
    *tj_pool.last = job;
    tj_pool.last = &job->next;
    job->shares++;
    job->state = TJ_JOB_STARTED;
    tj_pool.queued++;
    int failed = start_threads();
    if (tj_pool.threads == 0) {
        tj_pool_remove(job);
        job->shares--;
        fail_without_thread(job, failed);
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
    tj_pool.seconds = seconds > 0 ? seconds : TJ_USUAL_SECONDS;
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
