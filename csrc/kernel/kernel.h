/* kernel.h: declares the types that cwrapjit/kernels/ and cwrapjit/tracing/ use. */
#pragma once

#include "base/state.h"

/* Adds the types to the extension module. Returns 0, or -1 with an exception set. */
int cwj_add_kernel_types(PyObject *extension);

extern PyType_Spec cwj_adapted_spec;        /* adapt.c */
extern PyType_Spec cwj_shape_dispatch_spec; /* shape_dispatch.c */

/* The method __init_subclass__: Python before 3.12 does not let subclasses inherit the flag of vectorcall. */
PyObject *cwj_inherit_vectorcall(PyObject *cls, PyObject *unused);

static inline bool
is_numeric(int type_num)
{
    return (type_num >= NPY_BOOL && type_num <= NPY_CLONGDOUBLE) || type_num == NPY_HALF;
}
