/* storage.c: reads and writes storages, lists of one object through which C and Python exchange values.
 *
 * Any Python code that holds the list may have changed its length, so each access checks it first, and raises. */
#include "graph/run/storage.h"

int
cwj_storage_is_sound(PyObject *storage)
{
    return storage != NULL && PyList_Check(storage) && PyList_GET_SIZE(storage) == 1 &&
           PyList_GET_ITEM(storage, 0) != NULL;
}

/* Raises the storage's fault; returns -1. */
static int
refuse(PyObject *storage)
{
    if (storage == NULL) {
        PyErr_SetString(PyExc_TypeError, "a storage must be a list of one object, not nothing");
    } else if (!PyList_Check(storage)) {
        PyErr_Format(PyExc_TypeError, "a storage must be a list of one object, not %s",
                     Py_TYPE(storage)->tp_name);
    } else {
        PyErr_Format(PyExc_ValueError, "a storage must be a list of one object, this one has %zd",
                     PyList_GET_SIZE(storage));
    }
    return -1;
}

PyObject *
cwj_storage_get(PyObject *storage)
{
    if (!cwj_storage_is_sound(storage)) {
        refuse(storage);
        return NULL;
    }
    return Py_NewRef(PyList_GET_ITEM(storage, 0));
}

int
cwj_storage_put(PyObject *storage, PyObject *value)
{
    if (!cwj_storage_is_sound(storage)) {
        return refuse(storage);
    }
    PyObject *old = PyList_GET_ITEM(storage, 0);
    PyList_SET_ITEM(storage, 0, Py_NewRef(value == NULL ? Py_None : value));
    Py_DECREF(old); /* last: it may run Python code that reads the list */
    return 0;
}

PyObject *
cwj_storage_new(PyObject *value)
{
    PyObject *storage = PyList_New(1);
    if (storage != NULL) {
        PyList_SET_ITEM(storage, 0, Py_NewRef(value == NULL ? Py_None : value));
    }
    return storage;
}
