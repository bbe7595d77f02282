/* python.c: functions for the Python side of the built-in types and ops: filters, the variables that a C text declares
 * (ParamsType), and whether an expression needs a function (elementwise ops).
 *
 * The filter() of a built-in type is made here. It recognises a value of the very type, the usual case, by a few
 * comparisons, and converts other numbers that the type can represent. A Python function does all else. */
#include "graph/builtin/builtin.h"

#include "base/errors.h"
#include "base/tuples.h"

/* The items of the tuple that a filter is bound to. */
enum {
    TYPE,
    NDIM,
    CLASS,
    SLOW
};

static bool
is_array_of(PyObject *value, int type, long ndim)
{
    return PyArray_CheckExact(value) && PyArray_TYPE((PyArrayObject *)value) == type &&
           PyArray_NDIM((PyArrayObject *)value) == ndim &&
           PyArray_ISNOTSWAPPED((PyArrayObject *)value) &&
           PyArray_ISALIGNED((PyArrayObject *)value);
}

/* True if the value needs no conversion. */
static bool
is_ready(PyObject *bound, PyObject *value)
{
    int overflow = 0;
    long type = PyLong_AsLong(PyTuple_GET_ITEM(bound, TYPE));
    long ndim = PyLong_AsLong(PyTuple_GET_ITEM(bound, NDIM));
    if (ndim >= 0) {
        return is_array_of(value, (int)type, ndim);
    }
    if ((PyObject *)Py_TYPE(value) != PyTuple_GET_ITEM(bound, CLASS)) {
        return false;
    }
    if (type == NPY_LONG) {
        PyLong_AsLongAndOverflow(value, &overflow);
    }
    return overflow == 0;
}

/* Converts another number that this type can represent: a new reference. NULL without an exception if the Python
 * function must convert it or raise; NULL with any other exception set. */
static PyObject *
convert(PyObject *bound, PyObject *value)
{
    npy_clongdouble number;
    int type = (int)PyLong_AsLong(PyTuple_GET_ITEM(bound, TYPE));
    if (PyLong_AsLong(PyTuple_GET_ITEM(bound, NDIM)) >= 0) {
        return NULL;
    }
    PyObject *made =
        cwj_scalar_read(value, type, &number) < 0 ? NULL : cwj_scalar_make(type, &number);
    if (made == NULL) {
        cwj_clear_expected(PyExc_TypeError, PyExc_ValueError, PyExc_OverflowError, NULL);
    }
    return made;
}

/* True for filter(value), and for strict=False, allow_downcast=None, as calls of graphs pass them. */
static bool
is_usual(PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    return nargs == 1 &&
           (names == NULL ||
            (PyTuple_GET_SIZE(names) == 2 && args[1] == Py_False && args[2] == Py_None &&
             PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "strict") == 0 &&
             PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 1), "allow_downcast") == 0));
}

static PyObject *
filter(PyObject *bound, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    if (is_usual(args, nargs, names)) {
        PyObject *made = is_ready(bound, args[0]) ? Py_NewRef(args[0]) : convert(bound, args[0]);
        if (made != NULL || PyErr_Occurred()) {
            return made;
        }
    }
    return PyObject_Vectorcall(PyTuple_GET_ITEM(bound, SLOW), args, (size_t)nargs, names);
}

static PyMethodDef filter_def = {
    "filter", (PyCFunction)(void (*)(void))filter, METH_FASTCALL | METH_KEYWORDS,
    "filter(value, strict=False, allow_downcast=None)\n--\n\n"
    "The value as this type has it. strict: nothing is converted. allow_downcast=True: precision\n"
    "may be lost. TypeError for what cannot be converted."};

PyDoc_STRVAR(
    make_filter_doc,
    "make_filter(type, ndim, cls, slow, /)\n--\n\n"
    "filter(value, strict, allow_downcast) for arrays of a NumPy type number and rank, or\n"
    "(ndim -1) for numbers of class cls; slow takes what has to be converted.");

/* True for the type number of a number. Otherwise sets ValueError. */
static bool
is_scalar_type(int type, const char *who)
{
    bool fits = type >= 0 && PyTypeNum_ISNUMBER(type);
    if (!fits) {
        PyErr_Format(PyExc_ValueError, "%s: not for type %d", who, type);
    }
    return fits;
}

