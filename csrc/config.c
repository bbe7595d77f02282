/* config.c: type Config, whose one instance is cwrapjit.config.
 *
 * An attribute that nobody set follows its environment variable, which is read
 * whenever it is asked for: setting it late works, and nothing is parsed at
 * import. None puts an attribute back to that.
 */
#include "config.h"

#include <stdlib.h>

#include "errors.h"

typedef struct {
    PyObject_HEAD PyObject *optimize; /* str, or NULL: not set */
    PyObject *threads;  /* int or str, or NULL */
    PyObject *compiler; /* str, or NULL */
    PyObject *processes; /* int, or NULL */
} config_object;

/* ---- the environment --------------------------------------------------- */

/* A new str, or NULL without exception when the variable is unset or empty. */
static PyObject *
environment_text(const char *variable)
{
    const char *text = getenv(variable);
    return text == NULL || text[0] == '\0' ? NULL : PyUnicode_DecodeFSDefault(text);
}

/* The number that text spells, or text itself. */
static PyObject *
number_or_text(PyObject *text)
{
    PyObject *number = PyLong_FromUnicodeObject(text, 10);
    if (number == NULL && PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear();
        return Py_NewRef(text);
    }
    return number;
}

/* ---- values in force --------------------------------------------------- */

static PyObject *
effective_optimize(const config_object *self)
{
    if (self->optimize != NULL) {
        return Py_NewRef(self->optimize);
    }
    PyObject *text = environment_text("CWRAPJIT_OPTIMIZE");
    if (text == NULL) {
        return PyErr_Occurred() ? NULL : PyUnicode_FromString("auto");
    }
    if (cwj_parse_optimize(text, "CWRAPJIT_OPTIMIZE") < 0) {
        Py_CLEAR(text);
    }
    return text;
}

/* What is set, else what the environment variable says, else 1. */
static PyObject *
effective_number(PyObject *set, const char *variable, int (*parse)(PyObject *, const char *))
{
    if (set != NULL) {
        return Py_NewRef(set);
    }
    PyObject *text = environment_text(variable);
    if (text == NULL) {
        return PyErr_Occurred() ? NULL : PyLong_FromLong(1);
    }
    PyObject *number = number_or_text(text);
    Py_DECREF(text);
    if (number != NULL && parse(number, variable) < 0) {
        Py_CLEAR(number);
    }
    return number;
}

static PyObject *
effective_threads(const config_object *self)
{
    return effective_number(self->threads, "CWRAPJIT_THREADS", cwj_parse_threads);
}

static PyObject *
effective_processes(const config_object *self)
{
    return effective_number(self->processes, "CWRAPJIT_PROCESSES", cwj_parse_processes);
}

int
cwj_config_processes(PyObject *config)
{
    PyObject *value = effective_processes((config_object *)config);
    int result = value == NULL ? -1 : cwj_parse_processes(value, "config");
    Py_XDECREF(value);
    return result;
}

int
cwj_config_optimize(PyObject *config)
{
    PyObject *value = effective_optimize((config_object *)config);
    int result = value == NULL ? -1 : cwj_parse_optimize(value, "config");
    Py_XDECREF(value);
    return result;
}

int
cwj_config_threads(PyObject *config)
{
    PyObject *value = effective_threads((config_object *)config);
    int result = value == NULL ? -1 : cwj_parse_threads(value, "config");
    Py_XDECREF(value);
    return result;
}

/* ---- attributes -------------------------------------------------------- */

PyObject *
cwj_config_compiler(PyObject *self)
{
    config_object *config = (config_object *)self;
    if (config->compiler != NULL) {
        return Py_NewRef(config->compiler);
    }
    PyObject *text = environment_text("CWRAPJIT_CC");
    return text != NULL || PyErr_Occurred() ? text : Py_NewRef(Py_None);
}

static void
replace(PyObject **member, PyObject *value)
{
    PyObject *fresh = value == NULL || value == Py_None ? NULL : Py_NewRef(value);
    Py_XSETREF(*member, fresh);
}

static PyObject *
get_optimize(PyObject *self, void *Py_UNUSED(closure))
{
    return effective_optimize((config_object *)self);
}

static int
set_optimize(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    if (value != NULL && value != Py_None && cwj_parse_optimize(value, "config") < 0) {
        return -1;
    }
    replace(&((config_object *)self)->optimize, value);
    return 0;
}

