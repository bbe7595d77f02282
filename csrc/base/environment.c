/* environment.c: creates a tj_environment from module()'s arguments that concern C.
 *
 * Python encodes paths and macros as bytes, and finds the libraries (cwrapjit/_build.py). The bytes live until the
 * sources are compiled; the tj_environment has its own copies. */
#include "base/environment.h"

#include "base/diagnosis.h"
#include "base/config.h"
#include "base/errors.h"
#include "base/symbols.h"

/* ---- arguments --------------------------------------------------------- */

int
cwj_build_pop(cwj_build *build, PyObject *kwargs)
{
#define POP(name)                                                           \
    build->name = PyObject_CallMethod(kwargs, "pop", "sO", #name, Py_None); \
    if (build->name == NULL) {                                              \
        return -1;                                                          \
    }
    POP(header)
    CWJ_BUILD_LISTS(POP)
#undef POP
    return 0;
}

void
cwj_build_clear(cwj_build *build)
{
#define CLEAR(name) Py_CLEAR(build->name);
    CLEAR(header)
    CWJ_BUILD_LISTS(CLEAR)
#undef CLEAR
}

/* ---- the environment --------------------------------------------------- */

PyObject *
cwj_find_libraries(const char *who, PyObject *names, PyObject *dirs)
{
    return cwj_ask_python("cwrapjit._build", "find_libraries", "(sOO)", who, names, dirs);
}

const char **
cwj_texts_in(PyObject *tuple)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    const char **texts = cwj_allocate((size_t)count + 1, sizeof(*texts));
    for (Py_ssize_t i = 0; i < count && texts != NULL; i++) {
        char *text;
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(tuple, i), &text, NULL) < 0) {
            PyMem_Free(texts);
            return NULL;
        }
        texts[i] = text;
    }
    return texts;
}

/* Returns the texts, borrowed from the bytes; empty for None. Owned (PyMem_Free), or NULL with an exception set. */
static tj_piece *
pieces_in(PyObject *sources, PyObject *texts)
{
    Py_ssize_t count = PyTuple_GET_SIZE(texts);
    tj_piece *pieces = cwj_allocate((size_t)count + 1, sizeof(*pieces));
    if (pieces == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count && i < PyTuple_GET_SIZE(sources); i++) {
        PyObject *text = PyTuple_GET_ITEM(texts, i);
        if (PyBytes_Check(text)) {
            pieces[i] = (tj_piece){PyBytes_AS_STRING(PyTuple_GET_ITEM(sources, i)),
                                   PyBytes_AS_STRING(text), (size_t)PyBytes_GET_SIZE(text)};
        }
    }
    return pieces;
}

/* Compiles and loads, without the GIL. Returns 0, or -1 with an exception. */
static int
build_environment(cwj_environment *self, const cwj_module_state *state,
                  tj_environment_options *options, const char *who)
{
    tj_messages messages = {0};
    tj_error error;
    tj_status status;
    if (cwj_symbols_offer(options) < 0 || cwj_config_limit(state->config) < 0) {
        return -1;
    }
    tj_error_init(&error);

    Py_BEGIN_ALLOW_THREADS
    status = tj_environment_new(options, &self->tj, &messages, &error);
    Py_END_ALLOW_THREADS

    return cwj_report(who, status, &messages, &error);
}

/* Sets options->text, for which `text` is the storage. Returns 0, or -1 with an exception. */
static int
take_text(const cwj_build *build, tj_environment_options *options, tj_piece *text)
{
    Py_ssize_t length;
    if (build->text == NULL) {
        return 0;
    }
    const char *bytes = PyUnicode_AsUTF8AndSize(build->text, &length);
    if (bytes == NULL) {
        return -1;
    }
    *text = (tj_piece){build->text_file, bytes, (size_t)length};
    options->text = text;
    return 0;
}

/* Returns 1 for libm's functions of mathematics, 0 for ours, or -1 with an exception. Front ends refuse other values of
 * the option, with their own names. */
static int
uses_libm(const cwj_module_state *state, PyObject *math)
{
    if (cwj_given(math)) {
        return PyUnicode_Check(math) && PyUnicode_CompareWithASCIIString(math, "libm") == 0;
    }
    int chosen = cwj_config_number(state->config, CWJ_SETTING_MATH);
    return chosen < 0 ? -1 : chosen == CWJ_MATH_LIBM;
}

