/* cwj_numpy.h: the functions of <numpy/arrayobject.h>, for that header and for csrc/base/shim.c.
 *
 * What NumPy has in its table is used as it is; of what it has as macros or inline, shim.c makes
 * functions.
 */
#ifndef CWJ_NUMPY_H
#define CWJ_NUMPY_H

/* clang-format off */
/* In NumPy's table: F(type, name, parameters). */
#define CWJ_NUMPY_TABLE(F) \
    F(void, PyArray_ScalarAsCtype, (PyObject *, void *)) \
    F(PyArray_Descr *, PyArray_DescrFromScalar, (PyObject *)) \
    F(void *, PyArray_GetPtr, (PyArrayObject *, const npy_intp *)) \
    F(PyObject *, PyArray_Scalar, (void *, PyArray_Descr *, PyObject *)) \
    F(PyObject *, PyArray_FromScalar, (PyObject *, PyArray_Descr *)) \
    F(PyObject *, PyArray_New, (PyTypeObject *, int, const npy_intp *, int, const npy_intp *, \
      void *, int, int, PyObject *)) \
    F(PyObject *, PyArray_NewFromDescr, (PyTypeObject *, PyArray_Descr *, int, \
      const npy_intp *, const npy_intp *, void *, int, PyObject *)) \
    F(PyObject *, PyArray_NewLikeArray, (PyArrayObject *, NPY_ORDER, PyArray_Descr *, int)) \
    F(PyObject *, PyArray_NewCopy, (PyArrayObject *, NPY_ORDER)) \
    F(PyObject *, PyArray_Zeros, (int, const npy_intp *, PyArray_Descr *, int)) \
    F(PyObject *, PyArray_Empty, (int, const npy_intp *, PyArray_Descr *, int)) \
    F(PyObject *, PyArray_Arange, (double, double, double, int)) \
    F(PyObject *, PyArray_FromAny, (PyObject *, PyArray_Descr *, int, int, int, PyObject *)) \
    F(PyObject *, PyArray_CheckFromAny, (PyObject *, PyArray_Descr *, int, int, int, \
      PyObject *)) \
    F(PyObject *, PyArray_FromArray, (PyArrayObject *, PyArray_Descr *, int)) \
    F(PyObject *, PyArray_EnsureArray, (PyObject *)) \
    F(PyObject *, PyArray_FromBuffer, (PyObject *, PyArray_Descr *, npy_intp, npy_intp)) \
    F(PyObject *, PyArray_Return, (PyArrayObject *)) \
    F(int, PyArray_SetBaseObject, (PyArrayObject *, PyObject *)) \
    F(int, PyArray_CopyInto, (PyArrayObject *, PyArrayObject *)) \
    F(int, PyArray_CopyObject, (PyArrayObject *, PyObject *)) \
    F(int, PyArray_FillWithScalar, (PyArrayObject *, PyObject *)) \
    F(int, PyArray_FailUnlessWriteable, (PyArrayObject *, const char *)) \
    F(int, PyArray_ResolveWritebackIfCopy, (PyArrayObject *)) \
    F(int, PyArray_Sort, (PyArrayObject *, int, NPY_SORTKIND)) \
    F(void, PyArray_UpdateFlags, (PyArrayObject *, int)) \
    F(PyObject *, PyArray_Reshape, (PyArrayObject *, PyObject *)) \
    F(PyObject *, PyArray_Newshape, (PyArrayObject *, PyArray_Dims *, NPY_ORDER)) \
    F(PyObject *, PyArray_Transpose, (PyArrayObject *, PyArray_Dims *)) \
    F(PyObject *, PyArray_SwapAxes, (PyArrayObject *, int, int)) \
    F(PyObject *, PyArray_Squeeze, (PyArrayObject *)) \
    F(PyObject *, PyArray_Ravel, (PyArrayObject *, NPY_ORDER)) \
    F(PyObject *, PyArray_Flatten, (PyArrayObject *, NPY_ORDER)) \
    F(PyObject *, PyArray_View, (PyArrayObject *, PyArray_Descr *, PyTypeObject *)) \
    F(PyObject *, PyArray_CastToType, (PyArrayObject *, PyArray_Descr *, int)) \
    F(PyObject *, PyArray_Concatenate, (PyObject *, int)) \
    F(PyObject *, PyArray_TakeFrom, (PyArrayObject *, PyObject *, int, PyArrayObject *, \
      NPY_CLIPMODE)) \
    F(PyObject *, PyArray_Repeat, (PyArrayObject *, PyObject *, int)) \
    F(PyObject *, PyArray_Where, (PyObject *, PyObject *, PyObject *)) \
    F(PyObject *, PyArray_Nonzero, (PyArrayObject *)) \
    F(PyObject *, PyArray_ArgSort, (PyArrayObject *, int, NPY_SORTKIND)) \
    F(PyObject *, PyArray_ArgMax, (PyArrayObject *, int, PyArrayObject *)) \
    F(PyObject *, PyArray_ArgMin, (PyArrayObject *, int, PyArrayObject *)) \
    F(PyObject *, PyArray_Max, (PyArrayObject *, int, PyArrayObject *)) \
    F(PyObject *, PyArray_Min, (PyArrayObject *, int, PyArrayObject *)) \
    F(PyObject *, PyArray_All, (PyArrayObject *, int, PyArrayObject *)) \
    F(PyObject *, PyArray_Any, (PyArrayObject *, int, PyArrayObject *)) \
    F(PyObject *, PyArray_Sum, (PyArrayObject *, int, int, PyArrayObject *)) \
    F(PyObject *, PyArray_Prod, (PyArrayObject *, int, int, PyArrayObject *)) \
    F(PyObject *, PyArray_Mean, (PyArrayObject *, int, int, PyArrayObject *)) \
    F(PyObject *, PyArray_CumSum, (PyArrayObject *, int, int, PyArrayObject *)) \
    F(PyObject *, PyArray_CumProd, (PyArrayObject *, int, int, PyArrayObject *)) \
    F(PyObject *, PyArray_Clip, (PyArrayObject *, PyObject *, PyObject *, PyArrayObject *)) \
    F(PyObject *, PyArray_Conjugate, (PyArrayObject *, PyArrayObject *)) \
    F(PyObject *, PyArray_Round, (PyArrayObject *, int, PyArrayObject *)) \
    F(PyObject *, PyArray_InnerProduct, (PyObject *, PyObject *)) \
    F(PyObject *, PyArray_MatrixProduct, (PyObject *, PyObject *)) \
    F(PyObject *, PyArray_ToList, (PyArrayObject *)) \
    F(npy_intp, PyArray_CountNonzero, (PyArrayObject *)) \
    F(PyArray_Descr *, PyArray_DescrFromType, (int)) \
    F(PyArray_Descr *, PyArray_DescrNewFromType, (int)) \
    F(PyArray_Descr *, PyArray_DescrFromObject, (PyObject *, PyArray_Descr *)) \
    F(int, PyArray_DescrConverter, (PyObject *, PyArray_Descr **)) \
    F(int, PyArray_DescrConverter2, (PyObject *, PyArray_Descr **)) \
    F(int, PyArray_Converter, (PyObject *, PyObject **)) \
    F(int, PyArray_OutputConverter, (PyObject *, PyArrayObject **)) \
    F(int, PyArray_BoolConverter, (PyObject *, npy_bool *)) \
    F(int, PyArray_AxisConverter, (PyObject *, int *)) \
    F(int, PyArray_IntpFromSequence, (PyObject *, npy_intp *, int)) \
    F(int, PyArray_PyIntAsInt, (PyObject *)) \
    F(int, PyArray_CanCastSafely, (int, int)) \
    F(int, PyArray_ObjectType, (PyObject *, int)) \
    F(int, PyArray_CompareLists, (const npy_intp *, const npy_intp *, int)) \
    F(npy_intp, PyArray_PyIntAsIntp, (PyObject *)) \
    F(npy_intp, PyArray_MultiplyList, (const npy_intp *, int)) \
    F(unsigned char, PyArray_EquivTypes, (PyArray_Descr *, PyArray_Descr *)) \
    F(unsigned char, PyArray_EquivTypenums, (int, int)) \
    F(npy_bool, PyArray_CanCastTypeTo, (PyArray_Descr *, PyArray_Descr *, NPY_CASTING))

