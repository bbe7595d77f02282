/* tier.c: the optimizing compiler and a graph's code.
 *
 * The same generated text goes to both compilers, so that the state, which is
 * laid out by the text, serves the steps of both. A new tier brings new steps;
 * begin, end and renew stay the first one's. Code with data of its own that it
 * writes keeps its compiler: there must be one copy of such data.
 */
#include "tier.h"

#include <limits.h>
#include <stdlib.h>

#include "../compiler.h"
#include "../errors.h"
#include "../jobs.h"
#include "../tiers.h"

/* ---- what a job brings --------------------------------------------------- */

/* In the background thread: puts a job's steps in place. */
static void
use_steps(void *context, const void *address)
{
    cwj_graph_code *code = context;
    const cwj_graph_decl *decl = address;
    for (int i = 0; i < code->decl->nsteps; i++) {
        __atomic_store_n(&code->steps[i], decl->steps[i], __ATOMIC_RELEASE);
    }
}

/* The same, for code that has no other compiler. The owner waits for the job, whose
 * lock orders this store and the read behind it. */
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
                              .fastmath = code->fastmath,
                              .keeps_state = alone,
                              .symbol = "cwj_graph",
                              .ready = alone ? use_decl : use_steps,
                              .context = code};
    tj_job *job = tj_job_new(code->environment, text, &options);
    if (job == NULL) {
        PyErr_NoMemory();
    }
    return job;
}

/* ---- the tier --------------------------------------------------------------- */

/* Returns 0 when nothing can come of it. Sets no exception. */
static int
start_job(cwj_module_state *state, cwj_graph_code *code)
{
    if (code->job != NULL) {
        return tj_job_start(code->job); /* a fork may have lost it, otherwise nothing happens */
    }
    const tj_compiler *compiler = cwj_compiler_find(state); /* may run Python code */
    if (!code->optimize || compiler == NULL || code->job != NULL || tj_unit_has_state(code->unit)) {
        return code->job != NULL;
    }
    tj_job *job = make_job(code, compiler, false);
    if (job == NULL) {
        PyErr_Clear();
        return 0;
    }
    code->job = job; /* before its start: what ready() changes belongs to it */
    return cwj_job_start(state, job);
}

void
cwj_graph_heat(cwj_module_state *state, cwj_graph_code *code, unsigned long long time)
{
    code->heat += time;
    if (code->heat < code->hot_at) {
        return;
    }
    code->hot_at = ULLONG_MAX; /* before Python code may run, which may call the graph */
    if (start_job(state, code) && tj_job_look(code->job) == TJ_JOB_STARTED) {
        code->hot_at = code->heat + CWJ_LOOK_TIME;
    }
}

int
cwj_graph_wait(cwj_module_state *state, cwj_graph_code *code, double seconds)
{
    if (code->unit == NULL) {
        return 1; /* an optimizing compiler made all of it */
    }
    return start_job(state, code) ? cwj_job_wait(code->job, seconds) : 0;
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

/* ---- a compiler that somebody insists on ----------------------------------------- */

static int
find_compiler(PyObject *command, tj_compiler *compiler, const char *who)
{
    const char *path = getenv("PATH");
    const char *wanted = PyUnicode_AsUTF8(command);
    tj_error error;
    if (wanted == NULL) {
        return -1;
    }
    tj_error_init(&error);
    tj_status status = tj_compiler_find(wanted, path == NULL ? "" : path, compiler, &error);
    if (status == TJ_NO_MEMORY) {
        PyErr_NoMemory();
    } else if (status != TJ_OK) {
        cwj_refuse(who, PyExc_RuntimeError, "c_compiler() says %R: %s", command,
                   error.text != NULL ? error.text : error.brief);
    }
    tj_error_clear(&error);
    return status == TJ_OK ? 0 : -1;
}

/* CompileError with what the compiler said. */
static void
raise_failure(const cwj_module_state *state, tj_job *job, PyObject *command, const char *who)
{
    char *failure = tj_job_failure(job);
    PyObject *text = PyUnicode_FromFormat("%s: the compiler %R: %s", who, command,
                                          failure != NULL ? failure : "failed");
    const char *utf8 = text == NULL ? NULL : PyUnicode_AsUTF8(text);
    if (utf8 != NULL) {
        cwj_raise_text(state, "", utf8);
    }
    Py_XDECREF(text);
    tj_free(failure);
}

int
cwj_graph_compile_with(cwj_module_state *state, cwj_graph_code *code, PyObject *command,
                       const char *who)
{
    tj_compiler compiler = {0};
    int status = -1;
    if (find_compiler(command, &compiler, who) < 0) {
        return -1;
    }
    code->job = make_job(code, &compiler, true);
    if (code->job == NULL) {
        goto done;
    }
    if (!cwj_job_start(state, code->job)) {
        PyErr_NoMemory();
        goto done;
    }
    int there = cwj_job_wait(code->job, -1.0);
    if (there == 0) {
        raise_failure(state, code->job, command, who);
    }
    status = there > 0 ? 0 : -1;
done:
    tj_compiler_clear(&compiler);
    return status;
}
