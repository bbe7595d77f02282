/* numpy/arrayobject.h: a small one, for snippets that work with array objects.
 *
 * libtcc cannot parse NumPy's own. This one has NumPy's functions and macros, with the same names and meanings: macros
 * read members of arrays, all others are functions of the extension. There are no iterators; compile code that needs
 * them into a library, with the real headers.
 *
 * CWJ_ARRAY_LAYOUT tells which struct members the running NumPy has (csrc/base/array_members.c checks it once per
 * process). If it is not defined, or if CWJ_ARRAY_CALLS is, functions replace the macros. */
#ifndef CWJ_NUMPY_ARRAYOBJECT_H
#define CWJ_NUMPY_ARRAYOBJECT_H

#include "../Python.h"
#include "npy_common.h"

#include "../cwj_layout.h"

#if defined(CWJ_ARRAY_LAYOUT) && !defined(CWJ_ARRAY_CALLS)
#define CWJ_READS_ARRAYS 1
struct _PyArray_Descr {
#if CWJ_ARRAY_LAYOUT == 1
    CWJ_DESCR_MEMBERS_1
#else
    CWJ_DESCR_MEMBERS_2
#endif
};
struct tagPyArrayObject {
    CWJ_ARRAY_MEMBERS
};
#endif
typedef struct _PyArray_Descr PyArray_Descr;
typedef struct tagPyArrayObject PyArrayObject, PyArrayObject_fields;
typedef struct {
    npy_intp *ptr;
    int len;
} PyArray_Dims;

typedef enum {
    NPY_ANYORDER = -1,
    NPY_CORDER,
    NPY_FORTRANORDER,
    NPY_KEEPORDER
} NPY_ORDER;
typedef enum {
    NPY_NO_CASTING,
    NPY_EQUIV_CASTING,
    NPY_SAFE_CASTING,
    NPY_SAME_KIND_CASTING,
    NPY_UNSAFE_CASTING
} NPY_CASTING;
typedef enum {
    NPY_CLIP,
    NPY_WRAP,
    NPY_RAISE
} NPY_CLIPMODE;
typedef enum {
    NPY_QUICKSORT,
    NPY_HEAPSORT,
    NPY_MERGESORT,
    NPY_STABLESORT = NPY_MERGESORT
} NPY_SORTKIND;

#define NPY_FAIL 0
#define NPY_SUCCEED 1
#define NPY_MAXDIMS 64 /* NumPy 1 allows 32 */
#define NPY_MAXARGS 32
#define NPY_NOTYPE 25
#define NPY_USERDEF 256

#define NPY_ARRAY_C_CONTIGUOUS 0x0001
#define NPY_ARRAY_F_CONTIGUOUS 0x0002
#define NPY_ARRAY_OWNDATA 0x0004
#define NPY_ARRAY_FORCECAST 0x0010
#define NPY_ARRAY_ENSURECOPY 0x0020
#define NPY_ARRAY_ENSUREARRAY 0x0040
#define NPY_ARRAY_ELEMENTSTRIDES 0x0080
#define NPY_ARRAY_ALIGNED 0x0100
#define NPY_ARRAY_NOTSWAPPED 0x0200
#define NPY_ARRAY_WRITEABLE 0x0400
#define NPY_ARRAY_WRITEBACKIFCOPY 0x2000
#define NPY_ARRAY_BEHAVED (NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE)
#define NPY_ARRAY_BEHAVED_NS (NPY_ARRAY_BEHAVED | NPY_ARRAY_NOTSWAPPED)
#define NPY_ARRAY_CARRAY (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_BEHAVED)
#define NPY_ARRAY_CARRAY_RO (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED)
#define NPY_ARRAY_FARRAY (NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_BEHAVED)
#define NPY_ARRAY_FARRAY_RO (NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_ALIGNED)
#define NPY_ARRAY_DEFAULT NPY_ARRAY_CARRAY
#define NPY_ARRAY_IN_ARRAY NPY_ARRAY_CARRAY_RO
#define NPY_ARRAY_OUT_ARRAY NPY_ARRAY_CARRAY
#define NPY_ARRAY_INOUT_ARRAY NPY_ARRAY_CARRAY
#define NPY_ARRAY_INOUT_ARRAY2 (NPY_ARRAY_CARRAY | NPY_ARRAY_WRITEBACKIFCOPY)
#define NPY_ARRAY_IN_FARRAY NPY_ARRAY_FARRAY_RO
#define NPY_ARRAY_OUT_FARRAY NPY_ARRAY_FARRAY
#define NPY_ARRAY_INOUT_FARRAY NPY_ARRAY_FARRAY

