/* tiers.c: see tiers.h.
 *
 * The call path counts and calls hot(); tinyjit's background thread compiles and
 * calls use_loops(). Between the two stands a tj_job; the lock of all jobs makes sure
 * that use_loops() and the end of the function exclude each other.
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

/* The same for the running call's loops only, unless all loops have been installed before. */
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

/* ---- what to take for constant ----------------------------------------- */

/* True if the profile is worth a variant: not if slices are contiguous and long. A constant length
 * does not speed up such loops, and a softmax of 100 was 13 % slower. */
static int
is_worth_constants(const cwj_profile *profile, const cwj_function_decl *decl)
{
    int has_long_dim = 0;
    for (int i = 0; i < decl->nnamed; i++) {
        has_long_dim |= profile->named[i] > CWJ_LONG_DIM;
    }
    return profile->time > 0 && !(profile->contiguous && has_long_dim);
}

/* What a job takes of a profile, which it borrows. What calls of these dims have in common counts
 * for all of them; strides, where most of the time was spent with the same. */
static tj_profile
constants_of(const cwj_profile *seen, const cwj_function_decl *decl)
{
    return (tj_profile){.known = is_worth_constants(seen, decl),
                        .contiguous = seen->contiguous,
                        .named = seen->named,
                        .strides = 2 * seen->steady > seen->time ? seen->strides : NULL};
}

/* The profiles of now are those of the newest job. */
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

/* True if calls have had something in common for long that the newest job does not use. */
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
    if (decl->cookie_size > 0) { /* libtcc's code fills it */
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

/* A job for the function as it is used now, or for the running call alone; NULL where there is no
 * memory: the code that is there stays. */
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
                                  .fastmath = self->tiers.fastmath,
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
    /* The code that the call runs may drop the caller's last reference, for instance by
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

/* Returns 0 when nothing can come of it, with an exception set when something struck. */
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
    self->tiers.jobs[self->tiers.njobs++] = job; /* it says why, should it not start */
    self->vectorcall = call_and_look;
    return cwj_job_start(cwj_state_of((PyObject *)self), job);
}

/* For the running call, of this type set. The next one looks, and starts the job for all. */
static int
start_urgent_job(cwj_function_object *self, int typeset)
{
    const tj_compiler *compiler = cwj_compiler_find(cwj_state_of((PyObject *)self));
    if (compiler == NULL || self->tiers.urgent != NULL || newest_job(self) != NULL) {
        return compiler != NULL; /* that may have run Python code, which called f */
    }
    self->tiers.urgent = make_job(self, compiler, &typeset);
    self->vectorcall = call_and_look;
    return self->tiers.urgent != NULL &&
           cwj_job_start(cwj_state_of((PyObject *)self), self->tiers.urgent);
}

/* What the compiler refuses, of the function or of its module's sources, is told before the
 * next call runs; calls go straight again when there is nothing more to come. Returns 0, or -1
 * with an exception set. */
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
        return -1; /* what is said of the function comes with the call after this one */
    }
    if (more > 0 || (job_state != TJ_JOB_READY && job_state != TJ_JOB_FAILED)) {
        return 0;
    }
    self->vectorcall = self->usual; /* first: a warning may run Python code */
    return cwj_job_warn(job);
}

/* A call while a job is running. */
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

/* True if later calls may have more to do here. */
static int
follow(cwj_function_object *self, int typeset)
{
    tj_job *job = newest_job(self);
    if (job == NULL && self->tiers.urgent == NULL) {
        return start_urgent_job(self, typeset);
    }
    if (job == NULL) { /* a long call, or one that Python code made without looking */
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
        return tj_job_start(job); /* a fork has lost it, otherwise nothing happens */
    }
}

static void
hot(cwj_runtime *runtime, int typeset)
{
    runtime->hot_at = ULLONG_MAX; /* looking for a compiler may run Python code, which may call f */
    int more = follow(cwj_owner_of(runtime), typeset);
    runtime->hot_at = more || PyErr_Occurred() ? runtime->heat + CWJ_LOOK_TIME : ULLONG_MAX;
}

/* ---- for function.c ---------------------------------------------------- */

int
cwj_tiers_init(cwj_function_object *self, const cwj_options *options)
{
    self->tiers.optimize = options->optimize;
    self->tiers.fastmath = options->fastmath == 1;
    self->tiers.checks = options->checks;
    self->usual = self->vectorcall;
    if (options->checks) {
        self->vectorcall = call_and_look; /* the first one has the compiler look at the text */
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
    return there != 0 ? there : strcmp(cwj_tiers_name(self), "cc") == 0; /* an earlier job's */
}
