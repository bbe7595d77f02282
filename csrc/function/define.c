/* define.c: turns the arguments of function() into a callable.
 *
 *     parse -> spec -> options -> tj_define (without the GIL) -> Function
 *
 * While the GIL is released, the texts are read from str objects that the spec holds. No other
 * thread can reach the spec yet.
 */
#include "base/config.h"
#include "base/errors.h"
#include "base/live.h"
#include "function/place.h"
#include "function/blueprint.h"
#include "function/function.h"
#include "os/clock.h"

/* ---- arguments --------------------------------------------------------- */

static int
parse_arguments(cwj_arguments *arguments, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", CWJ_POSITIONAL(CWJ_NAME) CWJ_BY_KEYWORD(CWJ_NAME)
                                        CWJ_OPTIONS(CWJ_NAME) NULL};
    static const char format[] = "O|" CWJ_POSITIONAL(CWJ_LETTER) "$" CWJ_BY_KEYWORD(CWJ_LETTER)
        CWJ_OPTIONS(CWJ_LETTER) ":function";
#define TARGET(name, ...) , &arguments->name
#define OPTION_TARGET(name, ...) , &arguments->options.name
    int parsed = PyArg_ParseTupleAndKeywords(
        args, kwargs, format, names,
        &arguments->name CWJ_POSITIONAL(TARGET) CWJ_BY_KEYWORD(TARGET) CWJ_OPTIONS(OPTION_TARGET));
#undef OPTION_TARGET
#undef TARGET
    return parsed ? 0 : cwj_options_refuse("function()", kwargs, names);
}

/* Returns the docstring, a str or None: a new reference, or NULL with TypeError set. */
static PyObject *
take_docstring(const cwj_spec *spec, PyObject *docstring)
{
    if (docstring == NULL) {
        return PyUnicode_FromString("");
    }
    if (docstring != Py_None && !PyUnicode_Check(docstring)) {
        cwj_refuse_type(spec->who, "docstring", "a str", docstring);
        return NULL;
    }
    return Py_NewRef(docstring);
}

/* chosen: the options without the process' defaults. */
static int
take_options(cwj_spec *spec, cwj_options *options, cwj_options *chosen, cwj_module_state *state,
             const cwj_option_values *values)
{
    if (cwj_options_update(options, values, spec->who) < 0) {
        return -1;
    }
    *chosen = *options;
    if (cwj_options_finish(options, state) < 0) {
        return -1;
    }
    spec->tj.flags |= (options->inplace == 1 ? CWJ_INPLACE : 0) |
                      (options->cast == 1   ? CWJ_CAST_SAFE
                       : options->cast == 2 ? CWJ_CAST_SAME_KIND
                                            : 0) |
                      (options->gil == 0 ? CWJ_RELEASE_GIL | CWJ_GIL_ALWAYS : 0) |
                      (options->warns == 1 ? CWJ_WARN_COPIES : 0) |
                      (options->unordered == 1 ? CWJ_UNORDERED : 0);
    spec->tj.threads = options->threads;
    spec->tj.checked = options->debug != CWJ_DEBUG_OFF;
    spec->tj.cookie_readonly = options->cookie_readonly == 1;
    return 0;
}

/* ---- threads ----------------------------------------------------------- */

/* Called if slices cannot run in parallel, for the reason `why`. Sets one thread if threads= is
 * only the process' default; otherwise raises ValueError. Returns 0 or -1. */
static int
decline_threads(cwj_spec *spec, const cwj_options *options, const char *why)
{
    if (options->threads_by_default) {
        spec->tj.threads = 1;
        return 0;
    }
    char threads[16] = "'auto'";
    if (options->threads != CWJ_THREADS_AUTO) {
        PyOS_snprintf(threads, sizeof(threads), "%d", options->threads);
    }
    return cwj_refuse(spec->who, PyExc_ValueError,
                      "threads=%s needs slices that can run side by side, but %s", threads, why);
}