/* The others: int NAME(const PyArrayObject *). */
#define CWJ_NUMPY_QUESTIONS(A) \
    A(PyArray_NDIM) A(PyArray_TYPE) A(PyArray_FLAGS) A(PyArray_ISCONTIGUOUS) \
    A(PyArray_IS_C_CONTIGUOUS) A(PyArray_IS_F_CONTIGUOUS) A(PyArray_ISFORTRAN) \
    A(PyArray_ISONESEGMENT) A(PyArray_ISALIGNED) A(PyArray_ISWRITEABLE) A(PyArray_ISBEHAVED) \
    A(PyArray_ISBEHAVED_RO) A(PyArray_ISCARRAY) A(PyArray_ISCARRAY_RO) A(PyArray_ISFARRAY) \
    A(PyArray_ISFARRAY_RO) A(PyArray_ISNOTSWAPPED) A(PyArray_ISBYTESWAPPED) A(PyArray_ISBOOL) \
    A(PyArray_ISINTEGER) A(PyArray_ISSIGNED) A(PyArray_ISUNSIGNED) A(PyArray_ISFLOAT) \
    A(PyArray_ISCOMPLEX) A(PyArray_ISNUMBER) A(PyArray_ISSTRING) A(PyArray_ISFLEXIBLE) \
    A(PyArray_ISOBJECT)
