/* Python.h: a small <Python.h>, for snippets that work with Python objects.
 *
 * CPython's own takes 25 ms to read. This one declares functions that every CPython from 3.10 on exports; functions
 * replace CPython's macros on struct members. Objects have the members that all objects have, types those of every
 * CPython since 3.10. Compile code that needs more from a file with the real header.
 *
 * A function whose snippets use these names keeps the GIL while it runs. */
#ifndef CWJ_PYTHON_H
#define CWJ_PYTHON_H
#define Py_PYTHON_H /* some headers look for CPython's own guard */

#include "stdint.h"
#include "limits.h"
#include "stdarg.h"
#include "stdlib.h"
#include "string.h"
#include "stdio.h"
#include "errno.h"
#include "math.h"
#include "assert.h"

#ifndef CWJ_PYERRORS_H
#include "pyerrors.h"
#endif

typedef struct _typeobject PyTypeObject;
struct _object { /* of builds without Py_DEBUG and Py_GIL_DISABLED */
    Py_ssize_t ob_refcnt;
    PyTypeObject *ob_type;
};
typedef struct {
    PyObject ob_base;
    Py_ssize_t ob_size;
} PyVarObject;
typedef struct _ts PyThreadState;
typedef struct _is PyInterpreterState;
typedef struct _frame PyFrameObject;
typedef enum {
    PyGILState_LOCKED,
    PyGILState_UNLOCKED
} PyGILState_STATE;
typedef Py_ssize_t Py_hash_t;
typedef size_t Py_uhash_t;
typedef uint32_t Py_UCS4;
typedef uint16_t Py_UCS2;
typedef uint8_t Py_UCS1;
typedef void (*PyCapsule_Destructor)(PyObject *);
typedef struct {
    double real, imag;
} Py_complex;
typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;

typedef void (*destructor)(PyObject *), (*freefunc)(void *);
typedef PyObject *(*reprfunc)(PyObject *), *(*getiterfunc)(PyObject *),
    *(*iternextfunc)(PyObject *), *(*unaryfunc)(PyObject *), *(*binaryfunc)(PyObject *, PyObject *),
    *(*ternaryfunc)(PyObject *, PyObject *, PyObject *), *(*getattrfunc)(PyObject *, char *),
    *(*getattrofunc)(PyObject *, PyObject *), *(*richcmpfunc)(PyObject *, PyObject *, int),
    *(*descrgetfunc)(PyObject *, PyObject *, PyObject *),
    *(*newfunc)(PyTypeObject *, PyObject *, PyObject *), *(*allocfunc)(PyTypeObject *, Py_ssize_t),
    *(*vectorcallfunc)(PyObject *, PyObject *const *, size_t, PyObject *);
typedef int (*setattrfunc)(PyObject *, char *, PyObject *),
    (*setattrofunc)(PyObject *, PyObject *, PyObject *), (*visitproc)(PyObject *, void *),
    (*traverseproc)(PyObject *, visitproc, void *), (*inquiry)(PyObject *),
    (*descrsetfunc)(PyObject *, PyObject *, PyObject *),
    (*initproc)(PyObject *, PyObject *, PyObject *);
typedef Py_hash_t (*hashfunc)(PyObject *);
struct _typeobject {
    PyVarObject ob_base;
    const char *tp_name;
    Py_ssize_t tp_basicsize, tp_itemsize;
    destructor tp_dealloc;
    Py_ssize_t tp_vectorcall_offset;
    getattrfunc tp_getattr;
    setattrfunc tp_setattr;
    struct PyAsyncMethods *tp_as_async;
    reprfunc tp_repr;
    struct PyNumberMethods *tp_as_number;
    struct PySequenceMethods *tp_as_sequence;
    struct PyMappingMethods *tp_as_mapping;
    hashfunc tp_hash;
    ternaryfunc tp_call;
    reprfunc tp_str;
    getattrofunc tp_getattro;
    setattrofunc tp_setattro;
    struct PyBufferProcs *tp_as_buffer;
    unsigned long tp_flags;
    const char *tp_doc;
    traverseproc tp_traverse;
    inquiry tp_clear;
    richcmpfunc tp_richcompare;
    Py_ssize_t tp_weaklistoffset;
    getiterfunc tp_iter;
    iternextfunc tp_iternext;
    struct PyMethodDef *tp_methods;
    struct PyMemberDef *tp_members;
    struct PyGetSetDef *tp_getset;
    PyTypeObject *tp_base;
    PyObject *tp_dict;
    descrgetfunc tp_descr_get;
    descrsetfunc tp_descr_set;
    Py_ssize_t tp_dictoffset;
    initproc tp_init;
    allocfunc tp_alloc;
    newfunc tp_new;
    freefunc tp_free;
    inquiry tp_is_gc;
    PyObject *tp_bases, *tp_mro, *tp_cache, *tp_subclasses, *tp_weaklist;
    destructor tp_del;
    unsigned int tp_version_tag;
    destructor tp_finalize;
    vectorcallfunc tp_vectorcall;
    void *cwj_newer[8]; /* members of later versions */
};

