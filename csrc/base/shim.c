/* shim.c: NumPy's and CPython's macros as functions, for compiled snippets.
 *
 * Snippets see the small <Python.h> and <numpy/arrayobject.h> of the package,
 * where arrays are opaque, because the real headers are slow to read and use
 * what libtcc lacks. What those headers do by macros on struct members, and
 * the functions of NumPy's table, are offered here under NumPy's own names.
 * Each function does what NumPy's macro does, errors and references included.
 */
#include "base/symbols.h"

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

/* The functions that include/numpy/arrayobject.h declares. */
/* clang-format off */
/* What NumPy has as functions in its table, which are used as they are. */
#define OF_TABLE(F) \
    F(PyArray_GetPtr) F(PyArray_Scalar) F(PyArray_FromScalar) F(PyArray_New) \
    F(PyArray_NewFromDescr) F(PyArray_NewLikeArray) F(PyArray_NewCopy) F(PyArray_Zeros) \
    F(PyArray_Empty) F(PyArray_Arange) F(PyArray_FromAny) F(PyArray_CheckFromAny) \
    F(PyArray_FromArray) F(PyArray_EnsureArray) F(PyArray_FromBuffer) F(PyArray_Return) \
    F(PyArray_SetBaseObject) F(PyArray_CopyInto) F(PyArray_CopyObject) F(PyArray_FillWithScalar) \
    F(PyArray_FailUnlessWriteable) F(PyArray_ResolveWritebackIfCopy) F(PyArray_ScalarAsCtype) \
    F(PyArray_DescrFromScalar) F(PyArray_UpdateFlags) F(PyArray_Sort) F(PyArray_Reshape) \
    F(PyArray_Newshape) F(PyArray_Transpose) F(PyArray_SwapAxes) F(PyArray_Squeeze) \
    F(PyArray_Ravel) F(PyArray_Flatten) F(PyArray_View) F(PyArray_CastToType) \
    F(PyArray_Concatenate) F(PyArray_TakeFrom) F(PyArray_Repeat) F(PyArray_Where) \
    F(PyArray_Nonzero) F(PyArray_CountNonzero) F(PyArray_ArgSort) F(PyArray_ArgMax) \
    F(PyArray_ArgMin) F(PyArray_Max) F(PyArray_Min) F(PyArray_All) F(PyArray_Any) F(PyArray_Sum) \
    F(PyArray_Prod) F(PyArray_Mean) F(PyArray_CumSum) F(PyArray_CumProd) F(PyArray_Clip) \
    F(PyArray_Conjugate) F(PyArray_Round) F(PyArray_InnerProduct) F(PyArray_MatrixProduct) \
    F(PyArray_ToList) F(PyArray_DescrFromType) F(PyArray_DescrNewFromType) \
    F(PyArray_DescrFromObject) F(PyArray_DescrConverter) F(PyArray_DescrConverter2) \
    F(PyArray_Converter) F(PyArray_OutputConverter) F(PyArray_BoolConverter) \
    F(PyArray_AxisConverter) F(PyArray_IntpFromSequence) F(PyArray_PyIntAsInt) \
    F(PyArray_PyIntAsIntp) F(PyArray_EquivTypes) F(PyArray_EquivTypenums) \
    F(PyArray_CanCastSafely) F(PyArray_CanCastTypeTo) F(PyArray_ObjectType) \
    F(PyArray_MultiplyList) F(PyArray_CompareLists)

/* What it has as macros: int NAME(PyArrayObject *) first, then X(type, name, parameters,
 * arguments), and V for those that return nothing. */
#define OF_ARRAY(A) \
    A(PyArray_NDIM) A(PyArray_TYPE) A(PyArray_FLAGS) A(PyArray_ISCONTIGUOUS) \
    A(PyArray_IS_C_CONTIGUOUS) A(PyArray_IS_F_CONTIGUOUS) A(PyArray_ISFORTRAN) \
    A(PyArray_ISONESEGMENT) A(PyArray_ISALIGNED) A(PyArray_ISWRITEABLE) A(PyArray_ISBEHAVED) \
    A(PyArray_ISBEHAVED_RO) A(PyArray_ISCARRAY) A(PyArray_ISCARRAY_RO) A(PyArray_ISFARRAY) \
    A(PyArray_ISFARRAY_RO) A(PyArray_ISNOTSWAPPED) A(PyArray_ISBYTESWAPPED) A(PyArray_ISBOOL) \
    A(PyArray_ISINTEGER) A(PyArray_ISSIGNED) A(PyArray_ISUNSIGNED) A(PyArray_ISFLOAT) \
    A(PyArray_ISCOMPLEX) A(PyArray_ISNUMBER) A(PyArray_ISSTRING) A(PyArray_ISFLEXIBLE) \
    A(PyArray_ISOBJECT)
