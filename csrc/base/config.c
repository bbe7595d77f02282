/* config.c: type Config, whose only instance is cwrapjit.config.
 *
 * A setting that was not assigned follows its environment variable, also after None was assigned to it. The
 * variable is read at each use, so it may be set late, and nothing is parsed at import. */
#include "base/config.h"

#include <stdlib.h>

#include "base/errors.h"

typedef struct {
    PyObject_HEAD
    PyObject *chosen[CWJ_NSETTINGS]; /* owned; NULL: not set */
} config_object;

/* ---- the settings ------------------------------------------------------ */

typedef struct setting {
    const char *name;
    const char *variable;
    /* Converts the environment variable's text; returns a new reference. */
    PyObject *(*of_text)(PyObject *text, const char *variable);
    /* Returns the value as a C number, or -1 with an exception if it is invalid. */
    int (*parse)(PyObject *value, const char *who);
    const char *usual; /* default text; NULL: None */
    const char *doc;
} setting;

static PyObject *
text_itself(PyObject *text, const char *Py_UNUSED(variable))
{
    return Py_NewRef(text);
}

/* Converts text to an int if it is a number; otherwise returns text itself. */
static PyObject *
number_or_text(PyObject *text, const char *Py_UNUSED(variable))
{
    PyObject *number = PyLong_FromUnicodeObject(text, 10);
    if (number == NULL && cwj_clear_expected(PyExc_ValueError, NULL)) {
        return Py_NewRef(text);
    }
    return number;
}

static PyObject *
debug_of_text(PyObject *text, const char *variable)
{
    if (PyUnicode_CompareWithASCIIString(text, "0") == 0) {
        Py_RETURN_FALSE;
    }
    if (PyUnicode_CompareWithASCIIString(text, "1") == 0) {
        Py_RETURN_TRUE;
    }
    if (PyUnicode_CompareWithASCIIString(text, "left") == 0) {
        return Py_NewRef(text);
    }
    cwj_refuse(variable, PyExc_ValueError, "debug must be 0, 1 or left, not '%U'", text);
    return NULL;
}

static int
parse_compiler(PyObject *value, const char *who)
{
    return value == Py_None || PyUnicode_Check(value)
               ? 0
               : cwj_refuse_type(who, "compiler", "a str or None", value);
}

static const setting settings[] = {
    [CWJ_SETTING_OPTIMIZE] = {"optimize", "CWRAPJIT_OPTIMIZE", text_itself, cwj_parse_optimize,
                              "auto",
                              "'auto', 'eager' or 'off': the cc tier; "
                              "$CWRAPJIT_OPTIMIZE."},
    [CWJ_SETTING_THREADS] =
        {"threads", "CWRAPJIT_THREADS", number_or_text, cwj_parse_threads, "1",
         "Threads of a call, or 'auto': as many as this process has processors; "
         "$CWRAPJIT_THREADS.\n\n"
         "A function that cannot run its slices side by side runs them in one thread: where "
         "slices\n"
         "may write to a cookie or to static data, may fail, print, or call into Python."},
    [CWJ_SETTING_COMPILER] = {"compiler", "CWRAPJIT_CC", text_itself, parse_compiler, NULL,
                              "The system compiler's command, or None: what there is; "
                              "$CWRAPJIT_CC."},
    [CWJ_SETTING_PROCESSES] = {"processes", "CWRAPJIT_PROCESSES", number_or_text,
                               cwj_parse_processes, "1",
                               "Compilers that may run at a time, 1 to 64; "
                               "$CWRAPJIT_PROCESSES."},
    [CWJ_SETTING_DEBUG] = {"debug", "CWRAPJIT_DEBUG", debug_of_text, cwj_parse_debug, "0",
                           "Whether functions, graphs and library functions are checked: see "
                           "debug=True;\n$CWRAPJIT_DEBUG."},
    [CWJ_SETTING_COMPILE_MEMORY] = {"compile_memory", "CWRAPJIT_COMPILE_MEMORY", number_or_text,
                                    cwj_parse_compile_memory, "1073741824",
                                    "Bytes that compiling one text may hold, its data among them; "
                                    "$CWRAPJIT_COMPILE_MEMORY.\n\n"
                                    "What takes more is refused with MemoryError."},
    [CWJ_SETTING_MATH] = {"math", "CWRAPJIT_MATH", text_itself, cwj_parse_math, "cwrapjit",
                          "Whose functions of mathematics C calls, 'cwrapjit' or 'libm'; "
                          "$CWRAPJIT_MATH."},
};
_Static_assert(TJ_COMPILE_MEMORY == 1073741824, "the usual text above");
_Static_assert(sizeof settings / sizeof *settings == CWJ_NSETTINGS, "one for each");

