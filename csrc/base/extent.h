/* extent.h: computes which memory an array covers and whether two arrays overlap, for the calls of functions (m.write()
 * embeds this text), ufuncs, libraries and graphs. */
#pragma once

/* Python.h and numpy/arrayobject.h come before this file. */

#ifndef CWJ_SHORT_LOOP
#define CWJ_SHORT_LOOP() /* only the calls of functions define it */
#endif

enum {
    CWJ_OVERLAP_WORK = 100000
}; /* candidate solutions that NumPy may try */

typedef struct cwj_extent {
    const char *low; /* first byte */
    const char *high; /* one past the last byte; low == high: no elements */
} cwj_extent;

static inline cwj_extent
extent_of_memory(const char *data, int ndim, const npy_intp *dims, const npy_intp *strides,
                 npy_intp itemsize)
{
    cwj_extent extent = {data, data};
    for (int i = 0; i < ndim; i++) {
        CWJ_SHORT_LOOP();
        npy_intp reach = (dims[i] - 1) * strides[i];
        if (dims[i] == 0) {
            return (cwj_extent){data, data};
        }
        if (reach < 0) {
            extent.low += reach;
        } else {
            extent.high += reach;
        }
    }
    extent.high += itemsize;
    return extent;
}

/* Returns NumPy's exact answer: 1 if memory is shared, 0 if not, -1 with an exception set. If the
 * work limit does not suffice, may_share_memory() returns true; shares_memory() would raise. */
static inline int
shares_exactly(PyArrayObject *one, PyArrayObject *other)
{
    int shared = -1;
    PyObject *answer = NULL;
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *test = numpy == NULL ? NULL : PyObject_GetAttrString(numpy, "may_share_memory");
    if (test == NULL) {
        goto done;
    }
    answer = PyObject_CallFunction(test, "OOi", (PyObject *)one, (PyObject *)other,
                                   (int)CWJ_OVERLAP_WORK);
    if (answer != NULL) {
        shared = PyObject_IsTrue(answer);
    }
done:
    Py_XDECREF(answer);
    Py_XDECREF(test);
    Py_XDECREF(numpy);
    return shared;
}

/* Returns true if no two elements can share memory: in order of size, each stride steps over everything that smaller
 * strides cover. A wrong "false" is only possible for strides made by as_strided(). */
static inline int
strides_are_nested(int ndim, const npy_intp *dims, const npy_intp *strides, npy_intp itemsize)
{
    /* Unsigned, because strides of as_strided() may have any value. */
    npy_uintp covered = (npy_uintp)itemsize;
    npy_uintp below = 0; /* axes are visited by (|stride|, index) */
    int below_index = -1;
    for (int turn = 0; turn < ndim; turn++) {
        int next = -1;
        npy_uintp smallest = 0;
        for (int i = 0; i < ndim; i++) {
            npy_uintp stride = (npy_uintp)strides[i];
            npy_uintp size = strides[i] < 0 ? 0 - stride : stride;
            int is_later = size > below || (size == below && i > below_index);
            if (is_later && (next < 0 || size < smallest)) {
                next = i;
                smallest = size;
            }
        }
        below = smallest;
        below_index = next;
        if (dims[next] > 1) {
            if (smallest < covered) {
                return 0;
            }
            covered += (npy_uintp)(dims[next] - 1) * smallest;
        }
    }
    return 1;
}

/* Returns a new array of the memory's bytes, or NULL with an exception set. */
static inline PyArrayObject *
bytes_in(const char *data, int ndim, const npy_intp *dims, const npy_intp *strides,
         npy_intp itemsize)
{
    npy_intp all_dims[NPY_MAXDIMS + 1], all_strides[NPY_MAXDIMS + 1];
    int n = 0;
    for (int i = 0; i < ndim; i++) {
        if (dims[i] > 1) {
            all_dims[n] = dims[i];
            all_strides[n++] = strides[i];
        }
    }
    all_dims[n] = itemsize;
    all_strides[n++] = 1;
    return (PyArrayObject *)PyArray_New(&PyArray_Type, n, all_dims, NPY_UINT8, all_strides,
                                        (void *)data, 0, 0, NULL);
}

/* Checks exactly (with shares_exactly()) that no two elements share memory. Returns 1 if so, 0 if
 * not, -1 with an exception set. Only the differences of indices matter. For each axis it is
 * therefore enough to compare the first row with all later rows. */
static inline int
elements_are_apart(const char *data, int ndim, const npy_intp *dims, const npy_intp *strides,
                   npy_intp itemsize)
{
    int shared = 0;
    if (strides_are_nested(ndim, dims, strides, itemsize)) {
        return 1;
    }
    for (int i = 0; i < ndim; i++) {
        shared |= dims[i] > 1 && strides[i] == 0; /* stride 0: any length, as from
                                                     np.broadcast_to() */
    }
    for (; ndim > 0 && shared == 0; ndim--, dims++, strides++) {
        if (dims[0] < 2) {
            continue;
        }
        PyArrayObject *row = bytes_in(data, ndim - 1, dims + 1, strides + 1, itemsize);
        npy_intp more[NPY_MAXDIMS];
        memcpy(more, dims, (size_t)ndim * sizeof(*more));
        more[0]--;
        PyArrayObject *others = bytes_in(data + strides[0], ndim, more, strides, itemsize);
        shared = row == NULL || others == NULL ? -1 : shares_exactly(row, others);
        Py_XDECREF(row);
        Py_XDECREF(others);
    }
    return shared < 0 ? -1 : !shared;
}
