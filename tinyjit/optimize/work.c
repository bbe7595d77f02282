/* work.c: doing a job of the optimizing compiler, in a thread of its own; build.c has the steps
 * of a compilation.
 *
 * ready() runs under the lock, so that it cannot come after the owner has gone.
 */
#include "optimize/jobs.h"

void tj_job_destroy(tj_job *job)
{
    if (!job)
        return;
    tj_unit_free(job->unit);
    tj_build_clear(&job->build);
    tj_free(job->failure);
    tj_messages_clear(&job->messages);
    tj_free(job);
}

void tj_job_fail(tj_job *job, const char *reason)
{
    tj_free(job->failure);
    job->failure = tj_copy_string(reason);
    job->state = TJ_JOB_FAILED;
    if (!tj_pool.stopping) {
        tj_free(tj_pool.failure);
        tj_pool.failure = tj_copy_string(reason);
    }
    pthread_cond_broadcast(&tj_pool.news);
}

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

/* What a worker makes of its job. */
typedef struct tj_outcome {
    tj_unit *unit; /* owned */
    const void *address;
    tj_messages messages; /* owned */
    tj_error error;
} tj_outcome;

static void read_objections(tj_worker *this, tj_messages *messages)
{
    const tj_build *build = &this->job->build;
    tj_text text = {0};
    tj_build_write(build, &text);
    tj_objections_read(this->files.said, &text, build->kind, messages);
    tj_text_clear(&text);
}

/* Runs the compiler. */
static tj_status run(tj_worker *this, bool narrow, tj_outcome *outcome)
{
    tj_job *job = this->job;
    double seconds;
    tj_status status = open_files(this, &seconds, &outcome->error);
    if (status)
        return status;
    status = tj_build_compile(&job->build, narrow, &this->files, seconds, must_stop, job,
                              &outcome->error);
    if (status == TJ_COMPILE_FAILED || job->build.kind != TJ_JOB_CODE)
        read_objections(this, &outcome->messages);
    return status;
}

/* Runs the compiler and looks at its object. */
static tj_status make_object(tj_worker *this, bool narrow, tj_object *object, tj_outcome *outcome)
{
    tj_job *job = this->job;
    tj_status status = run(this, narrow, outcome);
    object->fd = this->files.object;
    object->keeps_state = job->build.keeps_state;
    object->calls_fma = !narrow && tj_compiler_calls_fma(job->build.text);
    return status ? status : tj_object_look(object, &outcome->error);
}

/* Same bits: what fuses is compiled once more without AVX-512, and without instructions for fma(). */
static tj_status make_exact(tj_worker *this, tj_object *object, tj_outcome *outcome)
{
    tj_status status = make_object(this, false, object, outcome);
    if (status || this->job->build.fastmath || !object->fuses)
        return status;
    tj_object_clear(object);
    close_files(this);
    return make_object(this, true, object, outcome);
}

static tj_status make(tj_worker *this, tj_outcome *outcome)
{
    const tj_build *build = &this->job->build;
    tj_object object = {0};
    tj_status status =
        build->kind == TJ_JOB_CODE ? make_exact(this, &object, outcome) : run(this, false, outcome);
    if (!status && build->kind == TJ_JOB_CODE)
        status = tj_build_load(build, &object, &outcome->unit, &outcome->address, &outcome->error);
    tj_object_clear(&object);
    close_files(this);
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
        tj_job_fail(job, tj_pool.stopping ? "stopping" : reason);
        return;
    }
    job->unit = outcome->unit;
    outcome->unit = NULL;
    if (job->ready)
        job->ready(job->context, outcome->address);
    job->state = TJ_JOB_READY;
    pthread_cond_broadcast(&tj_pool.news);
}

void tj_job_do(tj_worker *this)
{
    tj_job *job = this->job;
    tj_outcome outcome = {0};
    tj_error_init(&outcome.error);
    tj_status status = make(this, &outcome);
    tj_pool_lock();
    publish(job, status, &outcome);
    this->job = NULL;
    bool last = --job->shares == 0;
    tj_pool_unlock();
    tj_unit_free(outcome.unit);
    tj_messages_clear(&outcome.messages);
    tj_error_clear(&outcome.error);
    if (last)
        tj_job_destroy(job);
}
