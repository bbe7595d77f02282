/* builtin.h: the native half of the built-in types and ops of graphs.
 *
 *     scalars.c      numbers: Python's to C's, as base/numbers.h says, and back
 *     arrays.c       arrays: what is accepted, what may be overwritten
 *     capsule.c      C pointers that results own
 *     elementwise.c  broadcasting
 *     python.c       what the Python half calls: filters; the names in a type's declarations; where
 *                    expressions can stand
 */
#pragma once

#include "base/state.h"

#include "../../../cwrapjit/include/cwj_arrays.h"

/* PyCapsule_New() and PyCapsule_SetDestructor() as compiled code has them. */
PyObject *cwj_capsule_new_plain(void *pointer, const char *name, PyCapsule_Destructor ender);
int cwj_capsule_set_destructor(PyObject *capsule, PyCapsule_Destructor ender);

/* Adds the functions of python.c to the extension module. */
int cwj_add_builtin(PyObject *extension);