#define PY_MAJOR_VERSION 3
#define PY_SSIZE_T_MAX PTRDIFF_MAX
#define PY_SSIZE_T_MIN PTRDIFF_MIN
#define PyAPI_FUNC(type) extern type
#define PyAPI_DATA(type) extern type
#define Py_UNUSED(name) cwj_unused_##name __attribute__((unused))
#define Py_STRINGIFY(x) CWJ_STRINGIFY(x)
#define CWJ_STRINGIFY(x) #x
#define Py_MIN(x, y) ((x) > (y) ? (y) : (x))
#define Py_MAX(x, y) ((x) > (y) ? (x) : (y))
#define Py_ABS(x) ((x) < 0 ? -(x) : (x))
#define Py_ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define Py_CHARMASK(c) ((unsigned char)((c) & 0xff))
#define Py_NAN NAN
#define Py_HUGE_VAL HUGE_VAL
#define Py_IS_NAN(x) isnan(x)
#define Py_IS_INFINITY(x) isinf(x)
#define Py_IS_FINITE(x) isfinite(x)

/* ---- references and constants -------------------------------------------- */

extern PyObject _Py_NoneStruct, _Py_NotImplementedStruct, _Py_EllipsisObject;
extern struct _longobject _Py_TrueStruct, _Py_FalseStruct;
#define Py_None (&_Py_NoneStruct)
#define Py_NotImplemented (&_Py_NotImplementedStruct)
#define Py_Ellipsis (&_Py_EllipsisObject)
#define Py_True ((PyObject *)&_Py_TrueStruct)
#define Py_False ((PyObject *)&_Py_FalseStruct)

void Py_IncRef(PyObject *), Py_DecRef(PyObject *);
PyObject *Py_NewRef(PyObject *), *Py_XNewRef(PyObject *);
int Py_Is(PyObject *, PyObject *), Py_IsNone(PyObject *), Py_IsTrue(PyObject *),
    Py_IsFalse(PyObject *);
#define Py_CLEAR(o)                                                \
    do {                                                           \
        PyObject **cwj_at = (PyObject **)&(o), *cwj_old = *cwj_at; \
        *cwj_at = NULL;                                            \
        Py_DecRef(cwj_old);                                        \
    } while (0)
#define Py_SETREF(o, value)                                        \
    do {                                                           \
        PyObject **cwj_at = (PyObject **)&(o), *cwj_old = *cwj_at; \
        *cwj_at = (PyObject *)(value);                             \
        Py_DecRef(cwj_old);                                        \
    } while (0)
#define Py_XSETREF(o, value) Py_SETREF(o, value)
#define Py_NewRef(o) Py_NewRef((PyObject *)(o))
#define Py_XNewRef(o) Py_XNewRef((PyObject *)(o))
#define Py_Is(x, y) ((x) == (y))
#define Py_IsNone(o) ((o) == Py_None)
#define Py_IsTrue(o) ((o) == Py_True)
#define Py_IsFalse(o) ((o) == Py_False)
#define Py_RETURN_NONE return Py_NewRef(Py_None)
#define Py_RETURN_TRUE return Py_NewRef(Py_True)
#define Py_RETURN_FALSE return Py_NewRef(Py_False)

/* The extension provides these functions, as not every CPython exports them. */
void Py_INCREF(PyObject *), Py_DECREF(PyObject *), Py_XINCREF(PyObject *), Py_XDECREF(PyObject *);
PyTypeObject *Py_TYPE(PyObject *);
Py_ssize_t Py_REFCNT(PyObject *), Py_SIZE(PyObject *);
PyObject *PyObject_Vectorcall(PyObject *, PyObject *const *, size_t, PyObject *);
#define Py_INCREF(o) Py_INCREF((PyObject *)(o))
#define Py_DECREF(o) Py_DECREF((PyObject *)(o))
#define Py_XINCREF(o) Py_XINCREF((PyObject *)(o))
#define Py_XDECREF(o) Py_XDECREF((PyObject *)(o))
#define Py_TYPE(o) Py_TYPE((PyObject *)(o))
#define Py_REFCNT(o) Py_REFCNT((PyObject *)(o))
#define Py_SIZE(o) Py_SIZE((PyObject *)(o))
#define Py_IS_TYPE(o, type) (Py_TYPE(o) == (type))

