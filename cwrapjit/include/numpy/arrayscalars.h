/* numpy/arrayscalars.h: the structs of NumPy's scalars. Their types are in arrayobject.h here. */
#ifndef CWJ_NUMPY_ARRAYSCALARS_H
#define CWJ_NUMPY_ARRAYSCALARS_H

#include "arrayobject.h"

#define CWJ_SCALAR(cls, type) \
    typedef struct {          \
        PyObject ob_base;     \
        type obval;           \
    } Py##cls##ScalarObject;

CWJ_SCALAR(Bool, npy_bool)
CWJ_SCALAR(Int8, npy_int8)
CWJ_SCALAR(Int16, npy_int16)
CWJ_SCALAR(Int32, npy_int32)
CWJ_SCALAR(Int64, npy_int64)
CWJ_SCALAR(UInt8, npy_uint8)
CWJ_SCALAR(UInt16, npy_uint16)
CWJ_SCALAR(UInt32, npy_uint32)
CWJ_SCALAR(UInt64, npy_uint64)
CWJ_SCALAR(Half, npy_half)
CWJ_SCALAR(Float16, npy_half)
CWJ_SCALAR(Float, float)
CWJ_SCALAR(Float32, float)
CWJ_SCALAR(Double, double)
CWJ_SCALAR(Float64, double)
CWJ_SCALAR(Complex64, npy_complex64)
CWJ_SCALAR(Complex128, npy_complex128)
#undef CWJ_SCALAR

PyObject *PyType_GenericAlloc(PyTypeObject *, Py_ssize_t);
#define PyArrayScalar_New(cls) PyType_GenericAlloc(&Py##cls##ArrType_Type, 0)
#define PyArrayScalar_VAL(object, cls) (((Py##cls##ScalarObject *)(object))->obval)
#define PyArrayScalar_ASSIGN(object, cls, value) (PyArrayScalar_VAL(object, cls) = (value))

#endif
