/* library_function.h: type cwrapjit.LibraryFunction, a C function with checked arguments. */
#ifndef CWJ_LIBRARY_LIBRARY_FUNCTION_H
#define CWJ_LIBRARY_LIBRARY_FUNCTION_H

#include "base/state.h"

extern PyType_Spec cwj_library_function_spec;
extern PyMethodDef cwj_wrap_functions[];

#endif
