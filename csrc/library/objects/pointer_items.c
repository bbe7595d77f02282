/* pointer_items.c: reads and writes the memory of a Pointer, as items and as arrays. Its extent is checked only if the
 * Pointer was made from an array. */
#include "library/objects/foreign_memory.h"
#include "library/objects/looks.h"
#include "library/objects/owners.h"
#include "library/objects/pointer.h"

bool
cwj_pointer_is_there(PyObject *base)
{
    bool there = base == NULL || !cwj_is_instance(base) || cwj_is_alive((cwj_instance *)base);
    bool several = base != NULL && PyTuple_Check(base);
    for (Py_ssize_t k = 0; several && there && k < PyTuple_GET_SIZE(base); k++) {
        there = cwj_pointer_is_there(PyTuple_GET_ITEM(base, k));
    }
    return there;
}

/* Checks that items [from, from + count) lie in the array that the Pointer was made from (if any), and that the memory
 * was not freed. Returns 0, or -1 with an exception set. */
static int
check_range(const cwj_pointer *self, Py_ssize_t from, Py_ssize_t count, Py_ssize_t itemsize)
{
    PyArrayObject *array = (PyArrayObject *)self->base;
    bool known = self->base != NULL && PyArray_Check(self->base) &&
                 PyArray_DATA(array) == self->address && itemsize > 0;
    Py_ssize_t most = known ? PyArray_NBYTES(array) / itemsize : PY_SSIZE_T_MAX, end;
    if (known && (from < 0 || __builtin_add_overflow(from, count, &end) || end > most)) {
        PyErr_Format(PyExc_IndexError, "%R: there are %zd items", self, most);
        return -1;
    }
    if (!cwj_pointer_is_there(self->base)) {
        PyErr_Format(PyExc_ValueError, "%R: what has the memory was freed", self);
        return -1;
    }
    return 0;
}

/* Returns the address of item `index` and sets *type, or returns NULL with an exception set. */
static char *
find_item(const cwj_pointer *self, PyObject *index, const cwj_library_type **type)
{
    Py_ssize_t at = PyNumber_AsSsize_t(index, NULL), bytes; /* clips */
    *type = cwj_library_type_find(self->item);
    if (at == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (*type == NULL) {
        PyErr_Format(PyExc_TypeError,
                     "%R: what it points to is no number: array(n, dtype) views it", self);
        return NULL;
    }
    if (at == PY_SSIZE_T_MAX || at == PY_SSIZE_T_MIN ||
        __builtin_mul_overflow(at, (Py_ssize_t)(*type)->size, &bytes)) {
        PyErr_Format(PyExc_IndexError, "%R: index %R is out of range", self, index);
        return NULL;
    }
    return check_range(self, at, 1, (Py_ssize_t)(*type)->size) < 0 ? NULL
                                                                   : (char *)self->address + bytes;
}

/* Returns an array over the memory. dtype (borrowed): NULL for that of the items. */
static PyObject *
view(cwj_pointer *self, int nd, const npy_intp *dims, PyArray_Descr *dtype)
{
    const cwj_library_type *type = dtype == NULL ? cwj_library_type_find(self->item) : NULL;
    PyArray_Descr *descr = dtype != NULL  ? (PyArray_Descr *)Py_NewRef(dtype)
                           : type != NULL ? PyArray_DescrFromType(type->typenum)
                                          : NULL;
    PyObject *array = NULL, *base = self->base == NULL ? (PyObject *)self : self->base;
    npy_intp count = PyArray_OverflowMultiplyList(dims, nd);
    if (descr == NULL || PyDataType_REFCHK(descr)) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError,
                         "%R: what it points to is no number: array(n, dtype) says", self);
        }
    } else if (count < 0) {
        PyErr_Format(PyExc_ValueError, "%R: this is no shape of memory", self);
    } else if (check_range(self, 0, count, PyDataType_ELSIZE(descr)) == 0) {
        array = cwj_array_over(descr, nd, dims, NULL, false, self->address, !self->readonly, base);
    }
    if (array != NULL && cwj_looks_add(array, base, base, self->address) < 0) {
        Py_CLEAR(array);
    }
    Py_XDECREF(descr);
    return array;
}

/* Returns p[a:b]; b is required, because the length is unknown. */
static PyObject *
get_slice(cwj_pointer *self, PyObject *slice)
{
    Py_ssize_t start, stop, step;
    if (((PySliceObject *)slice)->stop == Py_None) {
        return PyErr_Format(PyExc_TypeError, "%R: nothing says how long it is: p[:n]", self);
    }
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0) {
        return NULL;
    }
    if (start < 0 || stop < 0 || step < 0) {
        return PyErr_Format(PyExc_IndexError, "%R: nothing says where it ends: %R", self, slice);
    }
    npy_intp dims[1] = {stop};
    PyObject *whole = view(self, 1, dims, NULL);
    PyObject *made = whole == NULL ? NULL : PyObject_GetItem(whole, slice);
    Py_XDECREF(whole);
    return made;
}

PyObject *
cwj_pointer_subscript(PyObject *op, PyObject *index)
{
    const cwj_library_type *type;
    cwj_slot slot;
    if (PySlice_Check(index)) {
        return get_slice((cwj_pointer *)op, index);
    }
    const char *at = find_item((cwj_pointer *)op, index, &type);
    if (at == NULL) {
        return NULL;
    }
    cwj_scalar_load(type, at, &slot);
    return cwj_scalar_object(type, &slot);
}

int
cwj_pointer_assign(PyObject *op, PyObject *index, PyObject *value)
{
    const cwj_pointer *self = (cwj_pointer *)op;
    const cwj_library_type *type;
    cwj_slot slot;
    if (value == NULL || self->readonly) {
        PyErr_Format(PyExc_TypeError, "%R: items cannot be %s", op,
                     value == NULL ? "deleted" : "assigned");
        return -1;
    }
    if (PySlice_Check(index)) {
        PyObject *items = get_slice((cwj_pointer *)op, index);
        int status = items == NULL ? -1 : PyArray_CopyObject((PyArrayObject *)items, value);
        Py_XDECREF(items);
        return status;
    }
    if (find_item(self, index, &type) == NULL) {
        return -1;
    }
    cwj_fit fit = cwj_scalar_take(type, false, value, &slot);
    if (fit != CWJ_FITS) {
        return cwj_scalar_refuse(fit, type, value, "an item of a Pointer to %U", self->item);
    }
    char *at = find_item(self, index, &type); /* again: a number may run Python code */
    if (at == NULL) {
        return -1;
    }
    cwj_scalar_store(type, &slot, at);
    return 0;
}

PyObject *
cwj_pointer_array(PyObject *op, PyObject *args)
{
    PyArray_Dims dims = {NULL, 0};
    PyArray_Descr *dtype = NULL;
    PyObject *made = NULL;
    if (PyArg_ParseTuple(args, "O&|O&:array", PyArray_IntpConverter, &dims, PyArray_DescrConverter2,
                         &dtype)) {
        made = view((cwj_pointer *)op, dims.len, dims.ptr, dtype);
    }
    PyDimMem_FREE(dims.ptr);
    Py_XDECREF(dtype);
    return made;
}
