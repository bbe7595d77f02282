/* labels.c: see labels.h. Names come from anywhere, so they are looked at before they get
 * into a comment of generated C: printable, and nothing that ends a comment. */
#include "graph/link/labels.h"

#include "base/errors.h"

enum {
    MOST_LETTERS = 60,  /* of a name in a label */
    MOST_ARGUMENTS = 8, /* of a node in a label */
};

/* ---- text that can be shown -------------------------------------------- */

bool
cwj_is_showable(PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    if (length == 0 || PyUnicode_FindChar(text, '\\', 0, length, 1) >= 0) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        Py_UCS4 letter = PyUnicode_READ_CHAR(text, i);
        Py_UCS4 next = i + 1 < length ? PyUnicode_READ_CHAR(text, i + 1) : 0;
        if (!Py_UNICODE_ISPRINTABLE(letter) || (letter == '*' && next == '/') ||
            (letter == '/' && next == '*')) {
            return 0;
        }
    }
    return 1;
}

PyObject *
cwj_shorten(PyObject *text)
{
    if (text != NULL && PyUnicode_GET_LENGTH(text) > MOST_LETTERS) {
        PyObject *start = PyUnicode_Substring(text, 0, MOST_LETTERS - 3);
        Py_SETREF(text, start == NULL ? NULL : PyUnicode_FromFormat("%U...", start));
        Py_XDECREF(start);
    }
    return text;
}

PyObject *
cwj_name_of(PyObject *variable)
{
    PyObject *name = NULL;
    if (cwj_graph_attribute(variable, "name", &name) < 0) {
        return NULL;
    }
    if (name != NULL && PyUnicode_Check(name) && cwj_is_showable(name)) {
        return name;
    }
    Py_XDECREF(name);
    return Py_NewRef(Py_None);
}

PyObject *
cwj_class_of(PyObject *object)
{
    PyTypeObject *type = PyType_Check(object) ? (PyTypeObject *)object : Py_TYPE(object);
    const char *dot = strrchr(type->tp_name, '.'); /* of types written in C */
    return PyUnicode_FromString(dot == NULL ? type->tp_name : dot + 1);
}

static int
prints_itself(PyObject *op)
{
    const PyTypeObject *type = Py_TYPE(op);
    return !PyType_Check(op) &&
           (type->tp_str != PyBaseObject_Type.tp_str || type->tp_repr != PyBaseObject_Type.tp_repr);
}

/* A label is not worth a failure where __str__ has one of the usual faults. Ctrl-C is none of
 * these, nor is what a signal's handler raises. */
static bool
clear_blunder(void)
{
    return cwj_clear_expected(PyExc_ArithmeticError, PyExc_AssertionError, PyExc_AttributeError,
                              PyExc_LookupError, PyExc_NameError, PyExc_NotImplementedError,
                              PyExc_TypeError, PyExc_ValueError, NULL);
}

PyObject *
cwj_op_label(PyObject *op)
{
    PyObject *label = prints_itself(op) ? PyObject_Str(op) : NULL;
    if (label == NULL && PyErr_Occurred() && !clear_blunder()) {
        return NULL;
    }
    if (label != NULL && (!cwj_is_showable(label) || PyUnicode_GET_LENGTH(label) > MOST_LETTERS)) {
        Py_CLEAR(label);
    }
    return label != NULL ? label : cwj_class_of(op);
}

PyObject *
cwj_variable_label(PyObject *variable)
{
    PyObject *name = cwj_name_of(variable);
    if (name == Py_None) {
        Py_DECREF(name);
        return PyUnicode_FromString("a variable without name");
    }
    return cwj_shorten(name);
}

/* ---- nodes ------------------------------------------------------------- */

PyObject *
cwj_call_label(PyObject *op_label, PyObject *arguments)
{
    PyObject *label = NULL, *joined = NULL;
    PyObject *comma = PyUnicode_FromString(", ");
    PyObject *some = PySequence_GetSlice(arguments, 0, MOST_ARGUMENTS);
    if (comma != NULL && some != NULL) {
        joined = PyUnicode_Join(comma, some);
    }
    if (joined != NULL) {
        bool all = PySequence_Size(arguments) <= MOST_ARGUMENTS;
        label = PyUnicode_FromFormat("%U(%U%s)", op_label, joined, all ? "" : ", ...");
    }
    Py_XDECREF(comma);
    Py_XDECREF(some);
    Py_XDECREF(joined);
    return label;
}

PyObject *
cwj_node_label(PyObject *op, PyObject *inputs)
{
    PyObject *label = NULL;
    PyObject *op_label = cwj_op_label(op);
    Py_ssize_t count = PyTuple_GET_SIZE(inputs);
    PyObject *names = op_label == NULL ? NULL : PyList_New(count);
    for (Py_ssize_t i = 0; i < count && names != NULL; i++) {
        PyObject *name = cwj_name_of(PyTuple_GET_ITEM(inputs, i));
        if (name == Py_None) {
            Py_SETREF(name, PyUnicode_FromString("?"));
        }
        name = cwj_shorten(name);
        if (name == NULL) {
            Py_CLEAR(names);
        } else {
            PyList_SET_ITEM(names, i, name);
        }
    }
    if (names != NULL) {
        label = cwj_call_label(op_label, names);
    }
    Py_XDECREF(op_label);
    Py_XDECREF(names);
    return label;
}

PyObject *
cwj_mangle(int number, PyObject *name)
{
    bool usable = name != Py_None && PyUnicode_IS_ASCII(name) && PyUnicode_IsIdentifier(name);
    return usable ? PyUnicode_FromFormat("V%d_%U", number, name)
                  : PyUnicode_FromFormat("V%d", number);
}
