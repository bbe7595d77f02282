/* storage.h: lists of one object; cwj_graph.h has what generated code uses of it. */
#pragma once

#include "base/state.h"

#include "../../../cwrapjit/include/cwj_graph.h"

/* A new storage of value; NULL: of None. */
PyObject *cwj_storage_new(PyObject *value);
int cwj_storage_is_sound(PyObject *storage); /* of any object, or NULL */