/* Fn(type, name, types of n parameters). */
#define CWJ_NUMPY_OTHERS(F1, F2, F3, F4, F5) \
    F1(int, PyArray_Check, const void *) \
    F1(int, PyArray_CheckExact, const void *) \
    F1(int, PyArray_IsZeroDim, const void *) \
    F1(int, PyArray_CheckScalar, const void *) \
    F1(int, PyArray_IsAnyScalar, const void *) \
    F1(void *, PyArray_DATA, const PyArrayObject *) \
    F1(char *, PyArray_BYTES, const PyArrayObject *) \
    F1(npy_intp *, PyArray_DIMS, const PyArrayObject *) \
    F1(npy_intp *, PyArray_SHAPE, const PyArrayObject *) \
    F2(npy_intp, PyArray_DIM, const PyArrayObject *, int) \
    F1(npy_intp *, PyArray_STRIDES, const PyArrayObject *) \
    F2(npy_intp, PyArray_STRIDE, const PyArrayObject *, int) \
    F1(npy_intp, PyArray_ITEMSIZE, const PyArrayObject *) \
    F1(npy_intp, PyArray_SIZE, PyArrayObject *) \
    F1(npy_intp, PyArray_NBYTES, PyArrayObject *) \
    F1(PyArray_Descr *, PyArray_DESCR, const PyArrayObject *) \
    F1(PyArray_Descr *, PyArray_DTYPE, const PyArrayObject *) \
    F1(PyObject *, PyArray_BASE, const PyArrayObject *) \
    F2(int, PyArray_CHKFLAGS, const PyArrayObject *, int) \
    F2(int, PyArray_SAMESHAPE, const PyArrayObject *, const PyArrayObject *) \
    F1(npy_intp, PyDataType_ELSIZE, const PyArray_Descr *) \
    F1(npy_intp, PyDataType_ALIGNMENT, const PyArray_Descr *) \
    F2(void *, PyArray_GETPTR1, const PyArrayObject *, npy_intp) \
    F3(void *, PyArray_GETPTR2, const PyArrayObject *, npy_intp, npy_intp) \
    F4(void *, PyArray_GETPTR3, const PyArrayObject *, npy_intp, npy_intp, npy_intp) \
    F5(void *, PyArray_GETPTR4, const PyArrayObject *, npy_intp, npy_intp, npy_intp, npy_intp) \
    F2(PyObject *, PyArray_GETITEM, const PyArrayObject *, const char *) \
    F3(int, PyArray_SETITEM, PyArrayObject *, char *, PyObject *) \
    F2(PyObject *, PyArray_ToScalar, void *, PyArrayObject *) \
    F3(PyObject *, PyArray_SimpleNew, int, const npy_intp *, int) \
    F4(PyObject *, PyArray_SimpleNewFromData, int, const npy_intp *, int, void *) \
    F3(PyObject *, PyArray_SimpleNewFromDescr, int, const npy_intp *, PyArray_Descr *) \
    F1(PyObject *, PyArray_Copy, PyArrayObject *) \
    F4(PyObject *, PyArray_ZEROS, int, const npy_intp *, int, int) \
    F4(PyObject *, PyArray_EMPTY, int, const npy_intp *, int, int) \
    F1(PyObject *, PyArray_FROM_O, PyObject *) \
    F2(PyObject *, PyArray_FROM_OF, PyObject *, int) \
    F2(PyObject *, PyArray_FROM_OT, PyObject *, int) \
    F3(PyObject *, PyArray_FROM_OTF, PyObject *, int, int) \
    F5(PyObject *, PyArray_FROMANY, PyObject *, int, int, int, int) \
    F4(PyObject *, PyArray_FromObject, PyObject *, int, int, int) \
    F4(PyObject *, PyArray_ContiguousFromAny, PyObject *, int, int, int) \
    F4(PyObject *, PyArray_ContiguousFromObject, PyObject *, int, int, int) \
    F4(PyObject *, PyArray_CopyFromObject, PyObject *, int, int, int) \
    F1(PyArrayObject *, PyArray_GETCONTIGUOUS, PyArrayObject *) \
    F1(void, PyArray_DiscardWritebackIfCopy, PyArrayObject *) \
    F2(void, PyArray_ENABLEFLAGS, PyArrayObject *, int) \
    F2(void, PyArray_CLEARFLAGS, PyArrayObject *, int) \
    F2(PyObject *, PyArray_Cast, PyArrayObject *, int) \
    F2(unsigned char, PyArray_EquivArrTypes, PyArrayObject *, PyArrayObject *)
