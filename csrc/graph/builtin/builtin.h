/* builtin.h: the native half of the built-in types and ops of graphs.
 *
 *     scalars.c      numbers: Python's to C's, as base/numbers.h says, and back
 *     arrays.c       arrays: what is accepted, what may be overwritten
 *     capsule.c      C pointers that results own
 *     elementwise.c  broadcasting
 *     filters.c      what a call does to its arguments, as callables
 *     declared.c     the names in a type's declarations; where expressions can stand
 */
#pragma once

#include "base/state.h"

#include "../../../cwrapjit/include/cwj_arrays.h"

/* PyCapsule_New() and PyCapsule_SetDestructor() as compiled code has them. */
PyObject *cwj_capsule_new_plain(void *pointer, const char *name, PyCapsule_Destructor ender);
int cwj_capsule_set_destructor(PyObject *capsule, PyCapsule_Destructor ender);

/* declared_names(who, text, name): a tuple of the variables that text declares, all of
 * them with name in their names. CompileError, ValueError. */
PyObject *cwj_declared_names(PyObject *extension, PyObject *args);

/* expression_standing(expression, before): "", where it can stand in a loop, else what makes a
 * function that it needs of a static one. */
PyObject *cwj_expression_standing(PyObject *extension, PyObject *args);

/* Adds the functions of filters.c and declared.c to the extension module. */
int cwj_add_filters(PyObject *extension);