/* The extension has already imported NumPy. */
#define import_array() ((void)0)
#define import_array1(value) ((void)0)
#define import_array2(message, value) ((void)0)

/* tools/embed.py reads these declarations, and writes the extension's symbols for them. */
extern PyTypeObject PyArray_Type, PyGenericArrType_Type, PyBoolArrType_Type, PyInt8ArrType_Type,
    PyInt16ArrType_Type, PyInt32ArrType_Type, PyInt64ArrType_Type, PyUInt8ArrType_Type,
    PyUInt16ArrType_Type, PyUInt32ArrType_Type, PyUInt64ArrType_Type, PyByteArrType_Type,
    PyUByteArrType_Type, PyShortArrType_Type, PyUShortArrType_Type, PyIntArrType_Type,
    PyUIntArrType_Type, PyLongArrType_Type, PyULongArrType_Type, PyLongLongArrType_Type,
    PyULongLongArrType_Type, PyHalfArrType_Type, PyFloatArrType_Type, PyFloat32ArrType_Type,
    PyDoubleArrType_Type, PyFloat64ArrType_Type, PyLongDoubleArrType_Type, PyCFloatArrType_Type,
    PyComplex64ArrType_Type, PyCDoubleArrType_Type, PyComplex128ArrType_Type;
#define PyFloat16ArrType_Type PyHalfArrType_Type

void PyArray_ScalarAsCtype(PyObject *, void *);
PyArray_Descr *PyArray_DescrFromScalar(PyObject *);

/* ---- properties of arrays ---------------------------------------------- */

int PyArray_Check(const void *), PyArray_CheckExact(const void *), PyArray_IsZeroDim(const void *),
    PyArray_CheckScalar(const void *), PyArray_IsAnyScalar(const void *),
    PyArray_NDIM(const PyArrayObject *), PyArray_TYPE(const PyArrayObject *),
    PyArray_FLAGS(const PyArrayObject *), PyArray_CHKFLAGS(const PyArrayObject *, int),
    PyArray_ISCONTIGUOUS(const PyArrayObject *), PyArray_IS_C_CONTIGUOUS(const PyArrayObject *),
    PyArray_IS_F_CONTIGUOUS(const PyArrayObject *), PyArray_ISFORTRAN(const PyArrayObject *),
    PyArray_ISONESEGMENT(const PyArrayObject *), PyArray_ISALIGNED(const PyArrayObject *),
    PyArray_ISWRITEABLE(const PyArrayObject *), PyArray_ISBEHAVED(const PyArrayObject *),
    PyArray_ISBEHAVED_RO(const PyArrayObject *), PyArray_ISCARRAY(const PyArrayObject *),
    PyArray_ISCARRAY_RO(const PyArrayObject *), PyArray_ISFARRAY(const PyArrayObject *),
    PyArray_ISFARRAY_RO(const PyArrayObject *), PyArray_ISNOTSWAPPED(const PyArrayObject *),
    PyArray_ISBYTESWAPPED(const PyArrayObject *), PyArray_ISBOOL(const PyArrayObject *),
    PyArray_ISINTEGER(const PyArrayObject *), PyArray_ISSIGNED(const PyArrayObject *),
    PyArray_ISUNSIGNED(const PyArrayObject *), PyArray_ISFLOAT(const PyArrayObject *),
    PyArray_ISCOMPLEX(const PyArrayObject *), PyArray_ISNUMBER(const PyArrayObject *),
    PyArray_ISSTRING(const PyArrayObject *), PyArray_ISFLEXIBLE(const PyArrayObject *),
    PyArray_ISOBJECT(const PyArrayObject *),
    PyArray_SAMESHAPE(const PyArrayObject *, const PyArrayObject *);
