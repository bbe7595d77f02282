/* masked.h: numpy.ma's arrays, which hold values that must not be computed on: for the call path
 * of functions, whose text m.write() embeds, and for all else that takes arrays.
 */
#pragma once

/* Python.h and numpy/arrayobject.h come before this file. */

/* 1: it is one; 0: it is not, or nobody can have made one; -1 with an exception set. */
static inline int
cwj_is_masked(PyObject *object)
{
    if (PyArray_CheckExact(object)) {
        return 0;
    }
    PyObject *name = PyUnicode_FromString("numpy.ma");
    PyObject *ma = name == NULL ? NULL : PyImport_GetModule(name);
    Py_XDECREF(name);
    if (ma == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *type = PyObject_GetAttrString(ma, "MaskedArray");
    Py_DECREF(ma);
    if (type == NULL && !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return -1;
    }
    if (type == NULL) { /* it is being imported */
        PyErr_Clear();
        return 0;
    }
    int masked = PyObject_IsInstance(object, type);
    Py_DECREF(type);
    return masked;
}
