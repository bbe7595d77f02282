/* kernel.h: declares the types that the kernels of cwrapjit/kernels/ use. */
#pragma once

#include "base/state.h"

/* Adds the types to the extension module. Returns 0, or -1 with an exception set. */
int cwj_add_kernel_types(PyObject *extension);

extern PyType_Spec cwj_adapted_spec; /* adapt.c */
