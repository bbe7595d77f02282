/* variables.c: single numbers and arrays at addresses, for a library's variables. */
#include "library/objects/looks.h"
#include "library/objects/foreign_memory.h"

PyDoc_STRVAR(scalar_at_doc, "scalar_at(address, type, /)\n--\n\nThe number at an address.");
PyDoc_STRVAR(store_scalar_doc, "store_scalar(address, type, value, name='', /)\n--\n\n"
                               "Check a number, and put it at an address.");
PyDoc_STRVAR(
    array_at_doc,
    "array_at(address, type, shape, order='C', owner=None, writeable=True, free=0)\n--\n\n"
    "An array over memory. Its base is owner, or a capsule that calls free(address) in the end\n"
    "and keeps owner.");

static const cwj_library_type *
find_type(PyObject *name)
{
    const cwj_library_type *type = cwj_library_type_find(name);
    if (type == NULL) {
        PyErr_Format(PyExc_ValueError, "there is no type %R", name);
    }
    return type;
}

/* NULL with an exception set: also for address 0. */
static void *
address_of(PyObject *number)
{
    void *address = PyLong_AsVoidPtr(number);
    if (address == NULL && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "the address is NULL");
    }
    return address;
}

static PyObject *
scalar_at(PyObject *Py_UNUSED(extension), PyObject *args)
{
    PyObject *number, *name;
    cwj_slot slot;
    if (!PyArg_ParseTuple(args, "O!U:scalar_at", &PyLong_Type, &number, &name)) {
        return NULL;
    }
    const cwj_library_type *type = find_type(name);
    void *address = type == NULL ? NULL : address_of(number);
    if (address == NULL) {
        return NULL;
    }
    cwj_scalar_load(type, address, &slot);
    return cwj_scalar_object(type, &slot);
}

static PyObject *
store_scalar(PyObject *Py_UNUSED(extension), PyObject *args)
{
    PyObject *number, *name, *value, *fault;
    const char *who = "";
    cwj_slot slot;
    if (!PyArg_ParseTuple(args, "O!UO|s:store_scalar", &PyLong_Type, &number, &name, &value,
                          &who)) {
        return NULL;
    }
    const cwj_library_type *type = find_type(name);
    void *address = type == NULL ? NULL : address_of(number);
    if (address == NULL) {
        return NULL;
    }
    switch (cwj_scalar_take(type, false, value, &slot)) {
    case CWJ_FIT_ERROR:
        return NULL;
    case CWJ_NO_SUCH_KIND:
        fault = cwj_text_of_other_kind(value, type->typenum);
        if (fault != NULL) {
            PyErr_Format(PyExc_TypeError, "Expected a value of type %s for %s, got %U",
                         type->python, who, fault);
            Py_DECREF(fault);
        }
        return NULL;
    case CWJ_NO_SUCH_VALUE:
        fault = cwj_text_of_no_such_value(value, type->typenum);
        if (fault != NULL) {
            PyErr_Format(PyExc_OverflowError, "%s: %U", who, fault);
            Py_DECREF(fault);
        }
        return NULL;
    case CWJ_FITS:
    case CWJ_FITS_BY_NUMPY:
        break;
    }
    cwj_scalar_store(type, &slot, address);
    Py_RETURN_NONE;
}

/* Fills a shape of at most 32 dims; returns how many, or -1. */
static int
read_shape(PyObject *given, npy_intp *shape)
{
    PyObject *tuple = PySequence_Tuple(given);
    int count = -1;
    if (tuple == NULL) {
        return -1;
    }
    if (PyTuple_GET_SIZE(tuple) > 32) {
        PyErr_SetString(PyExc_ValueError, "an array has at most 32 dims");
        goto done;
    }
    for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(tuple); d++) {
        shape[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, d));
        if (shape[d] < 0) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_ValueError, "dim %zd is negative", d);
            }
            goto done;
        }
    }
    count = (int)PyTuple_GET_SIZE(tuple);
    if (PyArray_OverflowMultiplyList(shape, count) < 0) {
        PyErr_SetString(PyExc_ValueError, "the array would have too many items");
        count = -1;
    }
done:
    Py_DECREF(tuple);
    return count;
}

static PyObject *
array_at(PyObject *Py_UNUSED(extension), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"address", "type",      "shape", "order",
                            "owner",   "writeable", "free",  NULL};
    PyObject *number, *name, *given, *owner = Py_None, *release_number = NULL;
    const char *order = "C";
    int writeable = 1;
    npy_intp shape[NPY_MAXDIMS];
    void *release = NULL;
    void (*function)(void *) = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!UO|sOpO!:array_at", names, &PyLong_Type,
                                     &number, &name, &given, &order, &owner, &writeable,
                                     &PyLong_Type, &release_number)) {
        return NULL;
    }
    const cwj_library_type *type = find_type(name);
    void *address = type == NULL ? NULL : address_of(number);
    int ndim = address == NULL ? -1 : read_shape(given, shape);
    if (ndim < 0) {
        return NULL;
    }
    if (release_number != NULL) {
        release = PyLong_AsVoidPtr(release_number);
        if (PyErr_Occurred()) {
            return NULL;
        }
    }
    *(void **)&function = release;
    PyObject *array = cwj_array_around(type, ndim, shape, order[0] == 'F', address, function,
                                       owner == Py_None ? NULL : owner, writeable != 0);
    if (array != NULL && function == NULL && cwj_looks_add(array, owner, owner, address) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

/* ---- functions of the extension module --------------------------------------------- */

PyMethodDef cwj_variable_functions[] = {
    {"scalar_at", scalar_at, METH_VARARGS, scalar_at_doc},
    {"store_scalar", store_scalar, METH_VARARGS, store_scalar_doc},
    {"array_at", (PyCFunction)(void (*)(void))array_at, METH_VARARGS | METH_KEYWORDS, array_at_doc},
    {NULL, NULL, 0, NULL},
};
