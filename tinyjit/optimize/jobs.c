/* jobs.c: manages jobs for the system's compiler, their queue and the threads that run them; build.c has the
 * steps of a compilation.
 *
 * One lock guards all jobs and the pool. It is never held during compiling, loading, freeing or waiting, and
 * never together with the lock around libtcc. A job has at most two shares: its owner's and, from its start
 * to its end, the pool's. The last one frees it.
 *
 * Threads start if there is work and end after some time without work, so that a program that forks then has
 * one thread less. fork() takes the lock, and the child begins with an empty queue and without threads. */
#define _GNU_SOURCE 1 /* for os/threads.h */
#include "internal.h"

#include "os/threads.h"

#include <string.h>

enum {
    MOST_THREADS = 64,
    STACK_BYTES = 512 << 10 /* libtcc uses a separate stack */
};
#define IDLE_SECONDS 1.0
#define USUAL_SECONDS 60.0 /* the default limit of a compilation */

struct tj_job {
    tj_build build; /* owned */
    void (*ready)(void *context, const void *address);
    void *context;

    /* Guarded by the lock. */
    int shares;
    bool given_up; /* the owner has freed the job */
    tj_job_state state;
    bool unstarted; /* it failed because no thread could be started, and may start again */
    char *failure; /* owned */
    tj_messages messages; /* owned: the compiler's messages about the text */
    tj_unit *unit; /* owned: the code of a job that is ready */
    tj_lines *lines; /* owned: of that code, or NULL */
    char *told; /* owned: the report of a job that explains */
    tj_job *next; /* the next in the queue */
};

typedef struct worker {
    pthread_t thread;
    bool used;
    tj_job *job; /* its current job */
    tj_pipework files; /* the files of the running compiler */
} worker;

static struct {
    pthread_cond_t work; /* something is queued, or threads must stop */
    pthread_cond_t news; /* a job is ready or failed */
    tj_job *first, **last; /* the queue */
    int queued; /* the length of the queue */
    worker workers[MOST_THREADS];
    int threads, idle; /* all threads, and those that wait for work */
    int busy; /* threads with a job, or with its clean-up */
    int coming; /* threads that have not looked for work yet */
    int processes;
    double seconds;
    bool stopping;
    char *failure; /* owned: the last failure of any job */
    tj_job *orphans; /* jobs of the parent process, to be freed in this one */
} pool;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t set_up = PTHREAD_ONCE_INIT;

/* ---- the lock and fork ------------------------------------------------------- */

/* Resets the pool: no threads, no queue. */
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

static void lock_mutex(void)
{
    pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

/* Gives back the pool's share of a job and resets the job. */
static void take_back(tj_job *job)
{
    job->state = TJ_JOB_NEW;
    job->next = NULL;
    if (--job->shares == 0) { /* not freed here: the lock around libtcc may be held */
        job->next = pool.orphans;
        pool.orphans = job;
    }
}

/* Takes back all jobs and resets the pool. The child must not touch the parent's threads and processes. */
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
    tj_on_fork(lock_mutex, unlock, after_fork_in_child);
}

static void lock(void)
{
    pthread_once(&set_up, set_up_pool);
    lock_mutex();
}

/* ---- jobs ---------------------------------------------------------------------- */

/* Frees a job; the owner of the last share calls it, without the lock. */
static void destroy(tj_job *job)
{
    tj_lines_free(job->lines);
    tj_unit_free(job->unit);
    tj_build_clear(&job->build);
    tj_free(job->failure);
    tj_messages_clear(&job->messages);
    tj_free(job->told);
    tj_free(job);
    tj_live_add(TJ_LIVE_JOBS, -1);
}

/* Lock held. Stores the reason, and also as tj_optimizer_last_failure(), unless the pool is stopping. */
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

/* Lock held. Removes the job from the queue and gives back the pool's share. Returns true if it was in the queue. */
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
        pthread_cond_broadcast(&pool.news); /* for tj_optimizer_settle() */
        return true;
    }
    return false;
}

/* ---- running a job: in a thread of the pool, lock not held --------------------- */

/* The result of a job. */
typedef struct tj_outcome {
    tj_unit *unit; /* owned */
    tj_lines *lines; /* owned, or NULL */
    const void *address;
    tj_text told; /* owned */
    tj_messages messages; /* owned */
    tj_error error;
} tj_outcome;