/* ---- any object ------------------------------------------------------------ */

PyObject *PyObject_Repr(PyObject *), *PyObject_Str(PyObject *), *PyObject_ASCII(PyObject *),
    *PyObject_Bytes(PyObject *), *PyObject_Type(PyObject *), *PyObject_Dir(PyObject *),
    *PyObject_GetAttr(PyObject *, PyObject *), *PyObject_GetAttrString(PyObject *, const char *),
    *PyObject_GetItem(PyObject *, PyObject *), *PyObject_GetIter(PyObject *),
    *PyObject_RichCompare(PyObject *, PyObject *, int), *PyObject_SelfIter(PyObject *),
    *PyObject_Format(PyObject *, PyObject *), *PyObject_GenericGetAttr(PyObject *, PyObject *);
int PyObject_SetAttr(PyObject *, PyObject *, PyObject *),
    PyObject_SetAttrString(PyObject *, const char *, PyObject *),
    PyObject_HasAttr(PyObject *, PyObject *), PyObject_HasAttrString(PyObject *, const char *),
    PyObject_SetItem(PyObject *, PyObject *, PyObject *), PyObject_DelItem(PyObject *, PyObject *),
    PyObject_RichCompareBool(PyObject *, PyObject *, int), PyObject_IsTrue(PyObject *),
    PyObject_Not(PyObject *), PyObject_IsInstance(PyObject *, PyObject *),
    PyObject_IsSubclass(PyObject *, PyObject *), PyObject_Print(PyObject *, FILE *, int),
    PyCallable_Check(PyObject *), PyIter_Check(PyObject *), PyIndex_Check(PyObject *),
    PyType_IsSubtype(PyTypeObject *, PyTypeObject *);
unsigned long PyType_GetFlags(PyTypeObject *);
Py_ssize_t PyObject_Size(PyObject *), PyObject_Length(PyObject *),
    PyObject_LengthHint(PyObject *, Py_ssize_t);
Py_hash_t PyObject_Hash(PyObject *);
PyObject *PyIter_Next(PyObject *);
#define PyObject_DelAttr(o, name) PyObject_SetAttr(o, name, NULL)
#define PyObject_DelAttrString(o, name) PyObject_SetAttrString(o, name, NULL)
#define PyObject_TypeCheck(o, type) (Py_TYPE(o) == (type) || PyType_IsSubtype(Py_TYPE(o), type))
#define Py_LT 0
#define Py_LE 1
#define Py_EQ 2
#define Py_NE 3
#define Py_GT 4
#define Py_GE 5
#define Py_PRINT_RAW 1

/* ---- calling --------------------------------------------------------------- */

PyObject *PyObject_Call(PyObject *, PyObject *, PyObject *),
    *PyObject_CallObject(PyObject *, PyObject *), *PyObject_CallNoArgs(PyObject *),
    *PyObject_CallFunctionObjArgs(PyObject *, ...),
    *PyObject_CallMethodObjArgs(PyObject *, PyObject *, ...),
    *PyObject_VectorcallDict(PyObject *, PyObject *const *, size_t, PyObject *),
    *PyObject_VectorcallMethod(PyObject *, PyObject *const *, size_t, PyObject *);
PyObject *_PyObject_CallFunction_SizeT(PyObject *, const char *, ...),
    *_PyObject_CallMethod_SizeT(PyObject *, const char *, const char *, ...),
    *_Py_BuildValue_SizeT(const char *, ...), *_Py_VaBuildValue_SizeT(const char *, va_list);
int _PyArg_Parse_SizeT(PyObject *, const char *, ...),
    _PyArg_ParseTuple_SizeT(PyObject *, const char *, ...),
    _PyArg_ParseTupleAndKeywords_SizeT(PyObject *, PyObject *, const char *, char **, ...),
    PyArg_UnpackTuple(PyObject *, const char *, Py_ssize_t, Py_ssize_t, ...);