/* Checks that need no compiled code. */
static int
check_threads(cwj_spec *spec, const cwj_options *options)
{
    for (int k = 0; k < spec->tj.noperands && spec->tj.threads != 1; k++) {
        if (spec->tj.operands[k].role == TJ_SHARED && options->unordered != 1) {
            return decline_threads(spec, options,
                                   "they share an argument that each of them may write to; "
                                   "unordered=True says that this is safe");
        }
    }
    if (spec->tj.threads == 1 || spec->tj.cookie.length == 0 || spec->tj.cookie_readonly) {
        return 0;
    }
    return decline_threads(spec, options,
                           "they share a cookie struct that each of them may write to; "
                           "cookie='readonly' makes it const in slices");
}

/* Checks that need the compiled code. Explicit threads mean that the order of slices does not matter. */
static int
settle_threads(cwj_spec *spec, const cwj_options *options, const tj_unit *unit)
{
    int unordered = options->unordered == 1;
    if (spec->tj.threads == 1) {
        return 0;
    }
    if (!(spec->tj.flags & CWJ_RELEASE_GIL)) {
        return decline_threads(spec, options,
                               options->gil == 1 ? "gil=True keeps the GIL while they run"
                                                 : "they call into Python, which keeps the GIL");
    }
    if (tj_unit_has_state(unit) && (options->threads_by_default || !unordered)) {
        return decline_threads(spec, options,
                               "the C code has static or global variables that they may write "
                               "to; unordered=True says that this is safe");
    }
    if (!options->threads_by_default) {
        spec->tj.flags |= CWJ_UNORDERED;
    }
    return 0;
}

/* ---- compiling --------------------------------------------------------- */

/* *ns: compile time. Returns 0, or -1 with an exception set and code cleared. */
static int
compile(tj_function *code, const cwj_module_state *state, cwj_environment *environment,
        const cwj_spec *spec, unsigned long long *ns)
{
    tj_messages messages = {0};
    tj_error error;
    tj_status status;
    int result = -1;
    if (cwj_config_limit(state->config) < 0) {
        return -1;
    }
    tj_error_init(&error);

    Py_BEGIN_ALLOW_THREADS
    *ns = tj_clock_ns();
    status = tj_define(environment->tj, &spec->tj, code, &messages, &error);
    *ns = tj_clock_ns() - *ns;
    Py_END_ALLOW_THREADS

    if (status == TJ_COMPILE_FAILED && tj_messages_have_error(&messages)) {
        cwj_raise_object(cwj_compile_error(&messages, spec->read));
    } else if (status != TJ_OK) {
        cwj_raise(spec->who, &error, &messages);
    } else if (cwj_check_extras(spec, code->decl) == 0) {
        result = cwj_warn(&messages);
    }
    if (result < 0) {
        tj_function_clear(code);
    }
    tj_messages_clear(&messages);
    tj_error_clear(&error);
    return result;
}

/* ---- the object -------------------------------------------------------- */

/* Returns the function's __dict__, with the attributes that Python functions also have. */
static PyObject *
make_dict(const cwj_spec *spec, PyObject *module_name, PyObject *docstring)
{
    PyObject *module =
        module_name != NULL ? Py_NewRef(module_name) : PyUnicode_FromString("cwrapjit");
    return Py_BuildValue("{sssssOsN}", "__name__", spec->tj.name, "__qualname__", spec->tj.name,
                         "__doc__", docstring, "__module__", module);
}

