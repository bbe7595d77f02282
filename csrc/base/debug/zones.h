/* zones.h: memory of new arrays with red zones around it, for debug=True.
 *
 * While such an allocator is in use, NumPy takes the memory of each new array from it: filled
 * with a pattern, and fenced: see fence.h. Such arrays are ordinary ones otherwise, and keep
 * their allocator. Only the newest are fenced, as mappings are few; around the others are zones.
 */
#pragma once

#include "base/debug/fence.h"

/* Makes NumPy use it in this thread's context; returns what is to be given back to
 * cwj_zones_leave(), or NULL with an exception set. beyond: code may read words that
 * arrays end in, see cwj_bytes_read_beyond(). */
PyObject *cwj_zones_enter(bool beyond);
/* Keeps an exception that is set. Steals before. */
void cwj_zones_leave(PyObject *before);

/* The array's memory is its own, and of this allocator. */
bool cwj_zones_have(PyArrayObject *array);
/* The new array around which a wrong address is, or NULL. */
const cwj_fence *cwj_zones_find(const void *address);
/* data is the memory of an array of this allocator. Returns true where bytes around it were
 * written to; *offset is the nearest of those that were found, in bytes from data. */
bool cwj_zones_damaged(const void *data, ptrdiff_t *offset);
/* Such an array has a number that nobody has written to, at *offset bytes from its first.
 * Numbers of less than four bytes cannot be told. */
bool cwj_zones_unwritten(PyArrayObject *array, npy_intp *offset);
