/* read.c: see read.h. */
#include "read.h"

#include "../errors.h"

#include <limits.h>

PyObject *
cwj_read_text(PyObject *given, const char *name, const char *who)
{
    PyObject *text = PyObject_GetAttrString(given, name);
    if (text != NULL && !PyUnicode_CheckExact(text)) {
        cwj_refuse(who, PyExc_TypeError, "%s must be a str, not %s", name, Py_TYPE(text)->tp_name);
        Py_CLEAR(text);
    }
    return text;
}

PyObject *
cwj_read_list(PyObject *given, const char *name, const char *who)
{
    PyObject *value = PyObject_GetAttrString(given, name);
    PyObject *list = value == NULL ? NULL : PySequence_List(value);
    Py_XDECREF(value);
    if (list != NULL && PyList_GET_SIZE(list) > 4096) {
        cwj_refuse(who, PyExc_ValueError, "more than 4096 %s", name);
        Py_CLEAR(list);
    }
    return list;
}

int
cwj_read_flag(PyObject *given, const char *name)
{
    PyObject *value = PyObject_GetAttrString(given, name);
    int flag = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return flag;
}

int
cwj_read_int(int *value, PyObject *given, const char *name, const char *who)
{
    PyObject *number = PyObject_GetAttrString(given, name);
    long long wide = number == NULL ? -1 : PyLong_AsLongLong(number);
    Py_XDECREF(number);
    if (wide == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (wide < -1 || wide > INT_MAX) {
        return cwj_refuse(who, PyExc_ValueError, "%s is out of range", name);
    }
    *value = (int)wide;
    return 0;
}

int
cwj_read_address(void **address, PyObject *given, const char *name, const char *who)
{
    PyObject *number = PyObject_GetAttrString(given, name);
    if (number == NULL) {
        return -1;
    }
    if (PyLong_Check(number)) {
        *address = PyLong_AsVoidPtr(number);
    } else {
        cwj_refuse(who, PyExc_TypeError, "%s must be an address, not %s", name,
                   Py_TYPE(number)->tp_name);
    }
    Py_DECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

int
cwj_read_word(PyObject *given, const char *name, const char *const *words, const char *who)
{
    PyObject *word = cwj_read_text(given, name, who);
    int index = -1;
    if (word == NULL) {
        return -1;
    }
    for (int i = 0; words[i] != NULL && index < 0; i++) {
        index = PyUnicode_CompareWithASCIIString(word, words[i]) == 0 ? i : -1;
    }
    if (index < 0) {
        cwj_refuse(who, PyExc_ValueError, "%s cannot be %R", name, word);
    }
    Py_DECREF(word);
    return index;
}

int
cwj_read_type(const cwj_type **type, PyObject *given, const char *who)
{
    PyObject *name = cwj_read_text(given, "type", who);
    int status = -1;
    if (name == NULL) {
        return -1;
    }
    *type = cwj_type_find(name);
    if (*type != NULL || PyUnicode_GET_LENGTH(name) == 0) {
        status = 0;
    } else {
        cwj_refuse(who, PyExc_ValueError, "there is no type %R", name);
    }
    Py_DECREF(name);
    return status;
}

int
cwj_read_dims(cwj_dim **dims, int *ndim, PyObject *given, PyObject *symbols, const char *who)
{
    PyObject *value = PyObject_GetAttrString(given, "dims");
    PyObject *tuple = value == NULL ? NULL : PySequence_Tuple(value);
    int status = -1;
    Py_XDECREF(value);
    if (tuple == NULL) {
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    if (count > 32) { /* what every NumPy can have */
        cwj_refuse(who, PyExc_ValueError, "an array cannot have %zd dims", count);
        goto done;
    }
    *dims = PyMem_Calloc((size_t)count + 1, sizeof(cwj_dim));
    if (*dims == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (; *ndim < count; ++*ndim) {
        PyObject *dim = PyTuple_GET_ITEM(tuple, *ndim);
        if (cwj_dim_read(&(*dims)[*ndim], dim, symbols, who) < 0) {
            cwj_dim_clear(&(*dims)[*ndim]);
            goto done;
        }
    }
    status = 0;
done:
    Py_DECREF(tuple);
    return status;
}
