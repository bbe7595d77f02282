/* storage.h: lists of one object; cwj_graph.h has what generated code uses of it. */
#pragma once

#include "base/state.h"

#include "../../../cwrapjit/include/cwj_graph.h"

/* A new storage of value; NULL: of None. */
PyObject *cwj_storage_new(PyObject *value);
int cwj_storage_is_sound(PyObject *storage); /* of any object, or NULL */

/* Somebody may come back to an object that nobody holds any more. */
static inline bool
cwj_has_weak_references(PyObject *object)
{
    return PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)) &&
           *PyObject_GET_WEAKREFS_LISTPTR(object) != NULL;
}
