/* equality.h: compares and hashes functions by content. */
#pragma once

#include "base/state.h"

Py_hash_t cwj_function_hash(PyObject *self);
PyObject *cwj_function_compare(PyObject *self, PyObject *other, int op);
