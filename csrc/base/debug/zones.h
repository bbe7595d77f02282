/* zones.h: memory of new arrays with red zones around it, for debug=True.
 *
 * While such an allocator is in use, NumPy takes the memory of each new array from it: filled
 * with a pattern, between two zones that nobody has reason to write to. Such arrays are
 * ordinary ones otherwise, and keep their allocator.
 */
#ifndef CWJ_BASE_DEBUG_ZONES_H
#define CWJ_BASE_DEBUG_ZONES_H

#include "base/api.h"

/* Makes NumPy use it in this thread's context; returns what is to be given back to
 * cwj_zones_leave(), or NULL with an exception set. */
PyObject *cwj_zones_enter(void);
/* Keeps an exception that is set. Steals before. */
void cwj_zones_leave(PyObject *before);

/* The array's memory is its own, and of this allocator. */
bool cwj_zones_have(PyArrayObject *array);
/* data is the memory of an array of this allocator. Returns true where bytes around it were
 * written to; *offset is the nearest of those that were found, in bytes from data. */
bool cwj_zones_damaged(const void *data, ptrdiff_t *offset);
/* Such an array has a number that nobody has written to, at *offset bytes from its first.
 * Numbers of less than four bytes cannot be told. */
bool cwj_zones_unwritten(PyArrayObject *array, npy_intp *offset);

#endif
