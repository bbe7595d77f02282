/* kernel.h: what the extension module gets for the kernels of cwrapjit/kernels/. */
#pragma once

#include "base/state.h"

/* Adds the types to the extension module. Returns 0, or -1 with an exception set. */
int cwj_add_kernel_types(PyObject *extension);

extern PyType_Spec cwj_adapted_spec; /* adapt.c */
