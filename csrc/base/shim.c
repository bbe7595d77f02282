/* shim.c: NumPy's and CPython's macros as functions, for compiled snippets.
 *
 * Snippets see the small <Python.h> and <numpy/arrayobject.h> of the package,
 * where arrays are opaque, because the real headers are slow to read and use
 * what libtcc lacks. What those headers do by macros on struct members, and
 * the functions of NumPy's table, are offered here under NumPy's own names.
 * Each function does what NumPy's macro does, errors and references included.
 */
#include "base/shim.h"

#include "base/api.h"

/* The header's PyArray_Type is what this points to. */
static PyTypeObject *
array_type(void)
{
    return &PyArray_Type;
}

/* The class of NumPy's scalars of that type; no such type: numpy.generic. */
static PyTypeObject *
scalar_type(int type)
{
    PyArray_Descr *descr = type < 0 ? NULL : PyArray_DescrFromType(type);
    PyTypeObject *found = descr == NULL ? &PyGenericArrType_Type : descr->typeobj;
    Py_XDECREF(descr); /* NumPy keeps it */
    return found;
}

static PyTypeObject *
type_of(PyObject *object)
{
    return Py_TYPE(object);
}

static Py_ssize_t
reference_count(PyObject *object)
{
    return Py_REFCNT(object);
}

static Py_ssize_t
variable_size(PyObject *object)
{
    return Py_SIZE(object);
}

/* A macro in CPython 3.10, so its address cannot be taken. */
static PyObject *
call_vector(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    return PyObject_Vectorcall(function, args, nargsf, names);
}

/* X(type, name, parameters, arguments) for each function of NumPy that
 * include/numpy/arrayobject.h declares, V for those that return nothing. */
