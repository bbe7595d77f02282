/* content.h: what a function or module is by its content: copies, pickles, equality. */
#ifndef CWJ_FUNCTION_CONTENT_H
#define CWJ_FUNCTION_CONTENT_H

#include "base/state.h"

/* Methods __reduce__ and __dask_tokenize__, and __copy__ and __deepcopy__, which return the object
 * itself. */
PyObject *cwj_content_reduce(PyObject *self, PyObject *unused);
PyObject *cwj_content_token(PyObject *self, PyObject *unused);
PyObject *cwj_content_copy(PyObject *self, PyObject *unused);

/* Of functions. */
Py_hash_t cwj_content_hash(PyObject *self);
PyObject *cwj_content_compare(PyObject *self, PyObject *other, int op);

#endif
