/* masked.h: finds masked elements in numpy.ma's arrays, whose values must not be used, for the calls of functions
 * (m.write() embeds this text) and all other code that takes arrays. */
#pragma once

/* Python.h and numpy/arrayobject.h come before this file. */

/* Returns 1 if a mask (bool, or an array of bools or of structs of bools) is true anywhere, 0 if not, -1 with an
 * exception set. */
static inline int
cwj_is_any_true(PyObject *mask)
{
    int found = 0;
    int has_members = PyArray_Check(mask) && PyArray_TYPE((PyArrayObject *)mask) == NPY_VOID;
    PyObject *answer = has_members ? PyArray_ToString((PyArrayObject *)mask, NPY_ANYORDER)
                                   : PyObject_CallMethod(mask, "any", NULL);
    if (answer == NULL) {
        return -1;
    }
    if (!has_members) {
        found = PyObject_IsTrue(answer);
    }
    for (Py_ssize_t i = 0; has_members && i < PyBytes_GET_SIZE(answer); i++) {
        found |= PyBytes_AS_STRING(answer)[i] != 0;
    }
    Py_DECREF(answer);
    return found;
}

/* Returns 1 for an array with masked elements, 0 for others (or if numpy.ma is not imported), -1 with an exception
 * set. */
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
    PyObject *mask = masked > 0 ? PyObject_GetAttrString(object, "mask") : NULL;
    if (masked > 0) {
        masked = mask == NULL ? -1 : cwj_is_any_true(mask);
    }
    Py_XDECREF(mask);
    return masked;
}