void *PyArray_DATA(const PyArrayObject *);
char *PyArray_BYTES(const PyArrayObject *);
npy_intp *PyArray_DIMS(const PyArrayObject *), *PyArray_SHAPE(const PyArrayObject *),
    PyArray_DIM(const PyArrayObject *, int), *PyArray_STRIDES(const PyArrayObject *),
    PyArray_STRIDE(const PyArrayObject *, int), PyArray_ITEMSIZE(const PyArrayObject *),
    PyArray_SIZE(PyArrayObject *), PyArray_NBYTES(PyArrayObject *),
    PyDataType_ELSIZE(const PyArray_Descr *), PyDataType_ALIGNMENT(const PyArray_Descr *);
PyArray_Descr *PyArray_DESCR(const PyArrayObject *), *PyArray_DTYPE(const PyArrayObject *);
PyObject *PyArray_BASE(const PyArrayObject *);

/* ---- elements ---------------------------------------------------------- */

void *PyArray_GETPTR1(const PyArrayObject *, npy_intp),
    *PyArray_GETPTR2(const PyArrayObject *, npy_intp, npy_intp),
    *PyArray_GETPTR3(const PyArrayObject *, npy_intp, npy_intp, npy_intp),
    *PyArray_GETPTR4(const PyArrayObject *, npy_intp, npy_intp, npy_intp, npy_intp),
    *PyArray_GetPtr(PyArrayObject *, const npy_intp *);
PyObject *PyArray_GETITEM(const PyArrayObject *, const char *),
    *PyArray_ToScalar(void *, PyArrayObject *),
    *PyArray_Scalar(void *, PyArray_Descr *, PyObject *);
int PyArray_SETITEM(PyArrayObject *, char *, PyObject *);

/* ---- reading arrays in place ----------------------------------------------- */

#ifdef CWJ_READS_ARRAYS
/* The array is evaluated once. Beyond its axes an array has length 1 and stride 0, so that nothing here reads outside
 * its tables. */
#define CWJ_OF(a, ...)                    \
    ({                                    \
        const PyArrayObject *cwj_a = (a); \
        __VA_ARGS__;                      \
    })
#define CWJ_STEPS(k, i) ((i) * (cwj_a->nd > (k) ? cwj_a->strides[k] : 0))
#define PyArray_NDIM(a) CWJ_OF(a, cwj_a->nd)
#define PyArray_DATA(a) CWJ_OF(a, (void *)cwj_a->data)
#define PyArray_BYTES(a) CWJ_OF(a, cwj_a->data)
#define PyArray_DIMS(a) CWJ_OF(a, cwj_a->nd > 0 ? cwj_a->dimensions : (npy_intp *)cwj_no_dims)
#define PyArray_SHAPE(a) PyArray_DIMS(a)
#define PyArray_STRIDES(a) CWJ_OF(a, cwj_a->nd > 0 ? cwj_a->strides : (npy_intp *)cwj_no_strides)
#define PyArray_DIM(a, k)            \
    CWJ_OF(a, const int cwj_k = (k); \
           cwj_k >= 0 && cwj_k < cwj_a->nd ? cwj_a->dimensions[cwj_k] : (npy_intp)1)
#define PyArray_STRIDE(a, k)         \
    CWJ_OF(a, const int cwj_k = (k); \
           cwj_k >= 0 && cwj_k < cwj_a->nd ? cwj_a->strides[cwj_k] : (npy_intp)0)
#define PyArray_DESCR(a) CWJ_OF(a, cwj_a->descr)
#define PyArray_DTYPE(a) PyArray_DESCR(a)
#define PyArray_BASE(a) CWJ_OF(a, cwj_a->base)
#define PyArray_TYPE(a) CWJ_OF(a, cwj_a->descr->type_num)
#define PyArray_ITEMSIZE(a) CWJ_OF(a, (npy_intp)cwj_a->descr->elsize)
#define PyArray_SIZE(a)                                                                       \
    CWJ_OF(a, npy_intp cwj_n = 1;                                                             \
           for (int cwj_k = 0; cwj_k < cwj_a->nd; cwj_k++) cwj_n *= cwj_a->dimensions[cwj_k]; \
           cwj_n)