/* clang-format off */
#define NUMPY_FUNCTIONS(X, V) \
    X(int, PyArray_Check, (const void *o), (o)) \
    X(int, PyArray_CheckExact, (const void *o), (o)) \
    X(int, PyArray_IsZeroDim, (const void *o), (o)) \
    X(int, PyArray_CheckScalar, (const void *o), (o)) \
    X(int, PyArray_IsAnyScalar, (const void *o), (o)) \
    X(int, PyArray_NDIM, (PyArrayObject *a), (a)) \
    X(void *, PyArray_DATA, (PyArrayObject *a), (a)) \
    X(char *, PyArray_BYTES, (PyArrayObject *a), (a)) \
    X(npy_intp *, PyArray_DIMS, (PyArrayObject *a), (a)) \
    X(npy_intp *, PyArray_SHAPE, (PyArrayObject *a), (a)) \
    X(npy_intp, PyArray_DIM, (PyArrayObject *a, int i), (a, i)) \
    X(npy_intp *, PyArray_STRIDES, (PyArrayObject *a), (a)) \
    X(npy_intp, PyArray_STRIDE, (PyArrayObject *a, int i), (a, i)) \
    X(npy_intp, PyArray_ITEMSIZE, (PyArrayObject *a), (a)) \
    X(npy_intp, PyArray_SIZE, (PyArrayObject *a), (a)) \
    X(npy_intp, PyArray_NBYTES, (PyArrayObject *a), (a)) \
    X(int, PyArray_TYPE, (PyArrayObject *a), (a)) \
    X(PyArray_Descr *, PyArray_DESCR, (PyArrayObject *a), (a)) \
    X(PyArray_Descr *, PyArray_DTYPE, (PyArrayObject *a), (a)) \
    X(PyObject *, PyArray_BASE, (PyArrayObject *a), (a)) \
    X(int, PyArray_FLAGS, (PyArrayObject *a), (a)) \
    X(int, PyArray_CHKFLAGS, (PyArrayObject *a, int flags), (a, flags)) \
    X(int, PyArray_ISCONTIGUOUS, (PyArrayObject *a), (a)) \
    X(int, PyArray_IS_C_CONTIGUOUS, (PyArrayObject *a), (a)) \
    X(int, PyArray_IS_F_CONTIGUOUS, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISFORTRAN, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISONESEGMENT, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISALIGNED, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISWRITEABLE, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISBEHAVED, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISBEHAVED_RO, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISCARRAY, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISCARRAY_RO, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISFARRAY, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISFARRAY_RO, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISNOTSWAPPED, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISBYTESWAPPED, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISBOOL, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISINTEGER, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISSIGNED, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISUNSIGNED, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISFLOAT, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISCOMPLEX, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISNUMBER, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISSTRING, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISFLEXIBLE, (PyArrayObject *a), (a)) \
    X(int, PyArray_ISOBJECT, (PyArrayObject *a), (a)) \
    X(int, PyArray_SAMESHAPE, (PyArrayObject *a, PyArrayObject *b), (a, b)) \
    X(npy_intp, PyDataType_ELSIZE, (PyArray_Descr *descr), (descr)) \
    X(npy_intp, PyDataType_ALIGNMENT, (PyArray_Descr *descr), (descr)) \
    X(void *, PyArray_GETPTR1, (PyArrayObject *a, npy_intp i), (a, i)) \
    X(void *, PyArray_GETPTR2, (PyArrayObject *a, npy_intp i, npy_intp j), (a, i, j)) \
    X(void *, PyArray_GETPTR3, (PyArrayObject *a, npy_intp i, npy_intp j, npy_intp k), \
      (a, i, j, k)) \
    X(void *, PyArray_GETPTR4, \
      (PyArrayObject *a, npy_intp i, npy_intp j, npy_intp k, npy_intp l), \
      (a, i, j, k, l)) \
    X(void *, PyArray_GetPtr, (PyArrayObject *a, const npy_intp *indices), (a, indices)) \
    X(PyObject *, PyArray_GETITEM, (PyArrayObject *a, const char *item), (a, item)) \
    X(int, PyArray_SETITEM, (PyArrayObject *a, char *item, PyObject *value), (a, item, value)) \
    X(PyObject *, PyArray_ToScalar, (void *item, PyArrayObject *a), (item, a)) \
    X(PyObject *, PyArray_Scalar, (void *item, PyArray_Descr *descr, PyObject *base), \
      (item, descr, base)) \
    X(PyObject *, PyArray_FromScalar, (PyObject *scalar, PyArray_Descr *descr), (scalar, descr)) \
    X(PyObject *, PyArray_SimpleNew, (int ndim, const npy_intp *dims, int type), \
      (ndim, dims, type)) \
    X(PyObject *, PyArray_SimpleNewFromData, \
      (int ndim, const npy_intp *dims, int type, void *data), \
      (ndim, dims, type, data)) \
    X(PyObject *, PyArray_SimpleNewFromDescr, \
      (int ndim, const npy_intp *dims, PyArray_Descr *descr), \
      (ndim, dims, descr)) \
    X(PyObject *, PyArray_New, \
      (PyTypeObject *subtype, int ndim, const npy_intp *dims, int type, const npy_intp *strides, \
      void *data, int itemsize, int flags, PyObject *base), \
      (subtype, ndim, dims, type, strides, data, itemsize, flags, base)) \
    X(PyObject *, PyArray_NewFromDescr, \
      (PyTypeObject *subtype, PyArray_Descr *descr, int ndim, const npy_intp *dims, const \
      npy_intp *strides, void *data, int flags, PyObject *base), \
      (subtype, descr, ndim, dims, strides, data, flags, base)) \
    X(PyObject *, PyArray_NewLikeArray, \
      (PyArrayObject *a, NPY_ORDER order, PyArray_Descr *descr, int subok), \
      (a, order, descr, subok)) \
    X(PyObject *, PyArray_NewCopy, (PyArrayObject *a, NPY_ORDER order), (a, order)) \
    X(PyObject *, PyArray_Copy, (PyArrayObject *a), (a)) \
    X(PyObject *, PyArray_ZEROS, (int ndim, const npy_intp *dims, int type, int fortran), \
      (ndim, dims, type, fortran)) \
    X(PyObject *, PyArray_EMPTY, (int ndim, const npy_intp *dims, int type, int fortran), \
      (ndim, dims, type, fortran)) \
    X(PyObject *, PyArray_Zeros, \
      (int ndim, const npy_intp *dims, PyArray_Descr *descr, int fortran), \
      (ndim, dims, descr, fortran)) \
    X(PyObject *, PyArray_Empty, \
      (int ndim, const npy_intp *dims, PyArray_Descr *descr, int fortran), \
      (ndim, dims, descr, fortran)) \
    X(PyObject *, PyArray_Arange, (double start, double stop, double step, int type), \
      (start, stop, step, type)) \
    X(PyObject *, PyArray_FromAny, \
      (PyObject *o, PyArray_Descr *descr, int min, int max, int flags, PyObject *context), \
      (o, descr, min, max, flags, context)) \
    X(PyObject *, PyArray_CheckFromAny, \
      (PyObject *o, PyArray_Descr *descr, int min, int max, int flags, PyObject *context), \
      (o, descr, min, max, flags, context)) \
    X(PyObject *, PyArray_FromArray, (PyArrayObject *a, PyArray_Descr *descr, int flags), \
      (a, descr, flags)) \
    X(PyObject *, PyArray_FROM_O, (PyObject *o), (o)) \
    X(PyObject *, PyArray_FROM_OF, (PyObject *o, int flags), (o, flags)) \
    X(PyObject *, PyArray_FROM_OT, (PyObject *o, int type), (o, type)) \
    X(PyObject *, PyArray_FROM_OTF, (PyObject *o, int type, int flags), (o, type, flags)) \
    X(PyObject *, PyArray_FROMANY, (PyObject *o, int type, int min, int max, int flags), \
      (o, type, min, max, flags)) \
    X(PyObject *, PyArray_FromObject, (PyObject *o, int type, int min, int max), \
      (o, type, min, max)) \
    X(PyObject *, PyArray_ContiguousFromAny, (PyObject *o, int type, int min, int max), \
      (o, type, min, max)) \
    X(PyObject *, PyArray_ContiguousFromObject, (PyObject *o, int type, int min, int max), \
      (o, type, min, max)) \
    X(PyObject *, PyArray_CopyFromObject, (PyObject *o, int type, int min, int max), \
      (o, type, min, max)) \
    X(PyObject *, PyArray_EnsureArray, (PyObject *o), (o)) \
    X(PyObject *, PyArray_FromBuffer, \
      (PyObject *o, PyArray_Descr *descr, npy_intp count, npy_intp offset), \
      (o, descr, count, offset)) \
    X(PyArrayObject *, PyArray_GETCONTIGUOUS, (PyArrayObject *a), (a)) \
    X(PyObject *, PyArray_Return, (PyArrayObject *a), (a)) \
    X(int, PyArray_SetBaseObject, (PyArrayObject *a, PyObject *base), (a, base)) \
    X(int, PyArray_CopyInto, (PyArrayObject *to, PyArrayObject *from), (to, from)) \
    X(int, PyArray_CopyObject, (PyArrayObject *to, PyObject *from), (to, from)) \
    X(int, PyArray_FillWithScalar, (PyArrayObject *a, PyObject *value), (a, value)) \
    X(int, PyArray_FailUnlessWriteable, (PyArrayObject *a, const char *name), (a, name)) \
    X(int, PyArray_ResolveWritebackIfCopy, (PyArrayObject *a), (a)) \
    V(PyArray_ScalarAsCtype, (PyObject *scalar, void *value), (scalar, value)) \
    X(PyArray_Descr *, PyArray_DescrFromScalar, (PyObject *scalar), (scalar)) \
    V(PyArray_DiscardWritebackIfCopy, (PyArrayObject *a), (a)) \
    V(PyArray_ENABLEFLAGS, (PyArrayObject *a, int flags), (a, flags)) \
    V(PyArray_CLEARFLAGS, (PyArrayObject *a, int flags), (a, flags)) \
    V(PyArray_UpdateFlags, (PyArrayObject *a, int flags), (a, flags)) \
    X(int, PyArray_Sort, (PyArrayObject *a, int axis, NPY_SORTKIND kind), (a, axis, kind)) \
    X(PyObject *, PyArray_Reshape, (PyArrayObject *a, PyObject *shape), (a, shape)) \
    X(PyObject *, PyArray_Newshape, (PyArrayObject *a, PyArray_Dims *dims, NPY_ORDER order), \
      (a, dims, order)) \
    X(PyObject *, PyArray_Transpose, (PyArrayObject *a, PyArray_Dims *axes), (a, axes)) \
    X(PyObject *, PyArray_SwapAxes, (PyArrayObject *a, int axis, int other), (a, axis, other)) \
    X(PyObject *, PyArray_Squeeze, (PyArrayObject *a), (a)) \
    X(PyObject *, PyArray_Ravel, (PyArrayObject *a, NPY_ORDER order), (a, order)) \
    X(PyObject *, PyArray_Flatten, (PyArrayObject *a, NPY_ORDER order), (a, order)) \
    X(PyObject *, PyArray_View, (PyArrayObject *a, PyArray_Descr *descr, PyTypeObject *subtype), \
      (a, descr, subtype)) \
    X(PyObject *, PyArray_Cast, (PyArrayObject *a, int type), (a, type)) \
    X(PyObject *, PyArray_CastToType, (PyArrayObject *a, PyArray_Descr *descr, int fortran), \
      (a, descr, fortran)) \
    X(PyObject *, PyArray_Concatenate, (PyObject *arrays, int axis), (arrays, axis)) \
    X(PyObject *, PyArray_TakeFrom, \
      (PyArrayObject *a, PyObject *indices, int axis, PyArrayObject *out, NPY_CLIPMODE mode), \
      (a, indices, axis, out, mode)) \
    X(PyObject *, PyArray_Repeat, (PyArrayObject *a, PyObject *counts, int axis), \
      (a, counts, axis)) \
    X(PyObject *, PyArray_Where, (PyObject *condition, PyObject *x, PyObject *y), \
      (condition, x, y)) \
    X(PyObject *, PyArray_Nonzero, (PyArrayObject *a), (a)) \
    X(npy_intp, PyArray_CountNonzero, (PyArrayObject *a), (a)) \
    X(PyObject *, PyArray_ArgSort, (PyArrayObject *a, int axis, NPY_SORTKIND kind), \
      (a, axis, kind)) \
    X(PyObject *, PyArray_ArgMax, (PyArrayObject *a, int axis, PyArrayObject *out), \
      (a, axis, out)) \
    X(PyObject *, PyArray_ArgMin, (PyArrayObject *a, int axis, PyArrayObject *out), \
      (a, axis, out)) \
    X(PyObject *, PyArray_Max, (PyArrayObject *a, int axis, PyArrayObject *out), (a, axis, out)) \
    X(PyObject *, PyArray_Min, (PyArrayObject *a, int axis, PyArrayObject *out), (a, axis, out)) \
    X(PyObject *, PyArray_All, (PyArrayObject *a, int axis, PyArrayObject *out), (a, axis, out)) \
    X(PyObject *, PyArray_Any, (PyArrayObject *a, int axis, PyArrayObject *out), (a, axis, out)) \
    X(PyObject *, PyArray_Sum, (PyArrayObject *a, int axis, int type, PyArrayObject *out), \
      (a, axis, type, out)) \
    X(PyObject *, PyArray_Prod, (PyArrayObject *a, int axis, int type, PyArrayObject *out), \
      (a, axis, type, out)) \
    X(PyObject *, PyArray_Mean, (PyArrayObject *a, int axis, int type, PyArrayObject *out), \
      (a, axis, type, out)) \
    X(PyObject *, PyArray_CumSum, (PyArrayObject *a, int axis, int type, PyArrayObject *out), \
      (a, axis, type, out)) \
    X(PyObject *, PyArray_CumProd, (PyArrayObject *a, int axis, int type, PyArrayObject *out), \
      (a, axis, type, out)) \
    X(PyObject *, PyArray_Clip, \
      (PyArrayObject *a, PyObject *min, PyObject *max, PyArrayObject *out), \
      (a, min, max, out)) \
    X(PyObject *, PyArray_Conjugate, (PyArrayObject *a, PyArrayObject *out), (a, out)) \
    X(PyObject *, PyArray_Round, (PyArrayObject *a, int decimals, PyArrayObject *out), \
      (a, decimals, out)) \
    X(PyObject *, PyArray_InnerProduct, (PyObject *a, PyObject *b), (a, b)) \
    X(PyObject *, PyArray_MatrixProduct, (PyObject *a, PyObject *b), (a, b)) \
    X(PyObject *, PyArray_ToList, (PyArrayObject *a), (a)) \
    X(PyArray_Descr *, PyArray_DescrFromType, (int type), (type)) \
    X(PyArray_Descr *, PyArray_DescrNewFromType, (int type), (type)) \
    X(PyArray_Descr *, PyArray_DescrFromObject, (PyObject *o, PyArray_Descr *min), (o, min)) \
    X(int, PyArray_DescrConverter, (PyObject *o, PyArray_Descr **descr), (o, descr)) \
    X(int, PyArray_DescrConverter2, (PyObject *o, PyArray_Descr **descr), (o, descr)) \
    X(int, PyArray_Converter, (PyObject *o, PyObject **a), (o, a)) \
    X(int, PyArray_OutputConverter, (PyObject *o, PyArrayObject **a), (o, a)) \
    X(int, PyArray_BoolConverter, (PyObject *o, npy_bool *value), (o, value)) \
    X(int, PyArray_AxisConverter, (PyObject *o, int *axis), (o, axis)) \
    X(int, PyArray_IntpFromSequence, (PyObject *sequence, npy_intp *values, int max), \
      (sequence, values, max)) \
    X(int, PyArray_PyIntAsInt, (PyObject *o), (o)) \
    X(npy_intp, PyArray_PyIntAsIntp, (PyObject *o), (o)) \
    X(unsigned char, PyArray_EquivTypes, (PyArray_Descr *x, PyArray_Descr *y), (x, y)) \
    X(unsigned char, PyArray_EquivTypenums, (int x, int y), (x, y)) \
    X(unsigned char, PyArray_EquivArrTypes, (PyArrayObject *a, PyArrayObject *b), (a, b)) \
    X(int, PyArray_CanCastSafely, (int from, int to), (from, to)) \
    X(npy_bool, PyArray_CanCastTypeTo, \
      (PyArray_Descr *from, PyArray_Descr *to, NPY_CASTING casting), \
      (from, to, casting)) \
    X(int, PyArray_ObjectType, (PyObject *o, int min), (o, min)) \
    X(npy_intp, PyArray_MultiplyList, (const npy_intp *list, int n), (list, n)) \
    X(int, PyArray_CompareLists, (const npy_intp *x, const npy_intp *y, int n), (x, y, n))