static PyObject *
get_threads(PyObject *self, void *Py_UNUSED(closure))
{
    return effective_threads((config_object *)self);
}

static int
set_threads(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    if (value != NULL && value != Py_None && cwj_parse_threads(value, "config") < 0) {
        return -1;
    }
    replace(&((config_object *)self)->threads, value);
    return 0;
}

static PyObject *
get_processes(PyObject *self, void *Py_UNUSED(closure))
{
    return effective_processes((config_object *)self);
}

static int
set_processes(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    if (value != NULL && value != Py_None && cwj_parse_processes(value, "config") < 0) {
        return -1;
    }
    replace(&((config_object *)self)->processes, value);
    return 0;
}

static PyObject *
get_compiler(PyObject *self, void *Py_UNUSED(closure))
{
    return cwj_config_compiler(self);
}

static int
set_compiler(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    if (value != NULL && value != Py_None && !PyUnicode_Check(value)) {
        return cwj_refuse("config", PyExc_TypeError, "compiler must be a str or None, not %s",
                          Py_TYPE(value)->tp_name);
    }
    replace(&((config_object *)self)->compiler, value);
    return 0;
}

static PyObject *
get_compiled_graphs(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLongLong(cwj_state_of(self)->compiled_graphs);
}

static PyGetSetDef config_getset[] = {
    {"optimize", get_optimize, set_optimize,
     "'auto', 'eager' or 'off': the optimizing tier; $CWRAPJIT_OPTIMIZE.", NULL},
    {"threads", get_threads, set_threads,
     "Threads of a call, or 'auto': as many as this process has processors; $CWRAPJIT_THREADS.\n\n"
     "A function that cannot run its slices side by side runs them in one thread: where slices\n"
     "may write to a cookie or to static data, may fail, print, or call into Python.",
     NULL},
    {"compiler", get_compiler, set_compiler,
     "The optimizing compiler's command, or None: what there is; $CWRAPJIT_CC.", NULL},
    {"processes", get_processes, set_processes,
     "Compilers that may run at a time, 1 to 64; $CWRAPJIT_PROCESSES.", NULL},
    {"compiled_graphs", get_compiled_graphs, NULL,
     "Units that link() compiled in this process; read-only.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* ---- the type ---------------------------------------------------------- */

static PyObject *
config_repr(PyObject *self)
{
    PyObject *text = NULL;
    PyObject *optimize = get_optimize(self, NULL);
    PyObject *threads = optimize == NULL ? NULL : get_threads(self, NULL);
    PyObject *compiler = threads == NULL ? NULL : get_compiler(self, NULL);
    if (compiler != NULL) {
        text = PyUnicode_FromFormat("<cwrapjit.config optimize=%R threads=%R compiler=%R>",
                                    optimize, threads, compiler);
    }
    Py_XDECREF(optimize);
    Py_XDECREF(threads);
    Py_XDECREF(compiler);
    return text;
}

static void
config_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    config_object *config = (config_object *)self;
    Py_XDECREF(config->optimize);
    Py_XDECREF(config->threads);
    Py_XDECREF(config->compiler);
    Py_XDECREF(config->processes);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyDoc_STRVAR(config_doc, "Defaults for the whole process; None puts one back to its default.");

static PyMethodDef config_methods[] = {
    {"__reduce__", cwj_refuse_pickle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot config_slots[] = {
    {Py_tp_dealloc, config_dealloc}, {Py_tp_repr, config_repr},       {Py_tp_getset, config_getset},
    {Py_tp_methods, config_methods}, {Py_tp_doc, (void *)config_doc}, {0, NULL},
};

static PyType_Spec config_spec = {
    .name = "cwrapjit.Config",
    .basicsize = sizeof(config_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = config_slots,
};

int
cwj_add_config(PyObject *extension, cwj_module_state *state)
{
    state->config_type = (PyTypeObject *)PyType_FromModuleAndSpec(extension, &config_spec, NULL);
    if (state->config_type == NULL) {
        return -1;
    }
    state->config = state->config_type->tp_alloc(state->config_type, 0);
    if (state->config == NULL) {
        return -1;
    }
    return PyModule_AddObjectRef(extension, "Config", (PyObject *)state->config_type) < 0
               ? -1
               : PyModule_AddObjectRef(extension, "config", state->config);
}
