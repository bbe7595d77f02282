/* tiers.c: see tiers.h.
 *
 * The call path measures time and calls hot(). tinyjit's background thread runs a tj_job and calls use_loops(). The
 * lock of all jobs makes use_loops() and the end of the function exclude each other.
 */
#include "function/tiers.h"

#include <limits.h>

#include "base/diagnosis.h"
#include "base/compiler.h"
#include "function/function.h"
#include "base/jobs.h"
#include "base/watch.h"

/* ---- new code ---------------------------------------------------------- */

/* Runs in the background thread: installs a job's loops. */
static void
use_loops(void *context, const void *address)
{
    cwj_runtime *runtime = context;
    cwj_loop *const *loops = address;
    for (int t = 0; t < runtime->decl->ntypesets; t++) {
        __atomic_store_n(&runtime->loops[t], loops[t], __ATOMIC_RELEASE);
    }
}

/* Does the same for the running call's job, but keeps loops that another job has installed. */
static void
use_urgent_loops(void *context, const void *address)
{
    cwj_runtime *runtime = context;
    cwj_loop *const *loops = address;
    for (int t = 0; t < runtime->decl->ntypesets; t++) {
        if (runtime->loops[t] == runtime->decl->typesets[t].loop) {
            __atomic_store_n(&runtime->loops[t], loops[t], __ATOMIC_RELEASE);
        }
    }
}

/* ---- constants of a job ------------------------------------------------ */

/* True if the profile is worth a variant. It is not if slices are contiguous and long: a constant length does not
 * speed up such loops, and a softmax of 100 was 13 % slower. */
static int
is_worth_constants(const cwj_profile *profile, const cwj_function_decl *decl)
{
    int has_long_dim = 0;
    for (int i = 0; i < decl->nnamed; i++) {
        has_long_dim |= profile->named[i] > CWJ_LONG_DIM;
    }
    return profile->time > 0 && !(profile->contiguous && has_long_dim);
}

/* Returns what a job takes for constant; borrows the profile's arrays. All calls that the profile counts had its
 * dims; its strides are taken if most of the time was spent with them. */
static tj_profile
constants_of(const cwj_profile *seen, const cwj_function_decl *decl)
{
    return (tj_profile){.known = is_worth_constants(seen, decl),
                        .contiguous = seen->contiguous,
                        .named = seen->named,
                        .strides = 2 * seen->steady > seen->time ? seen->strides : NULL};
}

/* Stores the present profiles as those of the newest job. */
static void
remember_profiles(cwj_function_object *self)
{
    const cwj_function_decl *decl = self->runtime.decl;
    size_t bytes = ((size_t)decl->nnamed + cwj_profile_strides(decl)) * sizeof(npy_intp);
    for (int t = 0; t < decl->ntypesets; t++) {
        const cwj_profile *seen = &self->runtime.profiles[t];
        cwj_profile *taken = &self->tiers.taken[t];
        taken->time = seen->time;
        taken->contiguous = seen->contiguous;
        memcpy(taken->named, seen->named, bytes);
    }
}

/* True if calls have had properties in common for CWJ_STEADY_TIME that the newest job does not use. */
static int
has_new_constants(const cwj_function_object *self, int t)
{
    const cwj_function_decl *decl = self->runtime.decl;
    const cwj_profile *seen = &self->runtime.profiles[t], *taken = &self->tiers.taken[t];
    if (seen->time < CWJ_STEADY_TIME) {
        return 0;
    }
    return seen->contiguous != taken->contiguous ||
           memcmp(seen->named, taken->named, (size_t)decl->nnamed * sizeof(npy_intp)) != 0 ||
           (seen->steady >= CWJ_STEADY_TIME &&
            memcmp(seen->strides, taken->strides, cwj_profile_strides(decl) * sizeof(npy_intp)) !=
                0);
}

/* ---- jobs -------------------------------------------------------------- */

static tj_job *
newest_job(const cwj_function_object *self)
{
    return self->tiers.njobs == 0 ? NULL : self->tiers.jobs[self->tiers.njobs - 1];
}

bool
cwj_tiers_emit(const cwj_function_object *self, const int *running, tj_text *text)
{
    const cwj_function_decl *decl = self->runtime.decl;
    size_t ntypesets = (size_t)decl->ntypesets;
    const cwj_profile *seen = running == NULL ? NULL : &self->runtime.profiles[*running];
    tj_profile *profiles = tj_alloc_zeroed(ntypesets + 1, sizeof(*profiles));
    const void **loops = tj_alloc_zeroed(ntypesets + 1, sizeof(*loops));
    tj_status status = TJ_NO_MEMORY;
    if (profiles == NULL || loops == NULL) {
        goto done;
    }
    for (size_t t = 0; t < ntypesets; t++) {
        loops[t] = (const void *)decl->typesets[t].loop;
        profiles[t] = self->tiers.checks ? (tj_profile){.known = false}
                                         : constants_of(&self->runtime.profiles[t], decl);
    }
    tj_running call = {.typeset = running == NULL ? 0 : *running, .loops = loops};
    if (seen != NULL && seen->time > 0) {
        call.named = seen->named;
        call.strides = seen->strides;
    }
    status = tj_emit_loops(&self->spec->tj, profiles, seen != NULL ? &call : NULL,
                           self->code.all_names, text);
    if (decl->cookie_size > 0) { /* libtcc's code fills the cookie */
        tj_text_printf(text,
                       "_Static_assert(sizeof(cwj_cookie__%s) == %zu, \"libtcc lays the cookie "
                       "out otherwise\");\n",
                       self->spec->tj.name, decl->cookie_size);
    }
done:
    tj_free(profiles);
    tj_free(loops);
    return status == TJ_OK;
}