#define PyObject_CallFunction _PyObject_CallFunction_SizeT
#define PyObject_CallMethod _PyObject_CallMethod_SizeT
#define Py_BuildValue _Py_BuildValue_SizeT
#define Py_VaBuildValue _Py_VaBuildValue_SizeT
#define PyArg_Parse _PyArg_Parse_SizeT
#define PyArg_ParseTuple _PyArg_ParseTuple_SizeT
#define PyArg_ParseTupleAndKeywords _PyArg_ParseTupleAndKeywords_SizeT
#define PY_VECTORCALL_ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))
#define PyObject_CallOneArg(o, x) PyObject_CallFunctionObjArgs(o, x, NULL)
#define PyObject_CallMethodNoArgs(o, name) PyObject_CallMethodObjArgs(o, name, NULL)
#define PyObject_CallMethodOneArg(o, name, x) PyObject_CallMethodObjArgs(o, name, x, NULL)

/* ---- numbers --------------------------------------------------------------- */

extern PyTypeObject PyLong_Type, PyBool_Type, PyFloat_Type, PyComplex_Type;
PyObject *PyLong_FromLong(long), *PyLong_FromUnsignedLong(unsigned long),
    *PyLong_FromLongLong(long long), *PyLong_FromUnsignedLongLong(unsigned long long),
    *PyLong_FromSsize_t(Py_ssize_t), *PyLong_FromSize_t(size_t), *PyLong_FromDouble(double),
    *PyLong_FromVoidPtr(void *), *PyLong_FromString(const char *, char **, int),
    *PyLong_FromUnicodeObject(PyObject *, int);
long PyLong_AsLong(PyObject *), PyLong_AsLongAndOverflow(PyObject *, int *);
unsigned long PyLong_AsUnsignedLong(PyObject *), PyLong_AsUnsignedLongMask(PyObject *);
long long PyLong_AsLongLong(PyObject *), PyLong_AsLongLongAndOverflow(PyObject *, int *);
unsigned long long PyLong_AsUnsignedLongLong(PyObject *), PyLong_AsUnsignedLongLongMask(PyObject *);
Py_ssize_t PyLong_AsSsize_t(PyObject *);
size_t PyLong_AsSize_t(PyObject *);
double PyLong_AsDouble(PyObject *);
void *PyLong_AsVoidPtr(PyObject *);
PyObject *PyBool_FromLong(long);
PyObject *PyFloat_FromDouble(double), *PyFloat_FromString(PyObject *);
double PyFloat_AsDouble(PyObject *), PyFloat_GetMax(void), PyFloat_GetMin(void);
#define PyFloat_AS_DOUBLE(o) PyFloat_AsDouble((PyObject *)(o))
PyObject *PyComplex_FromDoubles(double, double), *PyComplex_FromCComplex(Py_complex);
double PyComplex_RealAsDouble(PyObject *), PyComplex_ImagAsDouble(PyObject *);
Py_complex PyComplex_AsCComplex(PyObject *);

PyObject *PyNumber_Add(PyObject *, PyObject *), *PyNumber_Subtract(PyObject *, PyObject *),
    *PyNumber_Multiply(PyObject *, PyObject *), *PyNumber_MatrixMultiply(PyObject *, PyObject *),
    *PyNumber_FloorDivide(PyObject *, PyObject *), *PyNumber_TrueDivide(PyObject *, PyObject *),
    *PyNumber_Remainder(PyObject *, PyObject *), *PyNumber_Divmod(PyObject *, PyObject *),
    *PyNumber_Power(PyObject *, PyObject *, PyObject *), *PyNumber_Negative(PyObject *),
    *PyNumber_Positive(PyObject *), *PyNumber_Absolute(PyObject *), *PyNumber_Invert(PyObject *),
    *PyNumber_Lshift(PyObject *, PyObject *), *PyNumber_Rshift(PyObject *, PyObject *),
    *PyNumber_And(PyObject *, PyObject *), *PyNumber_Xor(PyObject *, PyObject *),
    *PyNumber_Or(PyObject *, PyObject *), *PyNumber_InPlaceAdd(PyObject *, PyObject *),
    *PyNumber_InPlaceSubtract(PyObject *, PyObject *),
    *PyNumber_InPlaceMultiply(PyObject *, PyObject *), *PyNumber_Long(PyObject *),
    *PyNumber_Float(PyObject *), *PyNumber_Index(PyObject *), *PyNumber_ToBase(PyObject *, int);
Py_ssize_t PyNumber_AsSsize_t(PyObject *, PyObject *);
int PyNumber_Check(PyObject *);