/* clang-format on */

#define FORWARD(type, name, parameters, arguments) \
    static type cwj_##name parameters              \
    {                                              \
        return name arguments;                     \
    }
#define FORWARD_VOID(name, parameters, arguments) \
    static void cwj_##name parameters             \
    {                                             \
        name arguments;                           \
    }

/* NumPy 1 has these as struct members. */
#ifndef NPY_2_0_API_VERSION
#define PyDataType_ELSIZE(descr) ((descr)->elsize)
#define PyDataType_ALIGNMENT(descr) ((descr)->alignment)
#endif

NUMPY_FUNCTIONS(FORWARD, FORWARD_VOID)

#define ENTRY(type, name, parameters, arguments) {#name, (const void *)cwj_##name, false},
#define ENTRY_VOID(name, parameters, arguments) {#name, (const void *)cwj_##name, false},

/* clang-format off */
static const tj_symbol symbols[] = {
    NUMPY_FUNCTIONS(ENTRY, ENTRY_VOID)
    {"PyArray_cwj_type", (const void *)array_type, false},
    {"PyArray_cwj_scalar_type", (const void *)scalar_type, false},
    {"Py_TYPE", (const void *)type_of, false},
    {"Py_REFCNT", (const void *)reference_count, false},
    {"Py_SIZE", (const void *)variable_size, false},
    {"Py_INCREF", (const void *)Py_IncRef, false},
    {"Py_XINCREF", (const void *)Py_IncRef, false},
    {"Py_DECREF", (const void *)Py_DecRef, false},
    {"Py_XDECREF", (const void *)Py_DecRef, false},
    {"PyObject_Vectorcall", (const void *)call_vector, false},
};
/* clang-format on */
const cwj_symbols cwj_shim_symbols = {symbols, sizeof symbols / sizeof *symbols};
