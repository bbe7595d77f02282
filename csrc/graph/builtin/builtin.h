/* builtin.h: declares the C side of the built-in types and ops of graphs (see also cwj_arrays.h).
 *
 *     scalars.c      converts numbers to C, by base/numbers.h, and back
 *     arrays.c       checks arrays, and makes or reuses those of results
 *     capsule.c      makes capsules that own C pointers
 *     elementwise.c  broadcasts operands and runs inner loops
 *     python.c       functions for the Python side: filters, and readers of C texts
 */
#pragma once

#include "base/state.h"

#include "../../../cwrapjit/include/cwj_arrays.h"

/* Compiled code calls these as PyCapsule_New() and PyCapsule_SetDestructor(). */
PyObject *cwj_capsule_new_plain(void *pointer, const char *name, PyCapsule_Destructor ender);
int cwj_capsule_set_destructor(PyObject *capsule, PyCapsule_Destructor ender);

/* Adds the functions of python.c to the extension module. */
int cwj_add_builtin(PyObject *extension);