/* ---- text and bytes -------------------------------------------------------- */

extern PyTypeObject PyUnicode_Type, PyBytes_Type, PyByteArray_Type;
PyObject *PyUnicode_FromString(const char *),
    *PyUnicode_FromStringAndSize(const char *, Py_ssize_t),
    *PyUnicode_FromFormat(const char *, ...), *PyUnicode_FromFormatV(const char *, va_list),
    *PyUnicode_FromObject(PyObject *), *PyUnicode_FromOrdinal(int),
    *PyUnicode_FromKindAndData(int, const void *, Py_ssize_t),
    *PyUnicode_InternFromString(const char *), *PyUnicode_Concat(PyObject *, PyObject *),
    *PyUnicode_Join(PyObject *, PyObject *), *PyUnicode_Split(PyObject *, PyObject *, Py_ssize_t),
    *PyUnicode_Format(PyObject *, PyObject *),
    *PyUnicode_Replace(PyObject *, PyObject *, PyObject *, Py_ssize_t),
    *PyUnicode_Substring(PyObject *, Py_ssize_t, Py_ssize_t), *PyUnicode_AsUTF8String(PyObject *),
    *PyUnicode_AsASCIIString(PyObject *), *PyUnicode_AsLatin1String(PyObject *),
    *PyUnicode_AsEncodedString(PyObject *, const char *, const char *),
    *PyUnicode_DecodeUTF8(const char *, Py_ssize_t, const char *),
    *PyUnicode_DecodeLatin1(const char *, Py_ssize_t, const char *),
    *PyUnicode_DecodeASCII(const char *, Py_ssize_t, const char *),
    *PyUnicode_Decode(const char *, Py_ssize_t, const char *, const char *),
    *PyUnicode_DecodeFSDefault(const char *), *PyUnicode_EncodeFSDefault(PyObject *);
const char *PyUnicode_AsUTF8(PyObject *), *PyUnicode_AsUTF8AndSize(PyObject *, Py_ssize_t *);
Py_ssize_t PyUnicode_GetLength(PyObject *),
    PyUnicode_Find(PyObject *, PyObject *, Py_ssize_t, Py_ssize_t, int),
    PyUnicode_Count(PyObject *, PyObject *, Py_ssize_t, Py_ssize_t);
Py_UCS4 PyUnicode_ReadChar(PyObject *, Py_ssize_t), *PyUnicode_AsUCS4Copy(PyObject *),
    *PyUnicode_AsUCS4(PyObject *, Py_UCS4 *, Py_ssize_t, int);
int PyUnicode_Compare(PyObject *, PyObject *), PyUnicode_Contains(PyObject *, PyObject *),
    PyUnicode_CompareWithASCIIString(PyObject *, const char *);
#define PyUnicode_GET_LENGTH(o) PyUnicode_GetLength((PyObject *)(o))
#define PyUnicode_READ_CHAR(o, i) PyUnicode_ReadChar((PyObject *)(o), i)
PyObject *PyBytes_FromString(const char *), *PyBytes_FromStringAndSize(const char *, Py_ssize_t),
    *PyBytes_FromFormat(const char *, ...), *PyBytes_FromObject(PyObject *);
char *PyBytes_AsString(PyObject *);
int PyBytes_AsStringAndSize(PyObject *, char **, Py_ssize_t *);
Py_ssize_t PyBytes_Size(PyObject *);
void PyBytes_Concat(PyObject **, PyObject *);
#define PyBytes_AS_STRING(o) PyBytes_AsString((PyObject *)(o))
#define PyBytes_GET_SIZE(o) PyBytes_Size((PyObject *)(o))
PyObject *PyByteArray_FromStringAndSize(const char *, Py_ssize_t);
char *PyByteArray_AsString(PyObject *);
Py_ssize_t PyByteArray_Size(PyObject *);
int PyByteArray_Resize(PyObject *, Py_ssize_t);

/* ---- containers ------------------------------------------------------------ */

extern PyTypeObject PyList_Type, PyTuple_Type, PyDict_Type, PySet_Type, PyFrozenSet_Type,
    PySlice_Type;
PyObject *PyList_New(Py_ssize_t), *PyList_GetItem(PyObject *, Py_ssize_t),
    *PyList_GetSlice(PyObject *, Py_ssize_t, Py_ssize_t), *PyList_AsTuple(PyObject *);
