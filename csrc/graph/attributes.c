/* attributes.c: see attributes.h. What a function takes is read off its code object, without
 * importing inspect; that comes in for callables of other kinds. */
#include "graph/attributes.h"

#include "base/compat.h"
#include "base/state.h"

enum {
    MOST_POSITIONAL = 1000
};

int
cwj_graph_attribute(PyObject *object, const char *name, PyObject **value)
{
    *value = NULL;
    PyObject *key = PyUnicode_InternFromString(name);
    if (key == NULL) {
        return -1;
    }
    int found = cwj_optional_attribute(object, key, value);
    Py_DECREF(key);
    return found;
}

int
cwj_flag(PyObject *object, const char *name, int fallback)
{
    PyObject *value = NULL;
    int found = cwj_graph_attribute(object, name, &value);
    if (found > 0 && PyCallable_Check(value) && !PyType_Check(value)) {
        Py_SETREF(value, PyObject_CallNoArgs(value));
    }
    int flag = found < 0 || (found > 0 && value == NULL) ? -1
               : found == 0                              ? fallback
                                                         : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return flag;
}

/* ---- what a callable takes --------------------------------------------- */

static int
bits_of_name(PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "check_input") == 0) {
        return CWJ_TAKES_CHECK_INPUT;
    }
    return PyUnicode_CompareWithASCIIString(name, "c_compiler") == 0 ? CWJ_TAKES_COMPILER : 0;
}

/* Of a Python function whose first `bound` arguments are there already. */
static int
read_code(PyObject *function, int bound)
{
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    PyObject *names = PyObject_GetAttrString((PyObject *)code, "co_varnames");
    if (names == NULL || !PyTuple_Check(names)) {
        Py_XDECREF(names);
        return -1;
    }
    int positional = code->co_argcount - bound;
    int bits = (code->co_flags & CO_VARKEYWORDS ? CWJ_TAKES_KEYWORDS : 0) |
               (code->co_flags & CO_VARARGS ? CWJ_TAKES_ANY : 0);
    for (Py_ssize_t i = bound; i < code->co_argcount + code->co_kwonlyargcount; i++) {
        bits |= i < PyTuple_GET_SIZE(names) ? bits_of_name(PyTuple_GET_ITEM(names, i)) : 0;
    }
    Py_DECREF(names);
    positional = positional < 0 ? 0 : positional > MOST_POSITIONAL ? MOST_POSITIONAL : positional;
    return bits | positional << CWJ_POSITIONAL_SHIFT;
}

/* Of any callable, by inspect.signature(). */
static int
inspect_callable(PyObject *callable)
{
    PyObject *answer = cwj_ask_python("cwrapjit._signature", "taken", "(O)", callable);
    int positional, any, keywords, check_input, compiler;
    int bits = -1;
    if (answer != NULL &&
        PyArg_ParseTuple(answer, "ipppp", &positional, &any, &keywords, &check_input, &compiler)) {
        positional = positional < MOST_POSITIONAL ? positional : MOST_POSITIONAL;
        bits = (any ? CWJ_TAKES_ANY : 0) | (keywords ? CWJ_TAKES_KEYWORDS : 0) |
               (check_input ? CWJ_TAKES_CHECK_INPUT : 0) | (compiler ? CWJ_TAKES_COMPILER : 0) |
               positional << CWJ_POSITIONAL_SHIFT;
    }
    Py_XDECREF(answer);
    return bits;
}

int
cwj_takes(PyObject *callable)
{
    int bound = PyMethod_Check(callable);
    PyObject *function = bound ? PyMethod_GET_FUNCTION(callable) : callable;
    PyObject *wrapped = NULL;
    int found =
        PyFunction_Check(function) ? cwj_graph_attribute(function, "__wrapped__", &wrapped) : 1;
    Py_XDECREF(wrapped);
    return found < 0 ? -1 : found == 0 ? read_code(function, bound) : inspect_callable(callable);
}
