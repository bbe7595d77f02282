/* function.h: type cwrapjit.LibraryFunction, a C function with checked arguments. */
#ifndef CWJ_WRAP_FUNCTION_H
#define CWJ_WRAP_FUNCTION_H

#include "../state.h"

int cwj_add_library_function(PyObject *extension, cwj_module_state *state);

#endif
