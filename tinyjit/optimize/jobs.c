/* jobs.c: jobs for the system's compiler, their queue and the threads that do them; build.c
 * has the steps of a compilation.
 *
 * One lock guards all jobs and the pool; it is never held while something is
 * compiled, loaded, freed or waited for, and never together with the lock around
 * libtcc. A job has two shares at most, its owner's and, from its start to its
 * end, the pool's; the last one frees it.
 *
 * Threads start when there is work and end when there was none for a while: a program that
 * forks then has one thread less. fork() takes the lock, and the child begins with an empty
 * queue and without threads.
 */
#define _GNU_SOURCE 1 /* for os/threads.h */
#include "internal.h"

#include "os/threads.h"

#include <string.h>

enum {
    MOST_THREADS = 64,
    STACK_BYTES = 512 << 10 /* libtcc has a stack of its own */
};
#define IDLE_SECONDS 1.0
#define USUAL_SECONDS 60.0 /* what a compilation may take */

struct tj_job {
    tj_build build; /* owned */
    void (*ready)(void *context, const void *address);
    void *context;

    /* Guarded by the lock. */
    int shares;
    bool given_up; /* the owner has gone */
    tj_job_state state;
    bool unstarted;       /* it has failed for want of a thread: it may start again */
    char *failure;        /* owned */
    tj_messages messages; /* owned: what the compiler said of the text */
    tj_unit *unit;        /* owned; the code of a job that is ready */
    char *told;           /* owned: what one that explains has to tell */
    tj_job *next;         /* in the queue */
};

typedef struct worker {
    pthread_t thread;
    bool used;
    tj_job *job;       /* what it does now */
    tj_pipework files; /* of the running compiler */
} worker;

static struct {
    pthread_cond_t work;   /* something is queued, or it is time to stop */
    pthread_cond_t news;   /* a job is ready or failed */
    tj_job *first, **last; /* the queue */
    int queued;            /* its length */
    worker workers[MOST_THREADS];
    int threads, idle; /* all, and those that wait for work */
    int busy;          /* those that have a job, or what is left of it */
    int coming;        /* those that have not looked for work yet */
    int processes;
    double seconds;
    bool stopping;
    char *failure;   /* owned: the last one of any job */
    tj_job *orphans; /* of the process that this one was forked from, to be freed */
} pool;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t set_up = PTHREAD_ONCE_INIT;

/* ---- the lock and fork ------------------------------------------------------- */

/* Without threads and queue. */
static void begin_anew(void)
{
    for (int i = 0; i < MOST_THREADS; i++)
        pool.workers[i] = (worker){.files = {-1, -1, -1, 0}};
    pool.first = NULL;
    pool.last = &pool.first;
    pool.queued = pool.threads = pool.idle = pool.busy = pool.coming = 0;
    tj_condition_init(&pool.work);
    tj_condition_init(&pool.news);
}

