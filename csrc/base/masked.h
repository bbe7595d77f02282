/* masked.h: detects numpy.ma's arrays, whose masked values must not be used, for the calls of functions (m.write()
 * embeds this text) and all other code that takes arrays. */
#pragma once

/* Python.h and numpy/arrayobject.h come before this file. */

/* Returns 1 for a masked array, 0 for others (or if numpy.ma is not imported), -1 with an exception set. */
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
    if (type == NULL) { /* numpy.ma is being imported */
        PyErr_Clear();
        return 0;
    }
    int masked = PyObject_IsInstance(object, type);
    Py_DECREF(type);
    return masked;
}
