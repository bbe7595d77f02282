/* jobs.h: what queue.c, work.c, threads.c and jobs.c share.
 *
 * One lock guards all jobs and the pool; it is never held while something is
 * compiled, loaded, freed or waited for, and never together with the lock around
 * libtcc. A job has two shares at most, its owner's and, from its start to its
 * end, the pool's; the last one frees it.
 */
#ifndef TJ_OPTIMIZE_JOBS_H
#define TJ_OPTIMIZE_JOBS_H

#include <pthread.h>
#include <time.h>

#include "internal.h"

enum {
    TJ_MOST_THREADS = 64
};
#define TJ_USUAL_SECONDS 60.0 /* what a compilation may take */

struct tj_job {
    tj_build build; /* owned */
    void (*ready)(void *context, const void *address);
    void *context;

    /* Guarded by the lock. */
    int shares;
    bool given_up; /* the owner has gone */
    tj_job_state state;
    bool unstarted; /* it has failed for want of a thread: it may start again */
    char *failure;  /* owned */
    tj_messages messages; /* owned: what the compiler said of the text */
    tj_unit *unit; /* owned; the code of a job that is ready */
    tj_job *next;  /* in the queue */
};

typedef struct tj_worker {
    pthread_t thread;
    bool used;
    tj_job *job;       /* what it does now */
    tj_pipework files; /* of the running compiler */
} tj_worker;

typedef struct tj_pool_state {
    pthread_cond_t work;    /* something is queued, or it is time to stop */
    pthread_cond_t news;    /* a job is ready or failed */
    tj_job *first, **last;  /* the queue */
    int queued;             /* its length */
    tj_worker workers[TJ_MOST_THREADS];
    int threads, idle; /* all, and those that wait for work */
    int coming;        /* those that have not looked for work yet */
    int processes;
    double seconds;
    bool stopping;
    char *failure;   /* owned: the last one of any job */
    tj_job *orphans; /* of the process that this one was forked from, to be freed */
} tj_pool_state;

/* ---- queue.c ------------------------------------------------------------------ */

extern tj_pool_state tj_pool;

void tj_pool_lock(void);
void tj_pool_unlock(void);
/* Lock held. True when the job was in the queue and is no more. */
bool tj_pool_remove(tj_job *job);
/* So many seconds from now, for tj_pool_wait(). */
struct timespec tj_time_in(double seconds);
/* Lock held, but not while it waits for `condition`, one of the pool's: until `end` at most
 * (NULL: no limit). Returns false at that time. May return for no reason. */
bool tj_pool_wait(pthread_cond_t *condition, const struct timespec *end);

/* ---- work.c ------------------------------------------------------------------- */

/* In one of the pool's threads, lock not held: does worker->job and gives the
 * pool's share of it back. */
void tj_job_do(tj_worker *worker);
/* Lock held. Keeps the reason, also for tj_optimizer_last_failure() unless that stops. */
void tj_job_fail(tj_job *job, const char *reason);
/* For who gives the last share back; lock not held. Accepts NULL. */
void tj_job_destroy(tj_job *job);

/* ---- threads.c ---------------------------------------------------------------- */

/* Lock held. Queues a job, with a share of it for the pool, and sees to a thread.
 * Returns false when the system gives no thread: the job has failed then, and may start again. */
bool tj_pool_add(tj_job *job);

#endif
