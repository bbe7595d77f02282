/* library.h: declares the entry points of the front end library(). */
#pragma once

#include "base/state.h"

/* Adds the types and functions to the extension module. Returns 0, or -1 with an exception set. */
int cwj_add_library_types(PyObject *extension, cwj_module_state *state);
/* library_function.c: type cwrapjit.LibraryFunction, a C function with checked arguments. */
extern PyType_Spec cwj_library_function_spec;
extern PyMethodDef cwj_wrap_functions[];