static PyObject *
make_filter(PyObject *Py_UNUSED(extension), PyObject *args)
{
    int type, ndim;
    PyObject *cls, *slow;
    if (!PyArg_ParseTuple(args, "iiOO:make_filter", &type, &ndim, &cls, &slow) ||
        (ndim < 0 && !is_scalar_type(type, "make_filter()"))) {
        return NULL;
    }
    _Static_assert(TYPE == 0 && NDIM == 1 && CLASS == 2 && SLOW == 3, "the order of the tuple");
    PyObject *bound = Py_BuildValue("(iiOO)", type, ndim, cls, slow);
    PyObject *made = bound == NULL ? NULL : PyCFunction_NewEx(&filter_def, bound, NULL);
    Py_XDECREF(bound);
    return made;
}

PyDoc_STRVAR(read_scalar_doc,
             "read_scalar(type, value, /)\n--\n\n"
             "The value as a number of that NumPy type number. TypeError, OverflowError.");

static PyObject *
read_scalar(PyObject *Py_UNUSED(extension), PyObject *args)
{
    int type;
    PyObject *object;
    npy_clongdouble value;
    if (!PyArg_ParseTuple(args, "iO:read_scalar", &type, &object)) {
        return NULL;
    }
    return !is_scalar_type(type, "read_scalar()") || cwj_scalar_read(object, type, &value) < 0
               ? NULL
               : cwj_scalar_make(type, &value);
}

/* ---- reading C texts ------------------------------------------------------ */

static PyObject *
list_names(const tj_declarations *declarations)
{
    PyObject *names = PyTuple_New((Py_ssize_t)declarations->nnames);
    for (size_t i = 0; i < declarations->nnames && names != NULL; i++) {
        cwj_tuple_fill(&names, (Py_ssize_t)i, PyUnicode_FromString(declarations->names[i]));
    }
    return names;
}

PyDoc_STRVAR(declared_names_doc, "declared_names(who, text, name, /)\n--\n\n"
                                 "The variables that a C text declares.");

static PyObject *
declared_names(PyObject *Py_UNUSED(extension), PyObject *args)
{
    const char *who, *text, *name;
    Py_ssize_t length;
    PyObject *names = NULL;
    tj_declarations declarations = {0};
    tj_messages messages = {0};
    tj_error error = {0};
    if (!PyArg_ParseTuple(args, "ss#s:declared_names", &who, &text, &length, &name)) {
        return NULL;
    }
    tj_piece piece = {.text = text, .length = (size_t)length, .file = who};
    if (tj_declarations_read(&piece, name, &declarations, &messages, &error) != TJ_OK) {
        cwj_raise(who, &error, &messages);
    } else if (declarations.typedefs != NULL &&
               strspn(declarations.typedefs, " \t\n") != strlen(declarations.typedefs)) {
        cwj_refuse(who, PyExc_ValueError, "a typedef cannot be a member of a struct");
    } else {
        names = list_names(&declarations);
    }
    tj_declarations_clear(&declarations);
    tj_messages_clear(&messages);
    tj_error_clear(&error);
    return names;
}

PyDoc_STRVAR(
    expression_standing_doc,
    "expression_standing(expression, before, /)\n--\n\n"
    "The specifier of the function that an expression of a loop needs, behind that text; '' for\n"
    "none.");

static PyObject *
expression_standing(PyObject *Py_UNUSED(extension), PyObject *args)
{
    const char *expression, *before;
    Py_ssize_t length, length_before;
    if (!PyArg_ParseTuple(args, "s#s#:expression_standing", &expression, &length, &before,
                          &length_before)) {
        return NULL;
    }
    tj_piece piece = {.text = expression, .length = (size_t)length, .file = ""};
    tj_piece front = {.text = before, .length = (size_t)length_before, .file = ""};
    static const char *const specifiers[] = {
        [TJ_STANDS_IN_LOOP] = "",
        [TJ_STANDS_IN_FUNCTION] = "inline",
        [TJ_STANDS_APART] = "__attribute__((noinline))",
    };
    return PyUnicode_FromString(specifiers[tj_expression_standing(&piece, &front)]);
}

/* ---- all of them ---------------------------------------------------------- */

static PyMethodDef functions[] = {
    {"declared_names", declared_names, METH_VARARGS, declared_names_doc},
    {"expression_standing", expression_standing, METH_VARARGS, expression_standing_doc},
    {"make_filter", make_filter, METH_VARARGS, make_filter_doc},
    {"read_scalar", read_scalar, METH_VARARGS, read_scalar_doc},
    {NULL, NULL, 0, NULL},
};

int
cwj_add_builtin(PyObject *extension)
{
    return PyModule_AddFunctions(extension, functions);
}
