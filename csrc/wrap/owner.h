/* owner.h: arrays over memory that C made, and who keeps it alive; see wrap.h, too. */
#ifndef CWJ_WRAP_OWNER_H
#define CWJ_WRAP_OWNER_H

#include "../state.h"

/* An array over `data` without a copy. base (borrowed, or NULL: static data) is kept alive
 * by the array: an argument of the call, an instance, or a tuple of several. As in NumPy,
 * the base of a view is the view's owner. descr is borrowed. */
PyObject *cwj_array_over(PyArray_Descr *descr, int nd, const npy_intp *dims, bool fortran,
                         void *data, bool writeable, PyObject *base);

#endif
