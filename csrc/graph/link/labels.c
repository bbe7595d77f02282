/* labels.c: see labels.h. Names come from anywhere, so they are looked at before they get
 * into a comment of generated C: printable, and nothing that ends a comment. */
#include "graph/link/labels.h"

#include "base/errors.h"
#include "base/tuples.h"

enum {
    MOST_LETTERS = 60,  /* of a name in a label */
    MOST_ARGUMENTS = 8, /* of a node in a label */
};

/* ---- text that can be shown -------------------------------------------- */

/* As str says it, whatever a class derived from str says. */
static int
is_printable(PyObject *text)
{
    PyObject *answer = PyObject_CallMethod((PyObject *)&PyUnicode_Type, "isprintable", "O", text);
    int printable = answer == NULL ? -1 : answer == Py_True;
    Py_XDECREF(answer);
    return printable;
}

int
cwj_is_showable(PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    if (length == 0 || PyUnicode_FindChar(text, '\\', 0, length, 1) >= 0) {
        return 0;
    }
    for (Py_ssize_t i = 0; i + 1 < length; i++) {
        Py_UCS4 letter = PyUnicode_READ_CHAR(text, i);
        Py_UCS4 next = PyUnicode_READ_CHAR(text, i + 1);
        if ((letter == '*' && next == '/') || (letter == '/' && next == '*')) {
            return 0;
        }
    }
    return is_printable(text);
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
    int showable = name != NULL && PyUnicode_Check(name) ? cwj_is_showable(name) : 0;
    if (showable > 0) {
        return name;
    }
    Py_XDECREF(name);
    return showable < 0 ? NULL : Py_NewRef(Py_None);
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
    int fits =
        label == NULL || PyUnicode_GET_LENGTH(label) > MOST_LETTERS ? 0 : cwj_is_showable(label);
    if (fits > 0) {
        return label;
    }
    Py_XDECREF(label);
    return fits < 0 ? NULL : cwj_class_of(op);
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

PyObject *
cwj_join(const char *between, PyObject *tuple)
{
    PyObject *separator = tuple == NULL ? NULL : PyUnicode_FromString(between);
    PyObject *text = separator == NULL ? NULL : PyUnicode_Join(separator, tuple);
    Py_XDECREF(separator);
    Py_XDECREF(tuple);
    return text;
}

int
cwj_refuse_about(PyObject *label, PyObject *type, const char *format, ...)
{
    if (label != NULL) {
        va_list arguments;
        va_start(arguments, format);
        PyObject *text = PyUnicode_FromFormatV(format, arguments);
        va_end(arguments);
        if (text != NULL) {
            cwj_refuse("link()", type, "%U", text);
            Py_DECREF(text);
        }
        Py_DECREF(label);
    }
    return -1;
}

/* ---- nodes ------------------------------------------------------------- */

PyObject *
cwj_call_label(PyObject *op, PyObject *arguments)
{
    PyObject *label = NULL, *op_label = arguments == NULL ? NULL : cwj_op_label(op);
    PyObject *joined =
        op_label == NULL ? NULL : cwj_join(", ", PyTuple_GetSlice(arguments, 0, MOST_ARGUMENTS));
    if (joined != NULL) {
        bool all = PyTuple_GET_SIZE(arguments) <= MOST_ARGUMENTS;
        label = PyUnicode_FromFormat("%U(%U%s)", op_label, joined, all ? "" : ", ...");
    }
    Py_XDECREF(op_label);
    Py_XDECREF(joined);
    Py_XDECREF(arguments);
    return label;
}

PyObject *
cwj_node_label(PyObject *op, PyObject *inputs)
{
    Py_ssize_t count = PyTuple_GET_SIZE(inputs);
    PyObject *names = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count && names != NULL; i++) {
        PyObject *name = cwj_name_of(PyTuple_GET_ITEM(inputs, i));
        if (name == Py_None) {
            Py_SETREF(name, PyUnicode_FromString("?"));
        }
        cwj_tuple_fill(&names, i, cwj_shorten(name));
    }
    return cwj_call_label(op, names);
}

PyObject *
cwj_mangle(int number, PyObject *name)
{
    bool usable = name != Py_None && PyUnicode_IS_ASCII(name) && PyUnicode_IsIdentifier(name);
    return usable ? PyUnicode_FromFormat("V%d_%U", number, name)
                  : PyUnicode_FromFormat("V%d", number);
}

/* ---- for the halves in Python ------------------------------------------ */

PyObject *
cwj_label_node(PyObject *Py_UNUSED(extension), PyObject *args)
{
    PyObject *op, *inputs;
    return PyArg_ParseTuple(args, "OO!:label_node", &op, &PyTuple_Type, &inputs)
               ? cwj_node_label(op, inputs)
               : NULL;
}

PyObject *
cwj_label_variable(PyObject *Py_UNUSED(extension), PyObject *variable)
{
    PyObject *name = cwj_name_of(variable);
    return name == Py_None ? name : cwj_shorten(name);
}