/* Types of arrays and of scalars. */
#define CWJ_NUMPY_TYPES(T) \
    T(PyArray_Type) T(PyGenericArrType_Type) T(PyBoolArrType_Type) T(PyInt8ArrType_Type) \
    T(PyInt16ArrType_Type) T(PyInt32ArrType_Type) T(PyInt64ArrType_Type) T(PyUInt8ArrType_Type) \
    T(PyUInt16ArrType_Type) T(PyUInt32ArrType_Type) T(PyUInt64ArrType_Type) \
    T(PyByteArrType_Type) T(PyUByteArrType_Type) T(PyShortArrType_Type) T(PyUShortArrType_Type) \
    T(PyIntArrType_Type) T(PyUIntArrType_Type) T(PyLongArrType_Type) T(PyULongArrType_Type) \
    T(PyLongLongArrType_Type) T(PyULongLongArrType_Type) T(PyHalfArrType_Type) \
    T(PyFloat16ArrType_Type) T(PyFloatArrType_Type) T(PyFloat32ArrType_Type) \
    T(PyDoubleArrType_Type) T(PyFloat64ArrType_Type) T(PyLongDoubleArrType_Type) \
    T(PyCFloatArrType_Type) T(PyComplex64ArrType_Type) T(PyCDoubleArrType_Type) \
    T(PyComplex128ArrType_Type)
/* clang-format on */

#endif
