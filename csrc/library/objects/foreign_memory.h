/* foreign_memory.h: arrays over memory that C made, and who keeps it alive. */
#pragma once

#include "library/tables/slots.h"

/* An array over `data`, without a copy. strides: NULL for items without gaps, in C's order or in
 * Fortran's. base (borrowed, or NULL: static data) is kept alive by the array: an argument of the
 * call, an instance, or a tuple of several. As in NumPy, the base of a view is the view's owner.
 * descr is borrowed. */
PyObject *cwj_array_over(PyArray_Descr *descr, int nd, const npy_intp *dims,
                         const npy_intp *strides, bool fortran, void *data, bool writeable,
                         PyObject *base);

/* What ends the memory at data with itself, and keeps `code` meanwhile (borrowed, or NULL). On failure
 * it has been ended. */
PyObject *cwj_gift(void *data, void (*free)(void *), PyObject *code);

/* An array over memory at data. free: not NULL, ends the memory with the array.
 * base: kept alive. descr and base are borrowed. */
PyObject *cwj_array_around(PyArray_Descr *descr, int ndim, const npy_intp *shape, bool fortran,
                           void *data, void (*free)(void *), PyObject *base, bool writeable);