/* ---- values in force --------------------------------------------------- */

/* Returns the value that was assigned, else that of the environment variable, else the default. */
PyObject *
cwj_config_value(PyObject *config, cwj_setting which)
{
    const setting *this = &settings[which];
    PyObject *chosen = ((config_object *)config)->chosen[which];
    if (chosen != NULL) {
        return Py_NewRef(chosen);
    }
    const char *said = getenv(this->variable);
    said = said == NULL || said[0] == '\0' ? this->usual : said;
    if (said == NULL) {
        Py_RETURN_NONE;
    }
    PyObject *text = PyUnicode_DecodeFSDefault(said);
    PyObject *value = text == NULL ? NULL : this->of_text(text, this->variable);
    Py_XDECREF(text);
    if (value != NULL && this->parse(value, this->variable) < 0) {
        Py_CLEAR(value);
    }
    return value;
}

int
cwj_config_number(PyObject *config, cwj_setting which)
{
    PyObject *value = cwj_config_value(config, which);
    int number = value == NULL ? -1 : settings[which].parse(value, "config");
    Py_XDECREF(value);
    return number;
}

int
cwj_config_limit(PyObject *config)
{
    int bytes = cwj_config_number(config, CWJ_SETTING_COMPILE_MEMORY);
    if (bytes < 0 || cwj_config_number(config, CWJ_SETTING_PROCESSES) < 0) {
        return -1;
    }
    tj_set_compile_memory((size_t)bytes);
    return 0;
}

/* ---- attributes -------------------------------------------------------- */

static cwj_setting
setting_of(void *closure)
{
    return (cwj_setting)((const setting *)closure - settings);
}

static PyObject *
get_setting(PyObject *self, void *closure)
{
    return cwj_config_value(self, setting_of(closure));
}

static int
set_setting(PyObject *self, PyObject *value, void *closure)
{
    const setting *this = closure;
    PyObject *fresh = NULL;
    if (value != NULL && value != Py_None) {
        int number = this->parse(value, "config");
        if (number < 0) {
            return -1;
        }
        /* Do not store objects whose __index__ may return another value later, or raise. */
        fresh = PyUnicode_Check(value) || PyBool_Check(value) ? Py_NewRef(value)
                                                              : PyLong_FromLong(number);
        if (fresh == NULL) {
            return -1;
        }
    }
    Py_XSETREF(((config_object *)self)->chosen[setting_of(closure)], fresh);
    return 0;
}

static PyObject *
get_compiled_graphs(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLongLong(cwj_state_of(self)->compiled_graphs);
}

/* Filled when the type is created: one row per setting. */
static PyGetSetDef config_getset[CWJ_NSETTINGS + 2];

/* ---- the type ---------------------------------------------------------- */

static PyObject *
config_repr(PyObject *self)
{
    PyObject *text = PyUnicode_FromString("<cwrapjit.config");
    for (int i = 0; i < CWJ_NSETTINGS && text != NULL; i++) {
        PyObject *value = cwj_config_value(self, (cwj_setting)i);
        Py_SETREF(text, value == NULL
                            ? NULL
                            : PyUnicode_FromFormat("%U %s=%R", text, settings[i].name, value));
        Py_XDECREF(value);
    }
    PyObject *whole = text == NULL ? NULL : PyUnicode_FromFormat("%U>", text);
    Py_XDECREF(text);
    return whole;
}

static void
config_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    config_object *config = (config_object *)self;
    for (int i = 0; i < CWJ_NSETTINGS; i++) {
        Py_XDECREF(config->chosen[i]);
    }
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

static CWJ_TYPE(config_spec, "cwrapjit.Config", config_object, config_slots,
                Py_TPFLAGS_DISALLOW_INSTANTIATION);

int
cwj_add_config(PyObject *extension, cwj_module_state *state)
{
    for (int i = 0; i < CWJ_NSETTINGS; i++) {
        config_getset[i] = (PyGetSetDef){settings[i].name, get_setting, set_setting,
                                         settings[i].doc, (void *)&settings[i]};
    }
    config_getset[CWJ_NSETTINGS] =
        (PyGetSetDef){"compiled_graphs", get_compiled_graphs, NULL,
                      "Units that link() compiled in this process; read-only.", NULL};
    if (cwj_add_type(extension, &config_spec, &state->config_type) < 0) {
        return -1;
    }
    state->config = state->config_type->tp_alloc(state->config_type, 0);
    return PyModule_AddObjectRef(extension, "config", state->config);
}
