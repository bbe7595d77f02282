/* travel.c: see travel.h. */
#include "function/travel.h"

#include "base/errors.h"
#include "base/tuples.h"
#include "function/function.h"
#include "function/module.h"
#include "function/spec_parts.h"

/* ---- description --------------------------------------------------------- */

/* Returns the files of sources as pairs (path, compiled text). */
static PyObject *
describe_sources(const cwj_environment *environment, PyObject *paths)
{
    Py_ssize_t count = PyTuple_GET_SIZE(paths);
    PyObject *sources = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count && sources != NULL; i++) {
        size_t length = 0;
        const char *text = tj_environment_source(environment->tj, (size_t)i, &length);
        cwj_tuple_fill(&sources, i,
                       Py_BuildValue("(Oy#)", PyTuple_GET_ITEM(paths, i), text == NULL ? "" : text,
                                     (Py_ssize_t)length));
    }
    return sources;
}

/* Returns the arguments that the functions of a module share: (header, CWJ_BUILD_LISTS). */
static PyObject *
describe_environment(cwj_environment *environment)
{
    if (environment->described == NULL) { /* kept: pickles of several functions share it */
        PyObject *lists = environment->build_args;
        PyObject *sources = describe_sources(environment, PyTuple_GET_ITEM(lists, 0));
        if (sources != NULL) {
            PyObject *described = Py_BuildValue(
                "(O(NOOOO))", environment->header, sources, PyTuple_GET_ITEM(lists, 1),
                PyTuple_GET_ITEM(lists, 2), PyTuple_GET_ITEM(lists, 3), PyTuple_GET_ITEM(lists, 4));
            Py_XSETREF(environment->described, described); /* a finalizer may have set it */
        }
    }
    return Py_XNewRef(environment->described);
}

/* Returns true if op is of the wanted type, or of the same type from an earlier import of the package. The
 * two types are different objects with the same C functions. */
static bool
is_one_of(PyObject *op, const PyTypeObject *wanted)
{
    const PyTypeObject *type = Py_TYPE(op);
    while (type != NULL && type->tp_repr != wanted->tp_repr) {
        type = type->tp_base;
    }
    return type != NULL;
}

PyDoc_STRVAR(build_of_doc, "build_of(module, /)\n--\n\n(environment, options)");

static PyObject *
build_of(PyObject *extension, PyObject *op)
{
    cwj_module_state *state = PyModule_GetState(extension);
    if (!is_one_of(op, state->module_type) || cwj_module_data_of(op)->environment == NULL) {
        cwj_refuse("build_of()", PyExc_TypeError, "%R is no module of cwrapjit that was made", op);
        return NULL;
    }
    const cwj_module_data *data = cwj_module_data_of(op);
    return Py_BuildValue("(NN)", describe_environment(data->environment),
                         cwj_options_describe(&data->options));
}

PyDoc_STRVAR(definition_of_doc, "definition_of(function, /)\n--\n\n"
                                "(module's name or None, environment, options, arguments)");

static PyObject *
definition_of(PyObject *extension, PyObject *op)
{
    cwj_module_state *state = PyModule_GetState(extension);
    if (!is_one_of(op, state->function_type)) {
        cwj_refuse_type("definition_of()", "function", "a Function", op);
        return NULL;
    }
    const cwj_function_object *self = (cwj_function_object *)op;
    /* First: code of Python must not run while an exception is set, by another item that failed. */
    PyObject *arguments =
        cwj_ask_python("cwrapjit._arguments", "again", "(sOO)", self->spec->tj.name,
                       self->spec->sets, self->definition != NULL ? self->definition : Py_None);
    return arguments == NULL ? NULL
                             : Py_BuildValue("(zNNN)", self->spec->tj.module,
                                             describe_environment(self->environment),
                                             cwj_options_describe(&self->chosen), arguments);
}

/* ---- creation -------------------------------------------------------------- */