/* Takes over code, spec and dict, and frees them on failure. */
static PyObject *
make_function(const cwj_module_state *state, cwj_environment *environment, tj_function *code,
              cwj_spec *spec, PyObject *dict, const cwj_options *options)
{
    PyTypeObject *type = state->function_type;
    cwj_function_object *self = (cwj_function_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        tj_function_clear(code);
        cwj_spec_free(spec);
        Py_DECREF(dict);
        return NULL;
    }
    cwj_live_counts[CWJ_LIVE_FUNCTIONS]++;
    self->vectorcall = cwj_function_call;
    self->environment = cwj_environment_ref(environment);
    self->code = *code;
    self->spec = spec;
    self->dict = dict;
    if (options->gil == CWJ_UNSET && !tj_unit_uses_host(self->code.unit)) {
        spec->tj.flags |= CWJ_RELEASE_GIL; /* m.write() emits this result */
    }
    if ((options->debug != CWJ_DEBUG_OFF &&
         cwj_debugged_init(self, options->debug == CWJ_DEBUG_LEFT) < 0) ||
        cwj_runtime_init(&self->runtime,
                         self->checked != NULL ? &self->checked->decl : self->code.decl) < 0 ||
        settle_threads(spec, options, self->code.unit) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    spec->tj.apart = self->code.apart;
    spec->tj.flags |= self->code.orderless ? CWJ_UNORDERED | CWJ_SILENT : 0;
    self->runtime.flags = spec->tj.flags;
    self->runtime.threads = spec->tj.threads;
    cwj_foreign_init(self);
    self->runtime.left = cwj_function_left;
    self->runtime.watcher = cwj_state_of((PyObject *)self)->watcher;
    if (self->checked != NULL) {
        cwj_debugged_start(self);
    }
    if (cwj_tiers_init(self, options) < 0 ||
        (options->optimize == CWJ_OPTIMIZE_EAGER && cwj_tiers_wait(self, -1.0) < 0)) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

PyObject *
cwj_function_define(cwj_module_state *state, cwj_environment *environment, PyObject *module_name,
                    const cwj_options *defaults, PyObject *args, PyObject *kwargs)
{
    cwj_arguments arguments = {0};
    cwj_options options = *defaults, chosen;
    tj_function code = {0};
    cwj_spec *spec = NULL;
    PyObject *docstring = NULL, *dict = NULL, *definition = NULL, *function = NULL;
    unsigned long long defined_ns;

    if (parse_arguments(&arguments, args, kwargs) < 0) {
        goto done;
    }
    spec = cwj_spec_new(module_name, environment->header, &arguments);
    if (spec == NULL || take_options(spec, &options, &chosen, state, &arguments.options) < 0 ||
        check_threads(spec, &options) < 0) {
        goto done;
    }
    spec->tj.fastmath = options.fastmath == 1;
    spec->tj.libm = options.math == CWJ_MATH_LIBM;
    spec->tj.says_libm = spec->tj.libm != tj_environment_uses_libm(environment->tj);
    definition = cwj_blueprint_new(&arguments);
    docstring = definition == NULL ? NULL : take_docstring(spec, arguments.docstring);
    dict = docstring == NULL ? NULL : make_dict(spec, module_name, docstring);
    if (dict == NULL || compile(&code, state, environment, spec, &defined_ns) < 0) {
        goto done;
    }
    function = make_function(state, environment, &code, spec, dict, &options);
    spec = NULL; /* taken over */
    dict = NULL;
    if (function != NULL) {
        ((cwj_function_object *)function)->definition = Py_NewRef(definition);
        ((cwj_function_object *)function)->chosen = chosen;
        ((cwj_function_object *)function)->defined_ns = defined_ns;
    }
    if (function != NULL && cwj_address_take((cwj_function_object *)function) < 0) {
        Py_CLEAR(function);
    }
done:
    cwj_spec_free(spec);
    Py_XDECREF(definition);
    Py_XDECREF(docstring);
    Py_XDECREF(dict);
    return function;
}

/* ---- without a module ---------------------------------------------------- */

const char cwj_function_doc[] =
    "function(name, " CWJ_POSITIONAL_DOC ", *, header='',\n"
    "         sources=(), include_dirs=(), define_macros=(), libraries=(), library_dirs=(),\n"
    "         " CWJ_BY_KEYWORD_DOC ")\n"
    "--\n\n"
    "Compile a broadcasting function that belongs to no module.\n\n"
    "Takes what module.function() takes, and what module() takes for the C side: header, sources,\n"
    "include_dirs, define_macros, libraries, library_dirs.";

PyObject *
cwj_function(PyObject *extension, PyObject *args, PyObject *kwargs)
{
    PyObject *function = NULL, *rest = NULL;
    cwj_environment *environment = NULL;
    cwj_module_state *state = PyModule_GetState(extension);
    cwj_build build = {0};
    cwj_options defaults;
    cwj_options_init(&defaults);

    rest = kwargs == NULL ? PyDict_New() : PyDict_Copy(kwargs);
    if (rest == NULL || cwj_build_pop(&build, rest) < 0) {
        goto done;
    }
    build.math = PyDict_GetItemString(rest, "math");
    environment = cwj_environment_new(state, &build, "function()");
    if (environment != NULL) {
        function = cwj_function_define(state, environment, NULL, &defaults, args, rest);
    }
done:
    cwj_environment_unref(environment);
    cwj_build_clear(&build);
    Py_XDECREF(rest);
    return function;
}