/* Returns a job for all loops, or only for the running call (running: its type set); NULL if there is no memory. */
static tj_job *
make_job(cwj_function_object *self, const tj_compiler *compiler, const int *running)
{
    tj_text text = {0}, symbol = {0};
    tj_job *job = NULL;
    tj_text_printf(&symbol, "cwj_loops__%s", self->spec->tj.name);
    if (!symbol.failed && cwj_tiers_emit(self, running, &text)) {
        remember_profiles(self);
        tj_job_options options = {.compiler = compiler,
                                  .kind = self->tiers.checks ? TJ_JOB_SYNTAX : TJ_JOB_CODE,
                                  .fastmath = self->spec->tj.fastmath,
                                  .urgent = running != NULL,
                                  .symbol = symbol.data,
                                  .ready = self->tiers.checks ? NULL
                                           : running != NULL  ? use_urgent_loops
                                                              : use_loops,
                                  .context = &self->runtime};
        job = tj_job_new(self->environment->tj, text.data, &options);
    }
    tj_text_clear(&text);
    tj_text_clear(&symbol);
    return job;
}

/* ---- calls ------------------------------------------------------------- */

PyObject *
cwj_function_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    /* The code that runs may drop the caller's last reference to the function, for example by
     * functools.partial.__setstate__(). */
    Py_INCREF(self);
    cwj_runtime *runtime = &((cwj_function_object *)self)->runtime;
    PyObject *result;
    if (cwj_has_closures) {
        cwj_watch watch;
        cwj_watch_begin(&watch);
        result = cwj_invoke(runtime, args, nargsf, kwnames);
        if (cwj_watch_end(&watch) < 0) {
            Py_CLEAR(result);
        }
    } else {
        result = cwj_invoke(runtime, args, nargsf, kwnames);
    }
    Py_DECREF(self);
    return result;
}

static PyObject *call_and_look(PyObject *op, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames);

/* Starts the job for all loops. Returns 0 if it cannot succeed, perhaps with an exception set. */
static int
start_job(cwj_function_object *self)
{
    const tj_compiler *compiler = cwj_compiler_find(cwj_state_of((PyObject *)self));
    if (compiler == NULL || self->tiers.njobs == CWJ_MAX_JOBS) {
        return 0;
    }
    tj_job *job = make_job(self, compiler, NULL);
    if (job == NULL) {
        return 0;
    }
    self->tiers.jobs[self->tiers.njobs++] = job; /* it holds the reason if it cannot start */
    self->vectorcall = call_and_look;
    return cwj_job_start(cwj_state_of((PyObject *)self), job);
}

/* Starts a job for the running call, of this type set. Returns true if later calls should check again. */
static int
start_urgent_job(cwj_function_object *self, int typeset)
{
    const tj_compiler *compiler = cwj_compiler_find(cwj_state_of((PyObject *)self));
    if (compiler == NULL || self->tiers.urgent != NULL || newest_job(self) != NULL) {
        return compiler != NULL; /* finding it may have run Python code that called f */
    }
    self->tiers.urgent = make_job(self, compiler, &typeset);
    self->vectorcall = call_and_look;
    return self->tiers.urgent != NULL &&
           cwj_job_start(cwj_state_of((PyObject *)self), self->tiers.urgent);
}

/* Starts the job for all loops, and warns of what the compiler rejects in the function or in its module's sources,
 * before the next call runs. If nothing more can follow, later calls are direct again. Returns 0, or -1 with an
 * exception set. */
static int
tell(cwj_function_object *self)
{
    cwj_module_state *state = cwj_state_of((PyObject *)self);
    if (newest_job(self) == NULL && !start_job(self)) {
        self->vectorcall = self->usual;
        return PyErr_Occurred() ? -1 : 0;
    }
    tj_job *job = newest_job(self);
    tj_job_state job_state = tj_job_look(job);
    int more = cwj_diagnosis_look(state, self->environment);
    if (more < 0) {
        return -1; /* the call after this one reports errors of the function */
    }
    if (more > 0 || (job_state != TJ_JOB_READY && job_state != TJ_JOB_FAILED)) {
        return 0;
    }
    self->vectorcall = self->usual; /* first, because a warning may run Python code */
    return cwj_job_warn(job);
}