/* Returns a new reference to the environment of a function or module; NULL without an exception for others. */
static cwj_environment *
environment_of(const cwj_module_state *state, PyObject *holder)
{
    cwj_environment *environment = NULL;
    if (Py_IS_TYPE(holder, state->function_type)) {
        environment = ((cwj_function_object *)holder)->environment;
    } else if (PyObject_TypeCheck(holder, state->module_type)) {
        environment = cwj_module_data_of(holder)->environment;
    }
    return environment == NULL ? NULL : cwj_environment_ref(environment);
}

/* Returns the environment of holder, or a new one from `described`, which is (header, lists), and the options. */
static cwj_environment *
take_environment(cwj_module_state *state, PyObject *holder, PyObject *described, PyObject *chosen,
                 PyObject *module)
{
    cwj_build build = {.math = PyDict_GetItemString(chosen, "math")}; /* borrowed here */
    cwj_environment *environment = environment_of(state, holder);
    if (environment != NULL) {
        return environment;
    }
    if (!PyArg_ParseTuple(described, "U(O!O!O!O!O!):module_again", &build.header, &PyTuple_Type,
                          &build.sources, &PyTuple_Type, &build.include_dirs, &PyTuple_Type,
                          &build.define_macros, &PyTuple_Type, &build.libraries, &PyTuple_Type,
                          &build.library_dirs)) {
        return NULL;
    }
    PyObject *who = PyUnicode_FromFormat("module %U", module);
    const char *text = who == NULL ? NULL : PyUnicode_AsUTF8(who);
    environment = text == NULL ? NULL : cwj_environment_new(state, &build, text);
    Py_XDECREF(who);
    return environment;
}

/* Reads options as function() takes them. Returns 0, or -1 with an exception set. */
static int
read_options(cwj_options *options, PyObject *dict)
{
    static char *names[] = {CWJ_OPTIONS(CWJ_NAME) NULL};
    static const char format[] = "|$" CWJ_OPTIONS(CWJ_LETTER) ":module";
    cwj_option_values values = {0};
    PyObject *none = PyTuple_New(0);
#define TARGET(name, ...) , &values.name
    int parsed =
        none != NULL && PyArg_ParseTupleAndKeywords(none, dict, format, names CWJ_OPTIONS(TARGET));
#undef TARGET
    Py_XDECREF(none);
    cwj_options_init(options);
    return parsed ? cwj_options_update(options, &values, "module()") : -1;
}

PyDoc_STRVAR(module_again_doc,
             "module_again(name, docstring, environment, holder, options, /)\n--\n\n"
             "A module without functions.");

static PyObject *
module_again(PyObject *extension, PyObject *args)
{
    cwj_module_state *state = PyModule_GetState(extension);
    PyObject *name, *docstring, *described, *holder, *chosen, *none, *module = NULL;
    cwj_environment *environment = NULL;
    cwj_options options;
    if (!PyArg_ParseTuple(args, "UOO!OO!:module_again", &name, &docstring, &PyTuple_Type,
                          &described, &holder, &PyDict_Type, &chosen)) {
        return NULL;
    }
    if (docstring != Py_None && !PyUnicode_Check(docstring)) {
        cwj_refuse_type("module()", "docstring", "a str", docstring);
        return NULL;
    }
    if (read_options(&options, chosen) < 0) {
        return NULL;
    }
    none = PyTuple_New(0);
    environment = none == NULL ? NULL : take_environment(state, holder, described, chosen, name);
    module =
        environment == NULL ? NULL : state->module_type->tp_new(state->module_type, none, NULL);
    if (module != NULL && cwj_module_set_up(module, name, docstring, environment, &options) < 0) {
        Py_CLEAR(module);
    }
    cwj_environment_unref(environment);
    Py_XDECREF(none);
    return module;
}

PyMethodDef cwj_travel_functions[] = {
    {"build_of", build_of, METH_O, build_of_doc},
    {"module_again", module_again, METH_VARARGS, module_again_doc},
    {"definition_of", definition_of, METH_O, definition_of_doc},
    {NULL, NULL, 0, NULL},
};
