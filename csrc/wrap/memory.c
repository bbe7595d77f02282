/* memory.c: single numbers and arrays at addresses, for a library's variables. */
#include "unit.h"
#include "wrap.h"

const char cwj_scalar_at_doc[] = "scalar_at(address, type, /)\n--\n\nThe number at an address.";
const char cwj_store_scalar_doc[] = "store_scalar(address, type, value, name='', /)\n--\n\n"
                                    "Check a number, and put it at an address.";
const char cwj_array_at_doc[] =
    "array_at(address, type, shape, order='C', owner=None, writeable=True, free=0)\n--\n\n"
    "An array over memory. Its base is owner, or a capsule that calls free(address) in the end\n"
    "and keeps owner.";

static const cwj_type *
find_type(PyObject *name)
{
    const cwj_type *type = cwj_type_find(name);
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

PyObject *
cwj_scalar_at(PyObject *Py_UNUSED(extension), PyObject *args)
{
    PyObject *number, *name;
    cwj_slot slot;
    if (!PyArg_ParseTuple(args, "O!U:scalar_at", &PyLong_Type, &number, &name)) {
        return NULL;
    }
    const cwj_type *type = find_type(name);
    void *address = type == NULL ? NULL : address_of(number);
    if (address == NULL) {
        return NULL;
    }
    cwj_scalar_load(type, address, &slot);
    return cwj_scalar_object(type, &slot);
}

PyObject *
cwj_store_scalar(PyObject *Py_UNUSED(extension), PyObject *args)
{
    PyObject *number, *name, *value;
    const char *who = "";
    cwj_slot slot;
    if (!PyArg_ParseTuple(args, "O!UO|s:store_scalar", &PyLong_Type, &number, &name, &value,
                          &who)) {
        return NULL;
    }
    const cwj_type *type = find_type(name);
    void *address = type == NULL ? NULL : address_of(number);
    if (address == NULL) {
        return NULL;
    }
    switch (cwj_scalar_take(type, false, value, &slot)) {
    case CWJ_TAKEN_ERROR:
        return NULL;
    case CWJ_WRONG_TYPE:
        return PyErr_Format(PyExc_TypeError, "Expected a value of type %s for %s, got %s",
                            type->python, who, Py_TYPE(value)->tp_name);
    case CWJ_WRONG_VALUE:
        return PyErr_Format(PyExc_ValueError, "%s: %R does not fit %s", who, value, type->name);
    case CWJ_TAKEN:
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

PyObject *
cwj_array_at(PyObject *Py_UNUSED(extension), PyObject *args, PyObject *kwargs)
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
    const cwj_type *type = find_type(name);
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
    return cwj_array_around(type, ndim, shape, NULL, order[0], address, function,
                            owner == Py_None ? NULL : owner, writeable != 0);
}
