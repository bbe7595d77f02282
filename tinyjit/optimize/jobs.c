/* jobs.c: jobs for the optimizing compiler, for those who want something done: queue.c has the
 * queue, threads.c the threads, work.c what they do.
 */
#include "optimize/jobs.h"

static void destroy_orphans(void)
{
    tj_pool_lock();
    tj_job *job = tj_pool.orphans;
    tj_pool.orphans = NULL;
    tj_pool_unlock();
    for (tj_job *next; job; job = next) {
        next = job->next;
        tj_job_destroy(job);
    }
}

tj_job *tj_job_new(tj_environment *environment, const char *text, const tj_job_options *options)
{
    destroy_orphans();
    tj_job *job = tj_alloc_zeroed(1, sizeof *job);
    if (!job)
        return NULL;
    if (!tj_build_init(&job->build, environment, text, options)) {
        tj_free(job);
        return NULL;
    }
    job->shares = 1;
    job->ready = options->ready;
    job->context = options->context;
    return job;
}

void tj_job_free(tj_job *job)
{
    if (!job)
        return;
    tj_pool_lock();
    __atomic_store_n(&job->given_up, true, __ATOMIC_RELEASE); /* a running compiler is ended */
    if (tj_pool_remove(job))
        job->shares--;
    bool last = --job->shares == 0;
    tj_pool_unlock();
    if (last)
        tj_job_destroy(job);
}

tj_job_state tj_job_look(tj_job *job)
{
    tj_pool_lock();
    tj_job_state state = job->state;
    tj_pool_unlock();
    return state;
}

char *tj_job_failure(tj_job *job)
{
    tj_pool_lock();
    char *failure = tj_copy_string(job->failure);
    tj_pool_unlock();
    return failure;
}

bool tj_job_messages(tj_job *job, tj_messages *messages)
{
    tj_pool_lock();
    bool copied = tj_messages_copy(messages, &job->messages);
    tj_pool_unlock();
    return copied;
}

/* Lock held. */
static bool start_locked(tj_job *job)
{
    if (job->unstarted) {
        job->unstarted = false;
        job->state = TJ_JOB_NEW;
    }
    if (job->state != TJ_JOB_NEW)
        return true;
    if (tj_pool.stopping) {
        tj_job_fail(job, "stopping");
        return false;
    }
    return tj_pool_add(job);
}

bool tj_job_start(tj_job *job)
{
    tj_pool_lock();
    bool started = start_locked(job);
    tj_pool_unlock();
    return started;
}

tj_job_state tj_job_wait(tj_job *job, double seconds)
{
    struct timespec end = tj_time_in(seconds < 0 ? 0 : seconds);
    tj_pool_lock();
    bool late = !start_locked(job);
    while (!late && job->state == TJ_JOB_STARTED)
        late = !tj_pool_wait(&tj_pool.news, seconds < 0 ? NULL : &end);
    tj_job_state state = job->state;
    tj_pool_unlock();
    return state;
}

char *tj_optimizer_last_failure(void)
{
    tj_pool_lock();
    char *failure = tj_copy_string(tj_pool.failure);
    tj_pool_unlock();
    return failure;
}