Py_ssize_t PyList_Size(PyObject *);
int PyList_SetItem(PyObject *, Py_ssize_t, PyObject *), PyList_Append(PyObject *, PyObject *),
    PyList_Insert(PyObject *, Py_ssize_t, PyObject *), PyList_Sort(PyObject *),
    PyList_Reverse(PyObject *), PyList_SetSlice(PyObject *, Py_ssize_t, Py_ssize_t, PyObject *);
#define PyList_GET_SIZE(o) PyList_Size((PyObject *)(o))
#define PyList_GET_ITEM(o, i) PyList_GetItem((PyObject *)(o), i)
#define PyList_SET_ITEM(o, i, value) ((void)PyList_SetItem((PyObject *)(o), i, (PyObject *)(value)))
PyObject *PyTuple_New(Py_ssize_t), *PyTuple_GetItem(PyObject *, Py_ssize_t),
    *PyTuple_GetSlice(PyObject *, Py_ssize_t, Py_ssize_t), *PyTuple_Pack(Py_ssize_t, ...);
Py_ssize_t PyTuple_Size(PyObject *);
int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
#define PyTuple_GET_SIZE(o) PyTuple_Size((PyObject *)(o))
#define PyTuple_GET_ITEM(o, i) PyTuple_GetItem((PyObject *)(o), i)
#define PyTuple_SET_ITEM(o, i, value) \
    ((void)PyTuple_SetItem((PyObject *)(o), i, (PyObject *)(value)))
PyObject *PyDict_New(void), *PyDict_GetItem(PyObject *, PyObject *),
    *PyDict_GetItemString(PyObject *, const char *),
    *PyDict_GetItemWithError(PyObject *, PyObject *),
    *PyDict_SetDefault(PyObject *, PyObject *, PyObject *), *PyDict_Keys(PyObject *),
    *PyDict_Values(PyObject *), *PyDict_Items(PyObject *), *PyDict_Copy(PyObject *);
Py_ssize_t PyDict_Size(PyObject *);
int PyDict_SetItem(PyObject *, PyObject *, PyObject *),
    PyDict_SetItemString(PyObject *, const char *, PyObject *),
    PyDict_DelItem(PyObject *, PyObject *), PyDict_DelItemString(PyObject *, const char *),
    PyDict_Contains(PyObject *, PyObject *),
    PyDict_Next(PyObject *, Py_ssize_t *, PyObject **, PyObject **),
    PyDict_Update(PyObject *, PyObject *), PyDict_Merge(PyObject *, PyObject *, int);
void PyDict_Clear(PyObject *);
PyObject *PySet_New(PyObject *), *PySet_Pop(PyObject *), *PyFrozenSet_New(PyObject *);
int PySet_Add(PyObject *, PyObject *), PySet_Contains(PyObject *, PyObject *),
    PySet_Discard(PyObject *, PyObject *), PySet_Clear(PyObject *);
Py_ssize_t PySet_Size(PyObject *);
PyObject *PySlice_New(PyObject *, PyObject *, PyObject *);
int PySlice_Unpack(PyObject *, Py_ssize_t *, Py_ssize_t *, Py_ssize_t *);
Py_ssize_t PySlice_AdjustIndices(Py_ssize_t, Py_ssize_t *, Py_ssize_t *, Py_ssize_t);
PyObject *PySequence_GetItem(PyObject *, Py_ssize_t), *PySequence_List(PyObject *),
    *PySequence_Tuple(PyObject *), *PySequence_Fast(PyObject *, const char *),
    *PySequence_Concat(PyObject *, PyObject *), *PySequence_Repeat(PyObject *, Py_ssize_t),
    *PySequence_GetSlice(PyObject *, Py_ssize_t, Py_ssize_t);
int PySequence_Check(PyObject *), PySequence_SetItem(PyObject *, Py_ssize_t, PyObject *),
    PySequence_DelItem(PyObject *, Py_ssize_t), PySequence_Contains(PyObject *, PyObject *);
Py_ssize_t PySequence_Size(PyObject *), PySequence_Length(PyObject *),
    PySequence_Count(PyObject *, PyObject *), PySequence_Index(PyObject *, PyObject *);
/* PySequence_Fast gives a list or a tuple: this works on both. */
#define PySequence_Fast_GET_SIZE(o) PySequence_Size((PyObject *)(o))
#define PySequence_Fast_GET_ITEM(o, i) \
    (PyList_Check(o) ? PyList_GetItem((PyObject *)(o), i) : PyTuple_GetItem((PyObject *)(o), i))