/* The function's vectorcall while a job is running. */
static PyObject *
call_and_look(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *result = NULL;
    Py_INCREF(op);
    if (tell((cwj_function_object *)op) == 0) {
        result = ((cwj_function_object *)op)->usual(op, args, nargsf, kwnames);
    }
    Py_DECREF(op);
    return result;
}

/* ---- heat -------------------------------------------------------------- */

/* Starts or checks jobs. Returns true if later calls should check again. */
static int
follow(cwj_function_object *self, int typeset)
{
    tj_job *job = newest_job(self);
    if (job == NULL && self->tiers.urgent == NULL) {
        return start_urgent_job(self, typeset);
    }
    if (job == NULL) { /* the same call still runs, or this one bypassed call_and_look() */
        return tj_job_look(self->tiers.urgent) == TJ_JOB_FAILED ? start_job(self)
                                                                : tj_job_start(self->tiers.urgent);
    }
    switch (tj_job_look(job)) {
    case TJ_JOB_FAILED:
        return 0;
    case TJ_JOB_READY:
        if (has_new_constants(self, typeset)) {
            return start_job(self);
        }
        return self->tiers.njobs < CWJ_MAX_JOBS;
    default:
        return tj_job_start(job); /* restarts only a job that a fork has lost */
    }
}

static void
hot(cwj_runtime *runtime, int typeset)
{
    runtime->hot_at = ULLONG_MAX; /* finding a compiler may run Python code that calls f */
    int more = follow(cwj_owner_of(runtime), typeset);
    runtime->hot_at = more || PyErr_Occurred() ? runtime->heat + CWJ_LOOK_TIME : ULLONG_MAX;
}

/* ---- for function.c ---------------------------------------------------- */

int
cwj_tiers_init(cwj_function_object *self, const cwj_options *options)
{
    self->tiers.optimize = options->optimize;
    self->tiers.checks = options->checks;
    self->usual = self->vectorcall;
    if (options->checks) {
        self->vectorcall = call_and_look; /* the first call starts the check of the text */
    }
    self->tiers.taken = cwj_profiles_new(self->runtime.decl);
    if (self->tiers.taken == NULL) {
        return -1;
    }
    self->runtime.hot_at = ULLONG_MAX;
    if (options->optimize != CWJ_OPTIMIZE_OFF) {
        self->runtime.hot = hot;
        self->runtime.hot_at = CWJ_HOT_TIME;
    }
    return 0;
}

void
cwj_tiers_clear(cwj_function_object *self)
{
    for (int i = 0; i < self->tiers.njobs; i++) {
        tj_job_free(self->tiers.jobs[i]);
    }
    self->tiers.njobs = 0;
    tj_job_free(self->tiers.urgent);
    self->tiers.urgent = NULL;
    PyMem_Free(self->tiers.taken);
    self->tiers.taken = NULL;
}

const char *
cwj_tiers_name(const cwj_function_object *self)
{
    const cwj_function_decl *decl = self->runtime.decl;
    for (int t = 0; t < decl->ntypesets; t++) {
        if (__atomic_load_n(&self->runtime.loops[t], __ATOMIC_ACQUIRE) == decl->typesets[t].loop) {
            return "tcc";
        }
    }
    return "cc";
}

const char *
cwj_tiers_progress(const cwj_function_object *self)
{
    tj_job *job = newest_job(self) != NULL ? newest_job(self) : self->tiers.urgent;
    if (self->tiers.optimize == CWJ_OPTIMIZE_OFF && !self->tiers.checks) {
        return "off";
    }
    switch (job == NULL ? TJ_JOB_NEW : tj_job_look(job)) {
    case TJ_JOB_STARTED:
        return "running";
    case TJ_JOB_READY:
        return "done";
    case TJ_JOB_FAILED:
        return "failed";
    default:
        return "new";
    }
}

PyObject *
cwj_tiers_error(cwj_function_object *self)
{
    if (self->tiers.checks && newest_job(self) != NULL) {
        return cwj_job_error(newest_job(self), self->spec->qualname);
    }
    if (self->tiers.optimize == CWJ_OPTIMIZE_OFF || strcmp(cwj_tiers_name(self), "cc") == 0) {
        Py_RETURN_NONE;
    }
    return cwj_tier_error(cwj_state_of((PyObject *)self), newest_job(self), self->spec->qualname);
}

int
cwj_tiers_wait(cwj_function_object *self, double seconds)
{
    if (self->tiers.optimize == CWJ_OPTIMIZE_OFF && !self->tiers.checks) {
        return 0;
    }
    tj_job *job = newest_job(self);
    if (job == NULL && !start_job(self)) {
        return PyErr_Occurred() ? -1 : 0;
    }
    int there = cwj_job_wait(newest_job(self), seconds);
    if (there >= 0 &&
        cwj_diagnosis_wait(cwj_state_of((PyObject *)self), self->environment, seconds) < 0) {
        return -1;
    }
    if (self->tiers.checks) {
        return there < 0 ? -1 : 0;
    }
    return there != 0 ? there : strcmp(cwj_tiers_name(self), "cc") == 0; /* from an earlier job */
}
