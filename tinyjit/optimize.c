/* optimize.c: jobs for the optimizing compiler: what becomes of one, and who owns
 * it. pool.c has the threads, build.c the steps of a compilation.
 *
 * ready() runs under the lock, so that it cannot come after the owner has gone.
 */
#include "optimize.h"

/* ---- jobs -------------------------------------------------------------------- */

static void destroy(tj_job *job)
{
    if (!job)
        return;
    tj_unit_free(job->unit);
    tj_build_clear(&job->build);
    tj_free(job->failure);
    tj_free(job);
}

static void destroy_orphans(void)
{
    tj_pool_lock();
    tj_job *job = tj_pool.orphans;
    tj_pool.orphans = NULL;
    tj_pool_unlock();
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
    job->shares = 1;
    job->ready = options->ready;
    job->context = options->context;
    return job;
}

void tj_job_fail(tj_job *job, const char *reason)
{
    tj_free(job->failure);
    job->failure = tj_copy_string(reason);
    job->state = TJ_JOB_FAILED;
    pthread_cond_broadcast(&tj_pool.news);
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
        destroy(job);
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

/* ---- doing one ----------------------------------------------------------------- */

static bool must_stop(void *context)
{
    const tj_job *job = context;
    return __atomic_load_n(&job->given_up, __ATOMIC_ACQUIRE) ||
           __atomic_load_n(&tj_pool.stopping, __ATOMIC_ACQUIRE);
}

/* The files are made, known and closed under the lock: a forked child closes its
 * copies. */
static tj_status open_files(tj_worker *this, double *seconds, tj_error *error)
{
    const tj_build *build = &this->job->build;
    tj_text text = {0};
    tj_build_write(build, &text);
    tj_pool_lock();
    tj_status status = text.failed ? tj_fail_no_memory(error)
                                   : tj_pipework_open(&this->files, text.data, text.length, error);
    this->files.number = tj_compiler_object_number(&build->compiler);
    *seconds = tj_pool.seconds;
    tj_pool_unlock();
    tj_text_clear(&text);
    return status;
}

static void close_files(tj_worker *this)
{
    tj_pool_lock();
    tj_pipework_close(&this->files);
    tj_pool_unlock();
}

/* Runs the compiler and looks at its object. */
static tj_status make_object(tj_worker *this, bool narrow, tj_object *object, tj_error *error)
{
    tj_job *job = this->job;
    double seconds;
    tj_status status = open_files(this, &seconds, error);
    if (!status)
        status =
            tj_build_compile(&job->build, narrow, &this->files, seconds, must_stop, job, error);
    object->fd = this->files.object;
    object->keeps_state = job->build.keeps_state;
    return status ? status : tj_object_look(object, error);
}

/* Same bits: what fuses is compiled once more without AVX-512. */
static tj_status make_exact(tj_worker *this, tj_object *object, tj_error *error)
{
    tj_status status = make_object(this, false, object, error);
    if (status || this->job->build.fastmath || !object->fuses)
        return status;
    tj_object_clear(object);
    close_files(this);
    return make_object(this, true, object, error);
}

static void make(tj_worker *this, tj_unit **unit, const void **address, tj_error *error)
{
    tj_object object = {0};
    if (!make_exact(this, &object, error))
        tj_build_load(&this->job->build, &object, unit, address, error);
    tj_object_clear(&object);
    close_files(this);
}

/* Lock held: ready() must not come after the owner has gone. */
static void publish(tj_job *job, tj_unit **unit, const void *address, const tj_error *error)
{
    if (job->given_up)
        return;
    if (!*unit) {
        bool stopped = tj_pool.stopping;
        tj_job_fail(job, stopped ? "stopping" : error->text ? error->text : error->brief);
        if (!stopped) {
            tj_free(tj_pool.failure);
            tj_pool.failure = tj_copy_string(job->failure);
        }
        return;
    }
    job->unit = *unit;
    *unit = NULL;
    if (job->ready)
        job->ready(job->context, address);
    job->state = TJ_JOB_READY;
    pthread_cond_broadcast(&tj_pool.news);
}

void tj_job_do(tj_worker *this)
{
    tj_job *job = this->job;
    tj_unit *unit = NULL;
    const void *address = NULL;
    tj_error error;
    tj_error_init(&error);
    make(this, &unit, &address, &error);
    tj_pool_lock();
    publish(job, &unit, address, &error);
    this->job = NULL;
    bool last = --job->shares == 0;
    tj_pool_unlock();
    tj_unit_free(unit);
    tj_error_clear(&error);
    if (last)
        destroy(job);
}

/* Lock held. */
static bool start_locked(tj_job *job)
{
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
        late = !tj_pool_wait(seconds < 0 ? NULL : &end);
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