#define PyArray_NBYTES(a)                                                                     \
    CWJ_OF(a, npy_intp cwj_n = cwj_a->descr->elsize;                                          \
           for (int cwj_k = 0; cwj_k < cwj_a->nd; cwj_k++) cwj_n *= cwj_a->dimensions[cwj_k]; \
           cwj_n)
#define PyArray_FLAGS(a) CWJ_OF(a, cwj_a->flags)
#define PyArray_CHKFLAGS(a, bits) \
    CWJ_OF(a, const int cwj_bits = (bits); (cwj_a->flags & cwj_bits) == cwj_bits)
#define PyArray_ISCONTIGUOUS(a) PyArray_CHKFLAGS(a, NPY_ARRAY_C_CONTIGUOUS)
#define PyArray_IS_C_CONTIGUOUS(a) PyArray_CHKFLAGS(a, NPY_ARRAY_C_CONTIGUOUS)
#define PyArray_IS_F_CONTIGUOUS(a) PyArray_CHKFLAGS(a, NPY_ARRAY_F_CONTIGUOUS)
#define PyArray_ISALIGNED(a) PyArray_CHKFLAGS(a, NPY_ARRAY_ALIGNED)
#define PyArray_ISWRITEABLE(a) PyArray_CHKFLAGS(a, NPY_ARRAY_WRITEABLE)
#define PyArray_GETPTR1(a, i) \
    CWJ_OF(a, const npy_intp cwj_i = (i); (void *)(cwj_a->data + CWJ_STEPS(0, cwj_i)))
#define PyArray_GETPTR2(a, i, j)                                      \
    CWJ_OF(a, const npy_intp cwj_i = (i); const npy_intp cwj_j = (j); \
           (void *)(cwj_a->data + CWJ_STEPS(0, cwj_i) + CWJ_STEPS(1, cwj_j)))
#define PyArray_GETPTR3(a, i, j, k)                                                            \
    CWJ_OF(                                                                                    \
        a, const npy_intp cwj_i = (i); const npy_intp cwj_j = (j); const npy_intp cwj_k = (k); \
        (void *)(cwj_a->data + CWJ_STEPS(0, cwj_i) + CWJ_STEPS(1, cwj_j) + CWJ_STEPS(2, cwj_k)))
#define PyArray_GETPTR4(a, i, j, k, l)                                                            \
    CWJ_OF(a, const npy_intp cwj_i = (i); const npy_intp cwj_j = (j); const npy_intp cwj_k = (k); \
           const npy_intp cwj_l = (l);                                                            \
           (void *)(cwj_a->data + CWJ_STEPS(0, cwj_i) + CWJ_STEPS(1, cwj_j) +                     \
                    CWJ_STEPS(2, cwj_k) + CWJ_STEPS(3, cwj_l)))
#endif

/* ---- making arrays ----------------------------------------------------- */

PyObject *PyArray_FromScalar(PyObject *, PyArray_Descr *);
PyObject *PyArray_SimpleNew(int, const npy_intp *, int),
    *PyArray_SimpleNewFromData(int, const npy_intp *, int, void *),
    *PyArray_SimpleNewFromDescr(int, const npy_intp *, PyArray_Descr *),
    *PyArray_New(PyTypeObject *, int, const npy_intp *, int, const npy_intp *, void *, int, int,
                 PyObject *),
    *PyArray_NewFromDescr(PyTypeObject *, PyArray_Descr *, int, const npy_intp *, const npy_intp *,
                          void *, int, PyObject *),
    *PyArray_NewLikeArray(PyArrayObject *, NPY_ORDER, PyArray_Descr *, int),
    *PyArray_NewCopy(PyArrayObject *, NPY_ORDER), *PyArray_Copy(PyArrayObject *),
    *PyArray_ZEROS(int, const npy_intp *, int, int),
    *PyArray_EMPTY(int, const npy_intp *, int, int),
    *PyArray_Zeros(int, const npy_intp *, PyArray_Descr *, int),
    *PyArray_Empty(int, const npy_intp *, PyArray_Descr *, int),
    *PyArray_Arange(double, double, double, int),
    *PyArray_FromAny(PyObject *, PyArray_Descr *, int, int, int, PyObject *),
    *PyArray_CheckFromAny(PyObject *, PyArray_Descr *, int, int, int, PyObject *),
    *PyArray_FromArray(PyArrayObject *, PyArray_Descr *, int), *PyArray_FROM_O(PyObject *),
    *PyArray_FROM_OF(PyObject *, int), *PyArray_FROM_OT(PyObject *, int),
    *PyArray_FROM_OTF(PyObject *, int, int), *PyArray_FROMANY(PyObject *, int, int, int, int),
    *PyArray_FromObject(PyObject *, int, int, int),
    *PyArray_ContiguousFromAny(PyObject *, int, int, int),
    *PyArray_ContiguousFromObject(PyObject *, int, int, int),
    *PyArray_CopyFromObject(PyObject *, int, int, int), *PyArray_EnsureArray(PyObject *),
    *PyArray_FromBuffer(PyObject *, PyArray_Descr *, npy_intp, npy_intp),
    *PyArray_Return(PyArrayObject *);