/* Fills a new environment. Returns 0, or -1 with an exception. */
static int
fill(cwj_environment *self, cwj_module_state *state, const cwj_build *build, const char *who)
{
    PyObject *sources, *texts, *include_dirs, *define_macros, *libraries;
    tj_environment_options options = {0};
    tj_piece text, *source_texts = NULL;
    int status = -1;
    bool has_header = build->header != NULL && build->header != Py_None;
    if (has_header && !PyUnicode_Check(build->header)) {
        return cwj_refuse_type(who, "header", "a str", build->header);
    }
    int libm = uses_libm(state, build->math);
    if (libm < 0) {
        return -1;
    }
    options.libm = libm;
    options.interruptible = build->interruptible;
    self->header = has_header ? Py_NewRef(build->header) : PyUnicode_FromString("");
    /* cwrapjit._build.encode() describes the lists. */
#define GIVEN(name) , build->name == NULL ? Py_None : build->name
    PyObject *lists = self->header == NULL ? NULL
                                           : cwj_ask_python("cwrapjit._build", "encode",
                                                            "(s" CWJ_BUILD_LISTS(CWJ_LETTER) ")",
                                                            who CWJ_BUILD_LISTS(GIVEN));
#undef GIVEN
    if (lists != NULL && take_text(build, &options, &text) == 0 &&
        PyArg_ParseTuple(lists, "O!O!O!O!O!O", &PyTuple_Type, &sources, &PyTuple_Type, &texts,
                         &PyTuple_Type, &include_dirs, &PyTuple_Type, &define_macros, &PyTuple_Type,
                         &libraries, &self->build_args) &&
        (options.sources = cwj_texts_in(sources)) != NULL &&
        (options.source_texts = source_texts = pieces_in(sources, texts)) != NULL &&
        (options.include_dirs = cwj_texts_in(include_dirs)) != NULL &&
        (options.define_macros = cwj_texts_in(define_macros)) != NULL &&
        (options.libraries = cwj_texts_in(libraries)) != NULL && cwj_backend_open(state) == 0) {
        status = build_environment(self, state, &options, who);
    }
    Py_XINCREF(self->build_args);
    Py_XDECREF(lists);
    PyMem_Free((void *)options.sources);
    PyMem_Free(source_texts);
    PyMem_Free((void *)options.include_dirs);
    PyMem_Free((void *)options.define_macros);
    PyMem_Free((void *)options.libraries);
    return status;
}

cwj_environment *
cwj_environment_new(cwj_module_state *state, const cwj_build *build, const char *who)
{
    cwj_environment *self = cwj_allocate(1, sizeof(*self));
    if (self == NULL) {
        return NULL;
    }
    self->references = 1;
    if (fill(self, state, build, who) < 0) {
        cwj_environment_unref(self);
        return NULL;
    }
    return self;
}

cwj_environment *
cwj_environment_ref(cwj_environment *environment)
{
    environment->references++;
    return environment;
}

void
cwj_environment_unref(cwj_environment *environment)
{
    if (environment == NULL || --environment->references > 0) {
        return;
    }
    cwj_diagnosis_clear(environment);
    tj_environment_free(environment->tj);
    Py_XDECREF(environment->header);
    Py_XDECREF(environment->header_file);
    Py_XDECREF(environment->build_args);
    Py_XDECREF(environment->described);
    PyMem_Free(environment);
}

/* ---- libtcc ------------------------------------------------------------ */

int
cwj_backend_open(cwj_module_state *state)
{
    if (state->backend_open) {
        return 0;
    }
    PyObject *paths = cwj_ask_python("cwrapjit._paths", "backend", "()");
    const char *libtcc, *lib_dir, *include_dir;
    tj_error error;
    int result = -1;
    tj_error_init(&error);
    if (paths == NULL || !PyArg_ParseTuple(paths, "yyy", &libtcc, &lib_dir, &include_dir)) {
        goto done;
    }
    tj_status status;
    Py_BEGIN_ALLOW_THREADS
    status = tj_backend_open(libtcc, lib_dir, include_dir, &error);
    Py_END_ALLOW_THREADS
    if (status != TJ_OK) {
        cwj_raise("cwrapjit", &error, NULL);
        goto done;
    }
    state->backend_open = true;
    result = 0;
done:
    Py_XDECREF(paths);
    tj_error_clear(&error);
    return result;
}
