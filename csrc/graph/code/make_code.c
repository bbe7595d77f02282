/* make_code.c: compiles the description of a graph to code in memory: by libtcc, unless a type or an op insists on a
 * compiler (tier.c). */
#include "graph/code/code.h"

#include "base/config.h"
#include "base/environment.h"
#include "base/errors.h"
#include "base/symbols.h"
#include "base/heat.h"
#include "graph/code/guarded.h"
#include "base/raised.h"
#include "graph/code/tier.h"

#include <limits.h>
#include <string.h>

/* ---- new code ------------------------------------------------------------ */

static cwj_graph_code *
new_code(const cwj_graph_request *request)
{
    cwj_graph_code *code = cwj_allocate(1, sizeof(*code));
    if (code == NULL) {
        return NULL;
    }
    code->references = 1;
    code->fastmath = request->fastmath;
    code->optimize = request->optimize && request->compiler == NULL;
    code->checks = code->looks = request->checks && request->compiler == NULL;
    code->hot_at = code->optimize ? CWJ_HOT_TIME : ULLONG_MAX;
    code->compiler =
        request->compiler != NULL ? Py_NewRef(request->compiler) : PyUnicode_FromString("tcc");
    code->who = PyUnicode_FromString(request->graph->name);
    if (code->compiler == NULL || code->who == NULL) {
        cwj_graph_code_unref(code);
        return NULL;
    }
    return code;
}

/* ---- compiling ------------------------------------------------------------- */

static int
make_environment(cwj_module_state *state, const cwj_graph_request *request, cwj_graph_code *code)
{
    tj_environment_options options = *request->environment;
    options.libm = request->libm;
    tj_messages messages = {0};
    tj_error error;
    tj_status status;
    PyObject *files = cwj_find_libraries(request->who, request->libraries, request->library_dirs);
    options.libraries = files == NULL ? NULL : cwj_texts_in(files);
    if (options.libraries == NULL || cwj_symbols_offer(&options) < 0 ||
        cwj_config_limit(state->config) < 0) {
        PyMem_Free((void *)options.libraries);
        Py_XDECREF(files);
        return -1;
    }
    tj_error_init(&error);
    Py_BEGIN_ALLOW_THREADS
    status = tj_environment_new(&options, &code->environment, &messages, &error);
    Py_END_ALLOW_THREADS
    PyMem_Free((void *)options.libraries);
    Py_DECREF(files);
    return cwj_report(request->who, status, &messages, &error);
}

/* Sets code->source and code->decl, and code->unit if libtcc compiles it, not a compiler that a type or an op insists
 * on. Returns 0, or -1 with an exception set. */
static int
compile(cwj_module_state *state, const cwj_graph_request *request, cwj_graph_code *code)
{
    char *source = NULL;
    tj_messages messages = {0};
    tj_error error;
    tj_status status;
    tj_error_init(&error);
    Py_BEGIN_ALLOW_THREADS
    status =
        tj_graph_define(code->environment, request->graph,
                        request->compiler == NULL ? &code->unit : NULL, &source, &messages, &error);
    Py_END_ALLOW_THREADS
    int result = cwj_report(request->who, status, &messages, &error);
    if (result == 0) {
        const char *text = source == NULL ? "" : source;
        code->source = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
        result = code->source == NULL ? -1 : 0;
    }
    tj_free(source);
    if (result == 0 && request->compiler != NULL) {
        return cwj_graph_compile_with(state, code, request->compiler, request->who);
    }
    if (result == 0) {
        code->decl = tj_unit_symbol(code->unit, "cwj_graph");
    }
    return result;
}

/* ---- binding ------------------------------------------------------------------ */

static int
copy_steps(cwj_graph_code *code)
{
    int count = code->decl->nsteps;
    code->steps = cwj_allocate((size_t)count + 1, sizeof(*code->steps));
    if (code->steps == NULL) {
        return -1;
    }
    for (int i = 0; i < count; i++) {
        code->steps[i] = code->decl->steps[i];
    }
    return 0;
}

/* Runs the init code of all types and ops, once per code. */
static int
load(cwj_graph_code *code, const cwj_graph_request *request)
{
    bool failed =
        code->decl->load != NULL &&
        cwj_graph_call_code(code, (cwj_graph_call){.run = (void (*)(void))code->decl->load}) != 0;
    if (!failed && !PyErr_Occurred()) {
        return 0;
    }
    if (!PyErr_Occurred()) {
        cwj_refuse(request->who, PyExc_RuntimeError,
                   "c_init_code failed, but no Python exception was set");
        return -1;
    }
    PyObject *exception = cwj_raised_take();
    cwj_raised_again(exception, PyUnicode_FromFormat("in c_init_code of %s", request->graph->name));
    return -1;
}

cwj_graph_code *
cwj_graph_code_new(cwj_module_state *state, const cwj_graph_request *request)
{
    cwj_graph_code *code = cwj_backend_open(state) < 0 ? NULL : new_code(request);
    if (code == NULL || make_environment(state, request, code) < 0 ||
        compile(state, request, code) < 0) {
        cwj_graph_code_unref(code);
        return NULL;
    }
    state->compiled_graphs++;
    if (code->decl == NULL) {
        cwj_refuse(request->who, PyExc_RuntimeError, "the compiled text lacks its own descriptor");
    }
    if (code->decl == NULL || copy_steps(code) < 0 ||
        (request->debug && cwj_graph_guard_init(state, code) < 0) || load(code, request) < 0) {
        cwj_graph_code_unref(code);
        return NULL;
    }
    return code;
}