PyObject *PyMapping_GetItemString(PyObject *, const char *), *PyMapping_Keys(PyObject *),
    *PyMapping_Values(PyObject *), *PyMapping_Items(PyObject *);
int PyMapping_Check(PyObject *), PyMapping_HasKey(PyObject *, PyObject *),
    PyMapping_HasKeyString(PyObject *, const char *),
    PyMapping_SetItemString(PyObject *, const char *, PyObject *);
Py_ssize_t PyMapping_Size(PyObject *);

/* ---- type checks ----------------------------------------------------------- */

#define CWJ_HAS_FLAG(o, bit) ((PyType_GetFlags(Py_TYPE(o)) & (1UL << (bit))) != 0)
#define PyLong_Check(o) CWJ_HAS_FLAG(o, 24)
#define PyList_Check(o) CWJ_HAS_FLAG(o, 25)
#define PyTuple_Check(o) CWJ_HAS_FLAG(o, 26)
#define PyBytes_Check(o) CWJ_HAS_FLAG(o, 27)
#define PyUnicode_Check(o) CWJ_HAS_FLAG(o, 28)
#define PyDict_Check(o) CWJ_HAS_FLAG(o, 29)
#define PyType_Check(o) CWJ_HAS_FLAG(o, 31)
#define PyExceptionInstance_Check(o) CWJ_HAS_FLAG(o, 30)
#define PyFloat_Check(o) PyObject_TypeCheck(o, &PyFloat_Type)
#define PyComplex_Check(o) PyObject_TypeCheck(o, &PyComplex_Type)
#define PyByteArray_Check(o) PyObject_TypeCheck(o, &PyByteArray_Type)
#define PySet_Check(o) PyObject_TypeCheck(o, &PySet_Type)
#define PyCapsule_CheckExact(o) Py_IS_TYPE(o, &PyCapsule_Type)
#define PyModule_Check(o) PyObject_TypeCheck(o, &PyModule_Type)
#define PySlice_Check(o) Py_IS_TYPE(o, &PySlice_Type)
#define PyBool_Check(o) Py_IS_TYPE(o, &PyBool_Type)
#define PyLong_CheckExact(o) Py_IS_TYPE(o, &PyLong_Type)
#define PyFloat_CheckExact(o) Py_IS_TYPE(o, &PyFloat_Type)
#define PyUnicode_CheckExact(o) Py_IS_TYPE(o, &PyUnicode_Type)
#define PyBytes_CheckExact(o) Py_IS_TYPE(o, &PyBytes_Type)
#define PyList_CheckExact(o) Py_IS_TYPE(o, &PyList_Type)
#define PyTuple_CheckExact(o) Py_IS_TYPE(o, &PyTuple_Type)
#define PyDict_CheckExact(o) Py_IS_TYPE(o, &PyDict_Type)

/* ---- exceptions and warnings, beyond pyerrors.h ---------------------------- */

void PyErr_Print(void), PyErr_PrintEx(int), PyErr_WriteUnraisable(PyObject *),
    PyErr_BadInternalCall(void), PyErr_Fetch(PyObject **, PyObject **, PyObject **),
    PyErr_Restore(PyObject *, PyObject *, PyObject *),
    PyErr_NormalizeException(PyObject **, PyObject **, PyObject **);
int PyErr_BadArgument(void), PyErr_ExceptionMatches(PyObject *),
    PyErr_GivenExceptionMatches(PyObject *, PyObject *), PyErr_CheckSignals(void),
    PyErr_WarnEx(PyObject *, const char *, Py_ssize_t),
    PyErr_WarnFormat(PyObject *, Py_ssize_t, const char *, ...);
PyObject *PyErr_FormatV(PyObject *, const char *, va_list), *PyErr_SetFromErrno(PyObject *),
    *PyErr_SetFromErrnoWithFilename(PyObject *, const char *),
    *PyErr_SetFromErrnoWithFilenameObject(PyObject *, PyObject *),
    *PyErr_NewException(const char *, PyObject *, PyObject *);
int Py_EnterRecursiveCall(const char *);
void Py_LeaveRecursiveCall(void), Py_FatalError(const char *);

/* ---- memory, threads, modules, buffers ------------------------------------- */

void *PyMem_Malloc(size_t), *PyMem_Calloc(size_t, size_t), *PyMem_Realloc(void *, size_t),
    PyMem_Free(void *), *PyMem_RawMalloc(size_t), *PyMem_RawCalloc(size_t, size_t),
    *PyMem_RawRealloc(void *, size_t), PyMem_RawFree(void *), *PyObject_Malloc(size_t),
    PyObject_Free(void *);