#define OF_OTHERS(X, V) \
    X(int, PyArray_Check, (const void *o), (o)) \
    X(int, PyArray_CheckExact, (const void *o), (o)) \
    X(int, PyArray_IsZeroDim, (const void *o), (o)) \
    X(int, PyArray_CheckScalar, (const void *o), (o)) \
    X(int, PyArray_IsAnyScalar, (const void *o), (o)) \
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
    X(PyArray_Descr *, PyArray_DESCR, (PyArrayObject *a), (a)) \
    X(PyArray_Descr *, PyArray_DTYPE, (PyArrayObject *a), (a)) \
    X(PyObject *, PyArray_BASE, (PyArrayObject *a), (a)) \
    X(int, PyArray_CHKFLAGS, (PyArrayObject *a, int flags), (a, flags)) \
    X(int, PyArray_SAMESHAPE, (PyArrayObject *a, PyArrayObject *b), (a, b)) \
    X(npy_intp, PyDataType_ELSIZE, (PyArray_Descr *descr), (descr)) \
    X(npy_intp, PyDataType_ALIGNMENT, (PyArray_Descr *descr), (descr)) \
    X(void *, PyArray_GETPTR1, (PyArrayObject *a, npy_intp i), (a, i)) \
    X(void *, PyArray_GETPTR2, (PyArrayObject *a, npy_intp i, npy_intp j), (a, i, j)) \
    X(void *, PyArray_GETPTR3, \
      (PyArrayObject *a, npy_intp i, npy_intp j, npy_intp k), (a, i, j, k)) \
    X(void *, PyArray_GETPTR4, \
      (PyArrayObject *a, npy_intp i, npy_intp j, npy_intp k, npy_intp l), (a, i, j, k, l)) \
    X(PyObject *, PyArray_GETITEM, (PyArrayObject *a, const char *item), (a, item)) \
    X(int, PyArray_SETITEM, (PyArrayObject *a, char *item, PyObject *value), (a, item, value)) \
    X(PyObject *, PyArray_ToScalar, (void *item, PyArrayObject *a), (item, a)) \
    X(PyObject *, PyArray_SimpleNew, \
      (int ndim, const npy_intp *dims, int type), (ndim, dims, type)) \
    X(PyObject *, PyArray_SimpleNewFromData, \
      (int ndim, const npy_intp *dims, int type, void *data), (ndim, dims, type, data)) \
    X(PyObject *, PyArray_SimpleNewFromDescr, \
      (int ndim, const npy_intp *dims, PyArray_Descr *descr), (ndim, dims, descr)) \
    X(PyObject *, PyArray_Copy, (PyArrayObject *a), (a)) \
    X(PyObject *, PyArray_ZEROS, \
      (int ndim, const npy_intp *dims, int type, int fortran), (ndim, dims, type, fortran)) \
    X(PyObject *, PyArray_EMPTY, \
      (int ndim, const npy_intp *dims, int type, int fortran), (ndim, dims, type, fortran)) \
    X(PyObject *, PyArray_FROM_O, (PyObject *o), (o)) \
    X(PyObject *, PyArray_FROM_OF, (PyObject *o, int flags), (o, flags)) \
    X(PyObject *, PyArray_FROM_OT, (PyObject *o, int type), (o, type)) \
    X(PyObject *, PyArray_FROM_OTF, (PyObject *o, int type, int flags), (o, type, flags)) \
    X(PyObject *, PyArray_FROMANY, \
      (PyObject *o, int type, int min, int max, int flags), (o, type, min, max, flags)) \
    X(PyObject *, PyArray_FromObject, \
      (PyObject *o, int type, int min, int max), (o, type, min, max)) \
    X(PyObject *, PyArray_ContiguousFromAny, \
      (PyObject *o, int type, int min, int max), (o, type, min, max)) \
    X(PyObject *, PyArray_ContiguousFromObject, \
      (PyObject *o, int type, int min, int max), (o, type, min, max)) \
    X(PyObject *, PyArray_CopyFromObject, \
      (PyObject *o, int type, int min, int max), (o, type, min, max)) \
    X(PyArrayObject *, PyArray_GETCONTIGUOUS, (PyArrayObject *a), (a)) \
    V(PyArray_DiscardWritebackIfCopy, (PyArrayObject *a), (a)) \
    V(PyArray_ENABLEFLAGS, (PyArrayObject *a, int flags), (a, flags)) \
    V(PyArray_CLEARFLAGS, (PyArrayObject *a, int flags), (a, flags)) \
    X(PyObject *, PyArray_Cast, (PyArrayObject *a, int type), (a, type)) \
    X(unsigned char, PyArray_EquivArrTypes, (PyArrayObject *a, PyArrayObject *b), (a, b))
/* clang-format on */

#define FORWARD(type, name, parameters, arguments) \
    static type cwj_##name parameters              \
    {                                              \
        return name arguments;                     \
    }
#define FORWARD_ARRAY(name) FORWARD(int, name, (PyArrayObject * a), (a))
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

OF_ARRAY(FORWARD_ARRAY)
OF_OTHERS(FORWARD, FORWARD_VOID)

#define PLACE(name) {#name, NULL, false},
#define ENTRY_ARRAY(name) {#name, (const void *)cwj_##name, false},
#define ENTRY(type, name, parameters, arguments) ENTRY_ARRAY(name)
#define ENTRY_VOID(name, parameters, arguments) ENTRY_ARRAY(name)

/* clang-format off */
static tj_symbol symbols[] = {
    OF_TABLE(PLACE) OF_ARRAY(ENTRY_ARRAY) OF_OTHERS(ENTRY, ENTRY_VOID)
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

const cwj_symbols *
cwj_shim_symbols(void)
{
    static const cwj_symbols all = {symbols, sizeof symbols / sizeof *symbols};
    tj_symbol *next = symbols;
#define FILL(name) next++->address = (const void *)name;
    OF_TABLE(FILL)
#undef FILL
    return &all;
}
