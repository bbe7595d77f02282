/* foreign_memory.h: makes arrays over C's memory, which keep it alive. */
#pragma once

#include "library/tables/slots.h"

/* Returns an array over `data`, without a copy. strides: NULL for items without gaps, in C or Fortran order. The array
 * keeps base alive: an argument of the call, an instance, or a tuple of several; NULL for static data. As in NumPy, the
 * base of a view is the view's owner. Borrows descr and base. */
PyObject *cwj_array_over(PyArray_Descr *descr, int nd, const npy_intp *dims,
                         const npy_intp *strides, bool fortran, void *data, bool writeable,
                         PyObject *base);
