/* zones.h: allocates new arrays with red zones around them, for debug=True.
 *
 * While this allocator is in use, NumPy takes the memory of each new array from it. The memory is filled with a pattern
 * and fenced (fence.h). Otherwise such arrays are ordinary ones; they keep their allocator. Mappings are scarce, so
 * only the newest arrays are fenced; the others have zones only. */
#pragma once

#include "base/debug/fence.h"

/* Makes NumPy use the allocator in this thread's context. Returns the previous handler, for cwj_zones_leave(), or
 * NULL with an exception set. beyond: code may read beyond arrays, see cwj_bytes_read_beyond(). */
PyObject *cwj_zones_enter(bool beyond);
/* Restores the previous handler, and steals it. Keeps an exception that is set. */
void cwj_zones_leave(PyObject *before);

/* Returns true if the array owns its memory, and this allocator allocated it. */
bool cwj_zones_have(PyArrayObject *array);
/* Returns the fence of the new array that an invalid address is next to, or NULL. */
const cwj_fence *cwj_zones_find(const void *address);
/* data points to an array of this allocator. Returns true if bytes around the array were overwritten. *offset is then
 * the nearest of them, relative to data, or the start of the array's header if that was overwritten. */
bool cwj_zones_damaged(const void *data, ptrdiff_t *offset);
/* Returns true if the array contains a number that was never written, at *offset bytes from its start. Numbers of less
 * than four bytes cannot be checked. */
bool cwj_zones_unwritten(PyArrayObject *array, npy_intp *offset);