static void before_fork(void)
{
    pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

/* Gives the pool's share of a job back, which starts anew. */
static void take_back(tj_job *job)
{
    job->state = TJ_JOB_NEW;
    job->next = NULL;
    if (--job->shares == 0) { /* not freed here: the lock around libtcc may be taken */
        job->next = pool.orphans;
        pool.orphans = job;
    }
}

/* The parent's threads and processes are the parent's. */
static void after_fork_in_child(void)
{
    for (int i = 0; i < MOST_THREADS; i++) {
        if (!pool.workers[i].used)
            continue;
        tj_pipework_close(&pool.workers[i].files);
        if (pool.workers[i].job)
            take_back(pool.workers[i].job);
    }
    for (tj_job *job = pool.first, *next; job; job = next) {
        next = job->next;
        take_back(job);
    }
    begin_anew();
    unlock();
}

static void set_up_pool(void)
{
    begin_anew();
    pool.processes = 1;
    pool.seconds = USUAL_SECONDS;
    tj_on_fork(before_fork, unlock, after_fork_in_child);
}

static void lock(void)
{
    pthread_once(&set_up, set_up_pool);
    pthread_mutex_lock(&mutex);
}

/* ---- jobs ---------------------------------------------------------------------- */

/* For who gives the last share back; lock not held. */
static void destroy(tj_job *job)
{
    tj_unit_free(job->unit);
    tj_build_clear(&job->build);
    tj_free(job->failure);
    tj_messages_clear(&job->messages);
    tj_free(job->told);
    tj_free(job);
    tj_live_add(TJ_LIVE_JOBS, -1);
}

/* Lock held. Keeps the reason, also for tj_optimizer_last_failure() unless that stops. */
static void fail(tj_job *job, const char *reason)
{
    tj_free(job->failure);
    job->failure = tj_copy_string(reason);
    job->state = TJ_JOB_FAILED;
    if (!pool.stopping) {
        tj_free(pool.failure);
        pool.failure = tj_copy_string(reason);
    }
    pthread_cond_broadcast(&pool.news);
}

/* Lock held. True when the job was in the queue and is no more: the pool's share is given back. */
static bool leave_queue(tj_job *job)
{
    for (tj_job **at = &pool.first; *at; at = &(*at)->next) {
        if (*at != job)
            continue;
        *at = job->next;
        if (pool.last == &job->next)
            pool.last = at;
        job->next = NULL;
        job->shares--;
        pool.queued--;
        pthread_cond_broadcast(&pool.news); /* to tj_optimizer_settle() */
        return true;
    }
    return false;
}

/* ---- doing one: in a thread of the pool, lock not held ----------------------------- */

/* What a worker makes of its job. */
typedef struct tj_outcome {
    tj_unit *unit; /* owned */
    const void *address;
    tj_text told;         /* owned */
    tj_messages messages; /* owned */
    tj_error error;
} tj_outcome;

static bool must_stop(void *context)
{
    const tj_job *job = context;
    return __atomic_load_n(&job->given_up, __ATOMIC_ACQUIRE) ||
           __atomic_load_n(&pool.stopping, __ATOMIC_ACQUIRE);
}

/* The files are made, known and closed under the lock: a forked child closes its
 * copies. */
static tj_status open_files(worker *this, const tj_text *text, double *seconds, tj_error *error)
{
    lock();
    tj_status status = text->failed
                           ? tj_fail_no_memory(error)
                           : tj_pipework_open(&this->files, text->data, text->length, error);
    this->files.number = tj_compiler_object_number(&this->job->build.compiler);
    *seconds = pool.seconds;
    unlock();
    return status;
}

static void close_files(worker *this)
{
    lock();
    tj_pipework_close(&this->files);
    unlock();
}

/* Runs the compiler. *hides: divisors are hidden; they are, afterwards. */
static tj_status run(worker *this, bool narrow, bool *hides, tj_outcome *outcome)
{
    const tj_build *build = &this->job->build;
    tj_text text = {0};
    double seconds;
    *hides = tj_build_write(build, *hides, &text);
    tj_status status = open_files(this, &text, &seconds, &outcome->error);
    bool opened = !status;
    if (opened)
        status = tj_build_compile(build, narrow, &this->files, seconds, must_stop, this->job,
                                  &outcome->error);
    if (opened && (status == TJ_COMPILE_FAILED || !tj_build_makes_code(build)))
        tj_objections_read(this->files.said, &text, build->kind, &outcome->messages);
    tj_text_clear(&text);
    return status;
}

/* What the compiler says of the text as people wrote it. */
static void run_plainly(worker *this, bool narrow, tj_outcome *outcome)
{
    tj_outcome plain = {0};
    bool hides = false;
    tj_error_init(&plain.error);
    close_files(this);
    if (run(this, narrow, &hides, &plain) == TJ_COMPILE_FAILED) {
        tj_messages_clear(&outcome->messages);
        tj_messages_move(&outcome->messages, &plain.messages);
    }
    tj_messages_clear(&plain.messages);
    tj_error_clear(&plain.error);
}

/* Runs the compiler and looks at its object. */
static tj_status make_object(worker *this, bool narrow, tj_object *object, tj_outcome *outcome)
{
    bool hides = true;
    tj_status status = run(this, narrow, &hides, outcome);
    if (status == TJ_COMPILE_FAILED && hides)
        run_plainly(this, narrow, outcome);
    object->fd = this->files.object;
    object->keeps_state = this->job->build.keeps_state;
    object->calls_fma = !narrow && tj_compiler_calls_fma(this->job->build.text);
    if (status)
        return status;
    status = tj_object_look(object, &outcome->error);
    if (status == TJ_COMPILE_FAILED && this->job->build.kind == TJ_JOB_EXPLAIN) {
        tj_error_clear(&outcome->error); /* it may have lines, as it is not to be loaded */
        tj_error_init(&outcome->error);
        status = TJ_OK;
    }
    return status;
}

/* Same bits: what fuses is compiled once more without what it needs for that; on x86-64 without
 * instructions for fma(), too. */
static tj_status make_code(worker *this, tj_outcome *outcome)
{
    const tj_build *build = &this->job->build;
    tj_object object = {0};
    tj_status status = make_object(this, false, &object, outcome);
    if (!status && !build->fastmath && object.fuses) {
        tj_object_clear(&object);
        close_files(this);
        status = make_object(this, true, &object, outcome);
    }
    if (!status && build->kind == TJ_JOB_EXPLAIN)
        status = tj_explain(build->environment, this->files.said, &object, &outcome->told,
                            &outcome->error);
    else if (!status)
        status = tj_build_load(build, &object, &outcome->unit, &outcome->address, &outcome->error);
    tj_object_clear(&object);
    return status;
}

/* Lock held: ready() must not come after the owner has gone. */
static void publish(tj_job *job, tj_status status, tj_outcome *outcome)
{
    const tj_error *error = &outcome->error;
    if (job->given_up)
        return;
    tj_messages_move(&job->messages, &outcome->messages);
    if (status) {
        const char *reason = error->text ? error->text : error->brief;
        fail(job, pool.stopping ? "stopping" : reason);
        return;
    }
    job->unit = outcome->unit;
    outcome->unit = NULL;
    job->told = tj_text_take(&outcome->told);
    if (job->ready)
        job->ready(job->context, outcome->address);
    job->state = TJ_JOB_READY;
    pthread_cond_broadcast(&pool.news);
}

/* Does this->job and gives the pool's share of it back. */
static void do_job(worker *this)
{
    tj_job *job = this->job;
    tj_outcome outcome = {0};
    tj_error_init(&outcome.error);
    bool hides = false;
    tj_status status = tj_build_makes_code(&job->build) ? make_code(this, &outcome)
                                                        : run(this, false, &hides, &outcome);
    lock();
    tj_pipework_close(&this->files);
    publish(job, status, &outcome);
    this->job = NULL;
    bool last = --job->shares == 0;
    unlock();
    tj_unit_free(outcome.unit);
    tj_messages_clear(&outcome.messages);
    tj_text_clear(&outcome.told);
    tj_error_clear(&outcome.error);
    if (last)
        destroy(job);
}

/* ---- threads ------------------------------------------------------------------- */

/* Lock held. The next job, or NULL: the thread should end. */
static tj_job *wait_for_work(void)
{
    struct timespec end = tj_time_in(IDLE_SECONDS);
    bool late = false;
    pool.idle++;
    while (!pool.first && !pool.stopping && !late && pool.threads <= pool.processes)
        late = !tj_condition_wait(&pool.work, &mutex, &end);
    pool.idle--;
    tj_job *job = pool.stopping || pool.threads > pool.processes ? NULL : pool.first;
    if (job) {
        leave_queue(job);
        job->shares++; /* the thread has it now */
        pool.busy++;
    }
    return job;
}

static void *work(void *argument)
{
    worker *this = argument;
    tj_process_stand_back();
    lock();
    pool.coming--;
    while ((this->job = wait_for_work())) {
        unlock();
        do_job(this);
        lock();
        pool.busy--;
        pthread_cond_broadcast(&pool.news);
    }
    pool.threads--;
    if (!pool.stopping) { /* else tj_optimizer_stop() waits for the thread */
        this->used = false;
        pthread_detach(pthread_self());
    }
    unlock();
    return NULL;
}

/* Lock held. Returns 0, or why the system gives no thread. */
static int start_thread(void)
{
    worker *this = pool.workers;
    while (this->used)
        this += 1; /* threads < processes <= MOST_THREADS: one is free */
    int failed = tj_thread_start(&this->thread, STACK_BYTES, true, work, this);
    if (!failed) {
        this->used = true;
        pool.threads++;
        pool.coming++;
    }
    return failed;
}

/* Lock held. As many as have something to do. Returns 0, or why there are not so many. */
static int start_threads(void)
{
    int failed = 0;
    while (!failed && pool.queued > pool.idle + pool.coming && pool.threads < pool.processes)
        failed = start_thread();
    return failed;
}

/* Lock held. Queues a job, with a share of it for the pool, and sees to a thread.
 * Returns false when the system gives no thread: the job has failed then, and may start again. */
static bool enqueue(tj_job *job)
{
    tj_job **at = job->build.urgent ? &pool.first : pool.last;
    while (*at && (*at)->build.urgent)
        at = &(*at)->next;
    job->next = *at;
    *at = job;
    if (!job->next)
        pool.last = &job->next;
    job->shares++;
    job->state = TJ_JOB_STARTED;
    pool.queued++;
    int failed = start_threads();
    if (pool.threads > 0) {
        pthread_cond_signal(&pool.work);
        return true;
    }
    tj_text reason = {0};
    tj_text_printf(&reason, "no thread for the system's compiler: %s", strerror(failed));
    leave_queue(job);
    fail(job, reason.failed ? "no thread for the system's compiler" : reason.data);
    tj_text_clear(&reason);
    job->unstarted = true;
    return false;
}

/* ---- for those who want something done ---------------------------------------------- */

static void destroy_orphans(void)
{
    lock();
    tj_job *job = pool.orphans;
    pool.orphans = NULL;
    unlock();
    for (tj_job *next; job; job = next) {
        next = job->next;
        destroy(job);
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
    tj_live_add(TJ_LIVE_JOBS, 1);
    job->shares = 1;
    job->ready = options->ready;
    job->context = options->context;
    return job;
}

void tj_job_free(tj_job *job)
{
    if (!job)
        return;
    lock();
    __atomic_store_n(&job->given_up, true, __ATOMIC_RELEASE); /* a running compiler is ended */
    leave_queue(job);
    bool last = --job->shares == 0;
    unlock();
    if (last)
        destroy(job);
}

tj_job_state tj_job_look(tj_job *job)
{
    lock();
    tj_job_state state = job->state;
    unlock();
    return state;
}

char *tj_job_failure(tj_job *job)
{
    lock();
    char *failure = tj_copy_string(job->failure);
    unlock();
    return failure;
}

bool tj_job_messages(tj_job *job, tj_messages *messages)
{
    lock();
    bool copied = tj_messages_copy(messages, &job->messages);
    unlock();
    return copied;
}

char *tj_job_told(tj_job *job)
{
    lock();
    char *told = tj_copy_string(job->told);
    unlock();
    return told;
}

/* Lock held. */
static bool start(tj_job *job)
{
    if (job->unstarted) {
        job->unstarted = false;
        job->state = TJ_JOB_NEW;
    }
    if (job->state != TJ_JOB_NEW)
        return true;
    if (pool.stopping) {
        fail(job, "stopping");
        return false;
    }
    return enqueue(job);
}

bool tj_job_start(tj_job *job)
{
    lock();
    bool started = start(job);
    unlock();
    return started;
}

tj_job_state tj_job_wait(tj_job *job, double seconds)
{
    struct timespec end = tj_time_in(seconds < 0 ? 0 : seconds);
    lock();
    bool late = !start(job);
    while (!late && job->state == TJ_JOB_STARTED)
        late = !tj_condition_wait(&pool.news, &mutex, seconds < 0 ? NULL : &end);
    tj_job_state state = job->state;
    unlock();
    return state;
}

void tj_optimizer_settle(void)
{
    lock();
    while (pool.first || pool.busy)
        pthread_cond_wait(&pool.news, &mutex);
    unlock();
}

char *tj_optimizer_last_failure(void)
{
    lock();
    char *failure = tj_copy_string(pool.failure);
    unlock();
    return failure;
}

void tj_optimizer_set_limits(int processes, double seconds)
{
    lock();
    pool.processes = processes < 1 ? 1 : processes > MOST_THREADS ? MOST_THREADS : processes;
    pool.seconds = seconds > 0 ? seconds : USUAL_SECONDS;
    if (!pool.stopping)
        start_threads();
    pthread_cond_broadcast(&pool.work);
    unlock();
}

void tj_optimizer_stop(void)
{
    lock();
    __atomic_store_n(&pool.stopping, true, __ATOMIC_RELEASE);
    for (tj_job *job; (job = pool.first);) { /* which nobody will do: its owner's share is left */
        leave_queue(job);
        fail(job, "stopping");
    }
    pthread_cond_broadcast(&pool.work);
    for (int i = 0; i < MOST_THREADS; i++) {
        if (!pool.workers[i].used)
            continue;
        pool.workers[i].used = false;
        pthread_t thread = pool.workers[i].thread;
        unlock();
        pthread_join(thread, NULL);
        lock();
    }
    unlock();
}