PyArrayObject *PyArray_GETCONTIGUOUS(PyArrayObject *);
int PyArray_SetBaseObject(PyArrayObject *, PyObject *);

/* ---- changing arrays --------------------------------------------------- */

int PyArray_CopyInto(PyArrayObject *, PyArrayObject *),
    PyArray_CopyObject(PyArrayObject *, PyObject *),
    PyArray_FillWithScalar(PyArrayObject *, PyObject *),
    PyArray_FailUnlessWriteable(PyArrayObject *, const char *),
    PyArray_ResolveWritebackIfCopy(PyArrayObject *),
    PyArray_Sort(PyArrayObject *, int, NPY_SORTKIND);
void PyArray_DiscardWritebackIfCopy(PyArrayObject *), PyArray_ENABLEFLAGS(PyArrayObject *, int),
    PyArray_CLEARFLAGS(PyArrayObject *, int), PyArray_UpdateFlags(PyArrayObject *, int);

/* ---- arrays from arrays ------------------------------------------------ */

PyObject *PyArray_Reshape(PyArrayObject *, PyObject *),
    *PyArray_Newshape(PyArrayObject *, PyArray_Dims *, NPY_ORDER),
    *PyArray_Transpose(PyArrayObject *, PyArray_Dims *),
    *PyArray_SwapAxes(PyArrayObject *, int, int), *PyArray_Squeeze(PyArrayObject *),
    *PyArray_Ravel(PyArrayObject *, NPY_ORDER), *PyArray_Flatten(PyArrayObject *, NPY_ORDER),
    *PyArray_View(PyArrayObject *, PyArray_Descr *, PyTypeObject *),
    *PyArray_Cast(PyArrayObject *, int), *PyArray_CastToType(PyArrayObject *, PyArray_Descr *, int),
    *PyArray_Concatenate(PyObject *, int),
    *PyArray_TakeFrom(PyArrayObject *, PyObject *, int, PyArrayObject *, NPY_CLIPMODE),
    *PyArray_Repeat(PyArrayObject *, PyObject *, int),
    *PyArray_Where(PyObject *, PyObject *, PyObject *), *PyArray_Nonzero(PyArrayObject *),
    *PyArray_ArgSort(PyArrayObject *, int, NPY_SORTKIND),
    *PyArray_ArgMax(PyArrayObject *, int, PyArrayObject *),
    *PyArray_ArgMin(PyArrayObject *, int, PyArrayObject *),
    *PyArray_Max(PyArrayObject *, int, PyArrayObject *),
    *PyArray_Min(PyArrayObject *, int, PyArrayObject *),
    *PyArray_All(PyArrayObject *, int, PyArrayObject *),
    *PyArray_Any(PyArrayObject *, int, PyArrayObject *),
    *PyArray_Sum(PyArrayObject *, int, int, PyArrayObject *),
    *PyArray_Prod(PyArrayObject *, int, int, PyArrayObject *),
    *PyArray_Mean(PyArrayObject *, int, int, PyArrayObject *),
    *PyArray_CumSum(PyArrayObject *, int, int, PyArrayObject *),
    *PyArray_CumProd(PyArrayObject *, int, int, PyArrayObject *),
    *PyArray_Clip(PyArrayObject *, PyObject *, PyObject *, PyArrayObject *),
    *PyArray_Conjugate(PyArrayObject *, PyArrayObject *),
    *PyArray_Round(PyArrayObject *, int, PyArrayObject *),
    *PyArray_InnerProduct(PyObject *, PyObject *), *PyArray_MatrixProduct(PyObject *, PyObject *),
    *PyArray_ToList(PyArrayObject *);
