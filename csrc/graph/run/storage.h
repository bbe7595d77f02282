/* storage.h: makes and checks storages, lists of one object. cwj_graph.h declares what generated code calls. */
#pragma once

#include "base/state.h"

#include "../../../cwrapjit/include/cwj_graph.h"

/* A new storage that holds value, or None if that is NULL. */
PyObject *cwj_storage_new(PyObject *value);
int cwj_storage_is_sound(PyObject *storage); /* accepts any object, and NULL */

/* Weak references can revive an object that nothing else holds. */
static inline bool
cwj_has_weak_references(PyObject *object)
{
    return PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)) &&
           *PyObject_GET_WEAKREFS_LISTPTR(object) != NULL;
}
