/* scalars.c: converts numbers of Python and NumPy to C, by the rules of base/numbers.h, and back. */
#include "graph/builtin/builtin.h"

#include "base/numbers.h"

/* ---- from Python ----------------------------------------------------------- */

static int
refuse(PyObject *object, int type)
{
    PyObject *got = cwj_text_of_other_kind(object, type);
    PyArray_Descr *wanted = PyArray_DescrFromType(type);
    if (got != NULL && wanted != NULL) {
        PyErr_Format(PyExc_TypeError, "expected %S, got %U", (PyObject *)wanted, got);
    }
    Py_XDECREF(got);
    Py_XDECREF(wanted);
    return -1;
}

static int
refuse_value(PyObject *object, int type)
{
    PyObject *fault = cwj_text_of_no_such_value(object, type);
    if (fault != NULL) {
        PyErr_SetObject(PyExc_OverflowError, fault);
        Py_DECREF(fault);
    }
    return -1;
}

int
cwj_scalar_read(PyObject *object, int type, void *value)
{
    if (PyFloat_CheckExact(object) && type == NPY_DOUBLE) {
        *(double *)value = PyFloat_AS_DOUBLE(object);
        return 0;
    }
    switch (cwj_store_number(object, type, value)) {
    case CWJ_FITS:
        return 0;
    case CWJ_NO_SUCH_VALUE:
        return refuse_value(object, type);
    case CWJ_NO_SUCH_KIND:
        return refuse(object, type);
    default:
        return -1;
    }
}

/* ---- to Python ------------------------------------------------------------- */

PyObject *
cwj_scalar_make(int type, const void *value)
{
    switch (type) {
    case NPY_DOUBLE:
        return PyFloat_FromDouble(*(const double *)value);
    case NPY_LONG:
        return PyLong_FromLong(*(const long *)value);
    case NPY_BOOL:
        return PyBool_FromLong(*(const npy_bool *)value);
    }
    PyObject *scalar = NULL;
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    if (descr != NULL) {
        scalar = PyArray_Scalar((void *)value, descr, NULL);
        Py_DECREF(descr);
    }
    return scalar;
}