npy_intp PyArray_CountNonzero(PyArrayObject *);

/* ---- types and converters ---------------------------------------------- */

PyArray_Descr *PyArray_DescrFromType(int), *PyArray_DescrNewFromType(int),
    *PyArray_DescrFromObject(PyObject *, PyArray_Descr *);
int PyArray_DescrConverter(PyObject *, PyArray_Descr **),
    PyArray_DescrConverter2(PyObject *, PyArray_Descr **),
    PyArray_Converter(PyObject *, PyObject **),
    PyArray_OutputConverter(PyObject *, PyArrayObject **),
    PyArray_BoolConverter(PyObject *, npy_bool *), PyArray_AxisConverter(PyObject *, int *),
    PyArray_IntpFromSequence(PyObject *, npy_intp *, int), PyArray_PyIntAsInt(PyObject *),
    PyArray_CanCastSafely(int, int), PyArray_ObjectType(PyObject *, int),
    PyArray_CompareLists(const npy_intp *, const npy_intp *, int);
npy_intp PyArray_PyIntAsIntp(PyObject *), PyArray_MultiplyList(const npy_intp *, int);
unsigned char PyArray_EquivTypes(PyArray_Descr *, PyArray_Descr *), PyArray_EquivTypenums(int, int),
    PyArray_EquivArrTypes(PyArrayObject *, PyArrayObject *);
npy_bool PyArray_CanCastTypeTo(PyArray_Descr *, PyArray_Descr *, NPY_CASTING);

#define PyArray_FILLWBYTE(a, byte) memset(PyArray_DATA(a), byte, PyArray_NBYTES(a))

/* ---- type numbers -------------------------------------------------------- */

#define PyTypeNum_ISBOOL(type) ((type) == NPY_BOOL)
#define PyTypeNum_ISINTEGER(type) ((type) >= NPY_BYTE && (type) <= NPY_ULONGLONG)
#define PyTypeNum_ISSIGNED(type) (PyTypeNum_ISINTEGER(type) && (type) % 2 == NPY_BYTE % 2)
#define PyTypeNum_ISUNSIGNED(type) (PyTypeNum_ISINTEGER(type) && (type) % 2 == NPY_UBYTE % 2)
#define PyTypeNum_ISFLOAT(type) \
    (((type) >= NPY_FLOAT && (type) <= NPY_LONGDOUBLE) || (type) == NPY_HALF)
#define PyTypeNum_ISCOMPLEX(type) ((type) >= NPY_CFLOAT && (type) <= NPY_CLONGDOUBLE)
#define PyTypeNum_ISNUMBER(type) (((type) >= 0 && (type) <= NPY_CLONGDOUBLE) || (type) == NPY_HALF)
#define PyTypeNum_ISSTRING(type) ((type) == NPY_STRING || (type) == NPY_UNICODE)
#define PyTypeNum_ISFLEXIBLE(type) ((type) >= NPY_STRING && (type) <= NPY_VOID)
#define PyTypeNum_ISDATETIME(type) ((type) == NPY_DATETIME || (type) == NPY_TIMEDELTA)
#define PyTypeNum_ISOBJECT(type) ((type) == NPY_OBJECT)

/* ---- threads ------------------------------------------------------------- */

#define NPY_BEGIN_ALLOW_THREADS Py_BEGIN_ALLOW_THREADS
#define NPY_END_ALLOW_THREADS Py_END_ALLOW_THREADS
#define NPY_BEGIN_THREADS_DEF PyThreadState *_save = NULL;
#define NPY_BEGIN_THREADS _save = PyEval_SaveThread();
#define NPY_END_THREADS                  \
    do {                                 \
        if (_save) {                     \
            PyEval_RestoreThread(_save); \
            _save = NULL;                \
        }                                \
    } while (0);
#define NPY_ALLOW_C_API_DEF PyGILState_STATE __save__;
#define NPY_ALLOW_C_API __save__ = PyGILState_Ensure();
#define NPY_DISABLE_C_API PyGILState_Release(__save__);

#endif