static bool must_stop(void *context)
{
    const tj_job *job = context;
    return __atomic_load_n(&job->given_up, __ATOMIC_ACQUIRE) ||
           __atomic_load_n(&pool.stopping, __ATOMIC_ACQUIRE);
}

/* Creates the files. The lock guards this, storing and closing them, so that a forked child can close its copies. */
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

/* Runs the compiler. *hides: hide divisors if possible; set to whether any was hidden. */
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

/* Runs the compiler on the text without hidden divisors, so that its messages are about the text as written. */
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

/* Runs the compiler and checks its object. */
static tj_status make_object(worker *this, bool narrow, tj_object *object, tj_outcome *outcome)
{
    bool hides = true;
    tj_status status = run(this, narrow, &hides, outcome);
    if (status == TJ_COMPILE_FAILED && hides)
        run_plainly(this, narrow, outcome);
    object->fd = this->files.object;
    object->keeps_state = this->job->build.keeps_state;
    object->calls_fma = !narrow && tj_compiler_calls_fma(this->job->build.text);
    object->libm = tj_build_uses_libm(&this->job->build);
    return status ? status : tj_object_look(object, &outcome->error);
}

/* Makes code. If it fuses, which would give other bits, compiles again without the instruction sets that allow it; on
 * x86-64 also without instructions for fma(). */
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
        status = tj_build_load(build, &object, &outcome->unit, &outcome->lines, &outcome->address,
                               &outcome->error);
    tj_object_clear(&object);
    return status;
}

/* Lock held, because ready() must not be called after tj_job_free(). */
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
    job->lines = outcome->lines;
    outcome->unit = NULL;
    outcome->lines = NULL;
    job->told = tj_text_take(&outcome->told);
    if (job->ready)
        job->ready(job->context, outcome->address);
    job->state = TJ_JOB_READY;
    pthread_cond_broadcast(&pool.news);
}

/* Runs this->job and gives back the pool's share of it. */
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
    tj_lines_free(outcome.lines);
    tj_unit_free(outcome.unit);
    tj_messages_clear(&outcome.messages);
    tj_text_clear(&outcome.told);
    tj_error_clear(&outcome.error);
    if (last)
        destroy(job);
}

/* ---- threads ------------------------------------------------------------------- */

/* Lock held. Returns the next job, or NULL if the thread should end. */
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
        job->shares++; /* the thread holds this share */
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
    if (!pool.stopping) { /* otherwise tj_optimizer_stop() waits for the thread */
        this->used = false;
        pthread_detach(pthread_self());
    }
    unlock();
    return NULL;
}

/* Lock held. Starts as many threads as there is work for. Returns 0, or the errno value if one cannot start. */
static int start_threads(void)
{
    int failed = 0;
    while (!failed && pool.queued > pool.idle + pool.coming && pool.threads < pool.processes) {
        worker *this = pool.workers;
        while (this->used)
            this += 1; /* threads < processes <= MOST_THREADS: one is free */
        failed = tj_thread_start(&this->thread, STACK_BYTES, true, work, this);
        this->used = !failed;
        pool.threads += !failed;
        pool.coming += !failed;
    }
    return failed;
}

/* Lock held. Queues a job, gives the pool a share of it, and makes sure that there is a thread. Returns false
 * if no thread can be started: the job has then failed, and may start again. */
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

/* ---- the public functions ------------------------------------------------------ */

tj_job *tj_job_new(tj_environment *environment, const char *text, const tj_job_options *options)
{
    lock();
    tj_job *orphan = pool.orphans;
    pool.orphans = NULL;
    unlock();
    for (tj_job *next; orphan; orphan = next) {
        next = orphan->next;
        destroy(orphan);
    }
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
    __atomic_store_n(&job->given_up, true, __ATOMIC_RELEASE); /* ends a running compiler */
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

static char *copy_locked(char *const *text)
{
    lock();
    char *copy = tj_copy_string(*text);
    unlock();
    return copy;
}

char *tj_job_failure(tj_job *job)
{
    return copy_locked(&job->failure);
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
    return copy_locked(&job->told);
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
    return copy_locked(&pool.failure);
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
    for (tj_job *job; (job = pool.first);) { /* their owners' shares are left */
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