#define PyMem_New(type, n) \
    ((size_t)(n) > PY_SSIZE_T_MAX / sizeof(type) ? NULL : (type *)PyMem_Malloc((n) * sizeof(type)))
#define PyMem_Del(p) PyMem_Free(p)

PyGILState_STATE PyGILState_Ensure(void);
void PyGILState_Release(PyGILState_STATE), PyEval_RestoreThread(PyThreadState *);
int PyGILState_Check(void);
PyThreadState *PyEval_SaveThread(void), *PyThreadState_Get(void),
    *PyGILState_GetThisThreadState(void);
#define Py_BEGIN_ALLOW_THREADS \
    {                          \
        PyThreadState *_save = PyEval_SaveThread();
#define Py_END_ALLOW_THREADS     \
    PyEval_RestoreThread(_save); \
    }
#define Py_BLOCK_THREADS PyEval_RestoreThread(_save);
#define Py_UNBLOCK_THREADS _save = PyEval_SaveThread();

extern PyTypeObject PyModule_Type, PyCapsule_Type, PyType_Type, PyBaseObject_Type;
PyObject *PyImport_Import(PyObject *), *PyImport_ImportModule(const char *),
    *PyImport_AddModule(const char *), *PyImport_GetModuleDict(void), *PyModule_GetDict(PyObject *),
    *PySys_GetObject(const char *), *PyEval_GetBuiltins(void), *PyEval_GetGlobals(void),
    *PyEval_GetLocals(void), *PyRun_String(const char *, int, PyObject *, PyObject *);
const char *PyModule_GetName(PyObject *);
int PyModule_AddObject(PyObject *, const char *, PyObject *),
    PySys_SetObject(const char *, PyObject *);
void PySys_WriteStdout(const char *, ...), PySys_WriteStderr(const char *, ...),
    PySys_FormatStdout(const char *, ...), PySys_FormatStderr(const char *, ...);
#define Py_single_input 256
#define Py_file_input 257
#define Py_eval_input 258

PyObject *PyCapsule_New(void *, const char *, PyCapsule_Destructor);
void *PyCapsule_GetPointer(PyObject *, const char *), *PyCapsule_Import(const char *, int),
    *PyCapsule_GetContext(PyObject *);
const char *PyCapsule_GetName(PyObject *);
int PyCapsule_IsValid(PyObject *, const char *), PyCapsule_SetContext(PyObject *, void *),
    PyCapsule_SetDestructor(PyObject *, PyCapsule_Destructor);

int PyObject_CheckBuffer(PyObject *), PyObject_GetBuffer(PyObject *, Py_buffer *, int),
    PyBuffer_IsContiguous(const Py_buffer *, char);
void PyBuffer_Release(Py_buffer *);
PyObject *PyMemoryView_FromObject(PyObject *), *PyMemoryView_FromMemory(char *, Py_ssize_t, int);
#define PyBUF_SIMPLE 0
#define PyBUF_WRITABLE 1
#define PyBUF_FORMAT 4
#define PyBUF_ND 8
#define PyBUF_STRIDES (0x10 | PyBUF_ND)
#define PyBUF_C_CONTIGUOUS (0x20 | PyBUF_STRIDES)
#define PyBUF_F_CONTIGUOUS (0x40 | PyBUF_STRIDES)
#define PyBUF_ANY_CONTIGUOUS (0x80 | PyBUF_STRIDES)
#define PyBUF_CONTIG (PyBUF_ND | PyBUF_WRITABLE)
#define PyBUF_CONTIG_RO PyBUF_ND
#define PyBUF_STRIDED (PyBUF_STRIDES | PyBUF_WRITABLE)
#define PyBUF_STRIDED_RO PyBUF_STRIDES
#define PyBUF_RECORDS (PyBUF_STRIDES | PyBUF_WRITABLE | PyBUF_FORMAT)
#define PyBUF_RECORDS_RO (PyBUF_STRIDES | PyBUF_FORMAT)
#define PyBUF_READ 0x100
#define PyBUF_WRITE 0x200

double PyOS_string_to_double(const char *, char **, PyObject *);
char *PyOS_double_to_string(double, char, int, int, int *);
int PyOS_snprintf(char *, size_t, const char *, ...),
    PyOS_vsnprintf(char *, size_t, const char *, va_list);
long PyOS_strtol(const char *, char **, int);

#endif
