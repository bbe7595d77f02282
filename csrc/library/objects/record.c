/* record.c: makes instances of NumPy's records and of tuples, for parameters and members that are structs. */
#include "library/objects/instance.h"

#include <numpy/arrayscalars.h>
#include <stdint.h>

typedef struct record {
    PyArray_Descr *descr; /* borrowed */
    char *data;
    bool writeable;
} record;

/* Records are scalars that may look into an array, and arrays without dims. */
static bool
is_record(PyObject *object, record *found)
{
    if (PyArray_IsScalar(object, Void)) {
        const PyVoidScalarObject *scalar = (PyVoidScalarObject *)object;
        *found = (record){(PyArray_Descr *)scalar->descr, scalar->obval,
                          (scalar->flags & NPY_ARRAY_WRITEABLE) != 0};
        return true;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_CheckExact(object) || PyArray_NDIM(array) != 0 ||
        PyArray_TYPE(array) != NPY_VOID) {
        return false;
    }
    *found = (record){PyArray_DESCR(array), PyArray_BYTES(array), PyArray_ISWRITEABLE(array)};
    return true;
}

/* Returns NULL or, with an exception set or not, why the record does not fit. */
static PyObject *
fault_of(const cwj_struct_layout *layout, const record *given, bool written, bool aligned)
{
    if (layout->descr == NULL) {
        return PyUnicode_FromFormat("a record: NumPy has no dtype for %U", layout->name);
    }
    if (!PyArray_EquivTypes(given->descr, layout->descr)) {
        return PyUnicode_FromFormat("a record whose dtype is %S, not %S", given->descr,
                                    layout->descr);
    }
    if (written && !(given->writeable && aligned)) {
        return PyUnicode_FromFormat("a record that is %s: C may write there",
                                    given->writeable ? "not aligned" : "read-only");
    }
    return NULL;
}

/* C reads and writes the record itself; if that is not aligned, it reads a copy. */
static PyObject *
around_record(cwj_struct_layout *layout, PyObject *object, const record *given, bool written,
              PyObject **fault)
{
    bool aligned = (uintptr_t)given->data % layout->alignment == 0;
    *fault = fault_of(layout, given, written, aligned);
    if (*fault != NULL || PyErr_Occurred()) {
        return NULL;
    }
    if (aligned) {
        return cwj_instance_around(layout, given->data, false, NULL, object);
    }
    void *memory;
    PyObject *copy = cwj_instance_empty(layout, &memory);
    if (copy != NULL) {
        memcpy(memory, given->data, layout->size);
    }
    return copy;
}

static PyObject *
of_tuple(const cwj_struct_layout *layout, PyObject *tuple, bool written, PyObject **fault)
{
    if (written) {
        *fault = PyUnicode_FromString("tuple: C may write there, and that would be lost");
        return NULL;
    }
    PyObject *all = PyObject_GetAttrString(layout->cls, "__match_args__");
    Py_ssize_t count = all == NULL ? -1 : PyObject_Size(all), given = PyTuple_GET_SIZE(tuple);
    Py_XDECREF(all);
    if (count == given) {
        return PyObject_Call(layout->cls, tuple, NULL);
    }
    if (count >= 0) {
        *fault = PyUnicode_FromFormat("a tuple of length %zd for %zd members", given, count);
    }
    return NULL;
}

PyObject *
cwj_instance_of_record(cwj_struct_layout *layout, PyObject *object, bool written, PyObject **fault)
{
    record given;
    *fault = NULL;
    if (layout->size == 0 || layout->cls == NULL) {
        return NULL;
    }
    if (is_record(object, &given)) {
        return around_record(layout, object, &given, written, fault);
    }
    /* Objects that an initialiser makes are no tuples of members. */
    bool fits = PyTuple_Check(object) && !layout->needs_init;
    return fits ? of_tuple(layout, object, written, fault) : NULL;
}
