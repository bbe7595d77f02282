/* tier.c: has the system's compiler compile a graph's text.
 *
 * Both compilers get the same text, which defines the layout of the state, so the steps of both can use it. The cc tier
 * replaces only steps; begin, end and renew stay libtcc's. Code that writes static data of its own stays in the tcc
 * tier, as there must be one copy of such data. */
#include "graph/code/tier.h"

#include <limits.h>

#include "base/diagnosis.h"
#include "base/compiler.h"
#include "base/errors.h"
#include "base/jobs.h"
#include "base/heat.h"

/* ---- what a job brings --------------------------------------------------- */

/* Stores a job's steps. Runs on the background thread. */
static void
use_steps(void *context, const void *address)
{
    cwj_graph_code *code = context;
    const cwj_graph_decl *decl = address;
    for (int i = 0; i < code->decl->nsteps; i++) {
        __atomic_store_n(&code->steps[i], decl->steps[i], __ATOMIC_RELEASE);
    }
}

/* The same for code that libtcc has not compiled. The owner waits for the job, whose lock orders this store before the
 * owner's read. */
static void
use_decl(void *context, const void *address)
{
    ((cwj_graph_code *)context)->decl = address;
}

static tj_job *
make_job(cwj_graph_code *code, const tj_compiler *compiler, bool alone)
{
    const char *text = PyUnicode_AsUTF8(code->source);
    if (text == NULL) {
        return NULL;
    }
    tj_job_options options = {.compiler = compiler,
                              .kind = code->checks ? TJ_JOB_SYNTAX : TJ_JOB_CODE,
                              .fastmath = code->fastmath,
                              .keeps_state = alone,
                              .symbol = "cwj_graph",
                              .ready = code->checks ? NULL
                                       : alone      ? use_decl
                                                    : use_steps,
                              .context = code};
    tj_job *job = tj_job_new(code->environment, text, &options);
    if (job == NULL) {
        PyErr_NoMemory();
    }
    return job;
}

/* ---- the tier --------------------------------------------------------------- */

/* Returns 1; 0 if there can be no job, with an exception set if Python code has raised one. */
static int
start_job(cwj_module_state *state, cwj_graph_code *code)
{
    if (code->job != NULL) {
        return tj_job_start(code->job); /* again if a fork has lost it; otherwise does nothing */
    }
    const tj_compiler *compiler = cwj_compiler_find(state); /* may run Python code */
    bool wanted = code->checks || (code->optimize && !tj_unit_has_state(code->unit));
    if (!wanted || compiler == NULL || code->job != NULL) {
        return code->job != NULL;
    }
    tj_job *job = make_job(code, compiler, false);
    if (job == NULL) {
        PyErr_Clear(); /* MemoryError, as no Python code ran: the tcc tier stays */
        return 0;
    }
    code->job = job; /* before it starts: ready() changes this code */
    code->looks = true;
    return cwj_job_start(state, job);
}

int
cwj_graph_heat(cwj_module_state *state, cwj_graph_code *code, unsigned long long time)
{
    code->heat += time;
    if (code->heat < code->hot_at) {
        return 0;
    }
    code->hot_at = ULLONG_MAX; /* first: start_job() may run Python code that calls the graph */
    bool started = start_job(state, code), struck = PyErr_Occurred() != NULL;
    if (struck || (started && tj_job_look(code->job) == TJ_JOB_STARTED)) {
        code->hot_at = code->heat + CWJ_LOOK_TIME;
    }
    return struck ? -1 : 0;
}

int
cwj_graph_wait(cwj_module_state *state, cwj_graph_code *code, double seconds)
{
    if (code->unit == NULL) {
        return 1; /* the system's compiler has compiled it at once */
    }
    if (!start_job(state, code)) {
        return PyErr_Occurred() ? -1 : 0;
    }
    int there = cwj_job_wait(code->job, seconds);
    return there > 0 && code->checks ? 0 : there;
}

int
cwj_graph_tell(cwj_module_state *state, cwj_graph_code *code)
{
    if (code->job == NULL && !start_job(state, code)) { /* in the first run with debug=True */
        code->looks = false;
        return PyErr_Occurred() ? -1 : 0;
    }
    tj_job_state job_state = tj_job_look(code->job);
    if (job_state != TJ_JOB_READY && job_state != TJ_JOB_FAILED) {
        return 0;
    }
    code->looks = false; /* first: a warning may run Python code, which may run the graph */
    return cwj_job_warn(code->job);
}

PyObject *
cwj_graph_tier_error(cwj_module_state *state, cwj_graph_code *code, const char *who)
{
    if (code->checks) {
        return code->job != NULL ? cwj_job_error(code->job, who) : Py_NewRef(Py_None);
    }
    if (!code->optimize || strcmp(cwj_graph_tier(code), "cc") == 0) {
        Py_RETURN_NONE;
    }
    if (tj_unit_has_state(code->unit)) {
        return cwj_refusal(who, PyExc_RuntimeError, "its code has data that it may write");
    }
    return cwj_tier_error(state, code->job, who);
}

const char *
cwj_graph_tier(const cwj_graph_code *code)
{
    if (code->unit == NULL) {
        return "cc";
    }
    for (int i = 0; i < code->decl->nsteps; i++) {
        if (__atomic_load_n(&code->steps[i], __ATOMIC_ACQUIRE) == code->decl->steps[i]) {
            return "tcc";
        }
    }
    return "cc";
}

/* ---- a compiler that a type or an op insists on ------------------------------------ */

PyObject *
cwj_graph_diagnose(cwj_module_state *state, const cwj_graph_code *code, const char *who)
{
    const char *text = PyUnicode_AsUTF8(code->source);
    tj_compiler forced = {0};
    PyObject *found = NULL;
    if (text != NULL && (code->unit != NULL ||
                         cwj_compiler_named(code->compiler, "c_compiler()", &forced, who) == 0)) {
        found =
            cwj_diagnose(state, code->unit == NULL ? &forced : NULL, code->environment, text, who);
    }
    tj_compiler_clear(&forced);
    return found;
}

int
cwj_graph_compile_with(cwj_module_state *state, cwj_graph_code *code, PyObject *command,
                       const char *who)
{
    tj_compiler compiler = {0};
    int status = -1;
    if (cwj_compiler_named(command, "c_compiler()", &compiler, who) == 0) {
        code->job = make_job(code, &compiler, true);
        status = code->job == NULL ? -1 : cwj_job_run(state, code->job, who);
    }
    tj_compiler_clear(&compiler);
    return status;
}
