/* numbers.h: converts Python numbers to C numbers, by the same rule for all front ends.
 *
 * Python's own numbers are weak: bool, int, float, complex and derived types become any type of their kind or of a
 * wider kind. Floating-point types round ints, as NumPy does. An int out of the type's range raises OverflowError;
 * floats become infinite with NumPy's warning.
 *
 * NumPy's scalars and arrays without dims are strong: their dtype must cast safely. Those that are integers count by
 * their value instead, which no type may change but those to which all integers cast safely: float64 and wider ones
 * round. Everything else raises TypeError.
 *
 * The calls of functions include this file, and m.write() embeds its text. */
#pragma once

/* Python.h and numpy/arrayobject.h come before this file. */
#include "base/masked.h"

#include <numpy/arrayscalars.h>

#include <float.h>
#include <stdlib.h>
#include <string.h>

typedef enum cwj_fit {
    CWJ_FIT_ERROR = -1, /* an exception is set */
    CWJ_FITS,           /* the value was stored */
    CWJ_FITS_BY_NUMPY,  /* NumPy must store it, because it may warn of infinity */
    CWJ_NO_SUCH_VALUE,  /* an int out of range, or that must be exact and is not: OverflowError */
    CWJ_NO_SUCH_KIND    /* TypeError */
} cwj_fit;

/* In all of NumPy's own scalar objects, the value is at the same offset. */
#define CWJ_VALUE_OFFSET offsetof(PyDoubleScalarObject, obval)
_Static_assert(CWJ_VALUE_OFFSET == offsetof(PyByteScalarObject, obval) &&
                   CWJ_VALUE_OFFSET == offsetof(PyHalfScalarObject, obval) &&
                   CWJ_VALUE_OFFSET == offsetof(PyFloatScalarObject, obval) &&
                   CWJ_VALUE_OFFSET == offsetof(PyCLongDoubleScalarObject, obval),
               "NumPy's scalars keep their values at one place");

#if NPY_ABI_VERSION < 0x02000000
#define PyDataType_ELSIZE(descr) ((descr)->elsize)
#define PyDataType_ALIGNMENT(descr) ((descr)->alignment)
#endif

enum {
    CWJ_NUMBER_BYTES = 2 * sizeof(npy_longdouble) /* enough for any number */
};

/* ---- C numbers --------------------------------------------------------- */

/* Returns true if value is finite but becomes infinite as a float (approximately). */
static inline int
cwj_leaves_float(double value)
{
    return (value > FLT_MAX && value <= DBL_MAX) || (value < -FLT_MAX && value >= -DBL_MAX);
}

static inline cwj_fit
cwj_store_double(double value, int type_num, void *target)
{
    switch (type_num) {
    case NPY_DOUBLE:
        memcpy(target, &value, sizeof(value));
        return CWJ_FITS;
    case NPY_FLOAT: {
        if (cwj_leaves_float(value)) {
            return CWJ_FITS_BY_NUMPY;
        }
        float narrow = (float)value;
        memcpy(target, &narrow, sizeof(narrow));
        return CWJ_FITS;
    }
    case NPY_LONGDOUBLE: {
        npy_longdouble wide = value;
        memcpy(target, &wide, sizeof(wide));
        return CWJ_FITS;
    }
    case NPY_HALF:
        return CWJ_FITS_BY_NUMPY;
    default:
        return CWJ_NO_SUCH_KIND;
    }
}

/* Stores a complex value; fails for types that are not complex. */
static inline cwj_fit
cwj_store_complex(double real, double imag, int type_num, void *target)
{
    int part = type_num == NPY_CFLOAT        ? NPY_FLOAT
               : type_num == NPY_CDOUBLE     ? NPY_DOUBLE
               : type_num == NPY_CLONGDOUBLE ? NPY_LONGDOUBLE
                                             : NPY_NOTYPE;
    size_t size = part == NPY_FLOAT    ? sizeof(float)
                  : part == NPY_DOUBLE ? sizeof(double)
                                       : sizeof(npy_longdouble);
    cwj_fit fit = cwj_store_double(real, part, target);
    return fit == CWJ_FITS ? cwj_store_double(imag, part, (char *)target + size) : fit;
}

static inline cwj_fit
cwj_store_real(double value, int type_num, void *target)
{
    return PyTypeNum_ISCOMPLEX(type_num) ? cwj_store_complex(value, 0.0, type_num, target)
                                         : cwj_store_double(value, type_num, target);
}

#define CWJ_STORE_INTEGER(ctype, least)                        \
    {                                                          \
        ctype narrow = (ctype)value;                           \
        memcpy(target, &narrow, sizeof(narrow));               \
        return value >= (least) && (long long)narrow == value; \
    }

/* Stores the value; returns true if the integer type can represent it. */
static inline int
cwj_store_integer(long long value, int type_num, void *target)
{
    switch (type_num) {
    case NPY_BYTE:
        CWJ_STORE_INTEGER(npy_byte, NPY_MIN_BYTE)
    case NPY_UBYTE:
        CWJ_STORE_INTEGER(npy_ubyte, 0)
    case NPY_SHORT:
        CWJ_STORE_INTEGER(npy_short, NPY_MIN_SHORT)
    case NPY_USHORT:
        CWJ_STORE_INTEGER(npy_ushort, 0)
    case NPY_INT:
        CWJ_STORE_INTEGER(npy_int, NPY_MIN_INT)
    case NPY_UINT:
        CWJ_STORE_INTEGER(npy_uint, 0)
    case NPY_LONG:
        CWJ_STORE_INTEGER(npy_long, NPY_MIN_LONG)
    case NPY_ULONG:
        CWJ_STORE_INTEGER(npy_ulong, 0)
    case NPY_LONGLONG:
        CWJ_STORE_INTEGER(npy_longlong, NPY_MIN_LONGLONG)
    case NPY_ULONGLONG:
        CWJ_STORE_INTEGER(npy_ulonglong, 0)
    default:
        return 0;
    }
}
#undef CWJ_STORE_INTEGER

/* ---- Python numbers ---------------------------------------------------- */

/* Stores an int above the range of long long in an integer type; only the largest type can hold it. */
static inline cwj_fit
cwj_store_large_integer(PyObject *number, int type_num, void *target)
{
    unsigned long long value = PyLong_AsUnsignedLongLong(number);
    if (value == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear(); /* OverflowError: no Python code runs for an int */
        return CWJ_NO_SUCH_VALUE;
    }
    if (type_num != NPY_ULONGLONG &&
        (type_num != NPY_ULONG || sizeof(npy_ulong) != sizeof(value))) {
        return CWJ_NO_SUCH_VALUE;
    }
    memcpy(target, &value, sizeof(value));
    return CWJ_FITS;
}

/* Stores the double nearest to an int as a floating-point or complex type, unless it would become infinite. */
static inline cwj_fit
cwj_store_rounded(double value, int type_num, void *target)
{
    int is_single = type_num == NPY_FLOAT || type_num == NPY_CFLOAT;
    double infinite = type_num == NPY_HALF ? 65520.0 : 0x1.ffffffp127;
    if ((is_single || type_num == NPY_HALF) && (value >= infinite || value <= -infinite)) {
        return CWJ_NO_SUCH_VALUE;
    }
    return cwj_store_real(value, type_num, target);
}

/* Stores any int as a (complex) long double. Hexadecimal digits are quick, and Python writes any number of them. */
static inline cwj_fit
cwj_store_wide(PyObject *number, int type_num, void *target)
{
    PyObject *digits = PyNumber_ToBase(number, 16);
    const char *text = digits == NULL ? NULL : PyUnicode_AsUTF8(digits);
    npy_longdouble wide[2] = {text == NULL ? 0 : strtold(text, NULL), 0};
    int is_finite = text != NULL && wide[0] >= -LDBL_MAX && wide[0] <= LDBL_MAX;
    Py_XDECREF(digits);
    PyErr_Clear(); /* there is no memory for the digits */
    memcpy(target, wide, type_num == NPY_LONGDOUBLE ? sizeof(wide[0]) : sizeof(wide));
    return is_finite ? CWJ_FITS : CWJ_NO_SUCH_VALUE;
}

static inline cwj_fit
cwj_store_int(PyObject *number, int type_num, void *target)
{
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (PyTypeNum_ISINTEGER(type_num)) {
        if (overflow != 0) {
            return cwj_store_large_integer(number, type_num, target);
        }
        return cwj_store_integer(value, type_num, target) ? CWJ_FITS : CWJ_NO_SUCH_VALUE;
    }
    if (type_num == NPY_LONGDOUBLE || type_num == NPY_CLONGDOUBLE) {
        return cwj_store_wide(number, type_num, target);
    }
    double nearest = overflow == 0 ? (double)value : PyLong_AsDouble(number);
    if (overflow != 0 && PyErr_Occurred()) {
        PyErr_Clear(); /* OverflowError: no Python code runs for an int */
        return CWJ_NO_SUCH_VALUE;
    }
    return cwj_store_rounded(nearest, type_num, target);
}

static inline int
cwj_is_exactly_python_number(PyObject *object)
{
    return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
           PyComplex_CheckExact(object);
}

/* Returns true for bool, int, float, complex and derived types, but not for NumPy's scalars. */
static inline int
cwj_is_python_number(PyObject *object)
{
    return cwj_is_exactly_python_number(object) ||
           ((PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object)) &&
            !PyArray_IsScalar(object, Generic));
}

/* Stores a Python number as a C number of NumPy's type type_num. Runs no Python code and sets no exception. */
static inline cwj_fit
cwj_store_weak(PyObject *number, int type_num, void *target)
{
    if (!PyTypeNum_ISNUMBER(type_num)) {
        return CWJ_NO_SUCH_KIND;
    }
    if (PyTypeNum_ISBOOL(type_num)) {
        *(npy_bool *)target = number == Py_True;
        return PyBool_Check(number) ? CWJ_FITS : CWJ_NO_SUCH_KIND;
    }
    if (PyLong_Check(number)) { /* first, because this only tests a flag */
        return cwj_store_int(number, type_num, target);
    }
    if (PyFloat_Check(number)) {
        return cwj_store_real(PyFloat_AS_DOUBLE(number), type_num, target);
    }
    Py_complex value = ((PyComplexObject *)number)->cval;
    return cwj_store_complex(value.real, value.imag, type_num, target);
}

/* Stores a number that cwj_store_weak() leaves to NumPy, which respects np.errstate(). */
static inline cwj_fit
cwj_store_by_numpy(PyObject *number, int type_num, void *target)
{
    PyObject *array = NULL, *plain = NULL;
    PyArray_Descr *descr = PyArray_DescrFromType(type_num);
    if (descr == NULL) {
        return CWJ_FIT_ERROR;
    }
    if (PyComplex_Check(number)) {
        plain = PyComplex_FromCComplex(((PyComplexObject *)number)->cval);
    } else {
        plain = PyFloat_FromDouble(PyFloat_Check(number) ? PyFloat_AS_DOUBLE(number)
                                                         : PyLong_AsDouble(number));
    }
    if (plain != NULL) {
        Py_INCREF(descr); /* stolen */
        array = PyArray_FromAny(plain, descr, 0, 0, 0, NULL);
    }
    if (array != NULL) {
        PyArrayObject *single = (PyArrayObject *)array;
        memcpy(target, PyArray_DATA(single), (size_t)PyArray_ITEMSIZE(single));
    }
    Py_XDECREF(plain);
    Py_XDECREF(array);
    Py_DECREF(descr);
    return array == NULL ? CWJ_FIT_ERROR : CWJ_FITS;
}

/* ---- any number -------------------------------------------------------- */

/* Stores an integer of NumPy's, given as an int, as cwj_store_weak() does, but float16 and float32 must be exact. */
static inline cwj_fit
cwj_store_by_value(PyObject *integer, int type_num, void *target)
{
    cwj_fit fit = cwj_store_weak(integer, type_num, target);
    int digits = type_num == NPY_HALF                              ? 11
                 : type_num == NPY_FLOAT || type_num == NPY_CFLOAT ? FLT_MANT_DIG
                                                                   : 0;
    if (digits > 0 && (fit == CWJ_FITS || fit == CWJ_FITS_BY_NUMPY)) {
        int overflow = 0;
        long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);
        unsigned long long bits = overflow != 0 ? PyLong_AsUnsignedLongLongMask(integer)
                                  : value < 0   ? 0 - (unsigned long long)value
                                                : (unsigned long long)value;
        if (bits != 0 && bits / (bits & (0 - bits)) >> digits != 0) {
            return CWJ_NO_SUCH_VALUE;
        }
    }
    return fit;
}

/* Stores a scalar whose dtype differs from `to`, if its dtype casts safely or it is an integer. */
static inline cwj_fit
cwj_cast_strong(PyObject *scalar, PyArray_Descr *to, void *target)
{
    PyArray_Descr *from = PyArray_DescrFromScalar(scalar);
    if (from == NULL) {
        return CWJ_FIT_ERROR;
    }
    int type_num = from->type_num;
    Py_DECREF(from);
    if (!PyTypeNum_ISNUMBER(type_num) ||
        (!PyTypeNum_ISINTEGER(type_num) && !PyArray_CanCastSafely(type_num, to->type_num))) {
        return CWJ_NO_SUCH_KIND;
    }
    if (type_num == NPY_FLOAT) { /* frequent, and faster than the general case below */
        float value;
        PyArray_ScalarAsCtype(scalar, &value);
        return cwj_store_real((double)value, to->type_num, target);
    }
    if (!PyTypeNum_ISINTEGER(type_num)) {
        return PyArray_CastScalarToCtype(scalar, target, to) < 0 ? CWJ_FIT_ERROR : CWJ_FITS;
    }
    PyObject *integer = PyNumber_Index(scalar);
    if (integer == NULL) {
        return CWJ_FIT_ERROR;
    }
    cwj_fit fit = cwj_store_by_value(integer, to->type_num, target);
    if (fit == CWJ_FITS_BY_NUMPY) {
        fit = cwj_store_by_numpy(integer, to->type_num, target);
    }
    Py_DECREF(integer);
    return fit;
}

static inline cwj_fit
cwj_store_strong(PyObject *scalar, int type_num, void *target)
{
    cwj_fit fit = CWJ_FITS;
    PyArray_Descr *to = PyArray_DescrFromType(type_num);
    if (to == NULL) {
        return CWJ_FIT_ERROR;
    }
    if (Py_TYPE(scalar) == to->typeobj && PyTypeNum_ISNUMBER(type_num)) {
        memcpy(target, (char *)scalar + CWJ_VALUE_OFFSET, (size_t)PyDataType_ELSIZE(to));
    } else {
        fit = cwj_cast_strong(scalar, to, target);
    }
    Py_DECREF(to);
    return fit;
}

static inline cwj_fit
cwj_store_array(PyArrayObject *array, int type_num, void *target)
{
    int masked = cwj_is_masked((PyObject *)array);
    if (masked != 0 || PyArray_NDIM(array) > 0) {
        return masked < 0 ? CWJ_FIT_ERROR : CWJ_NO_SUCH_KIND;
    }
    PyObject *scalar = PyArray_ToScalar(PyArray_DATA(array), array);
    cwj_fit fit = scalar == NULL                      ? CWJ_FIT_ERROR
                  : PyArray_IsScalar(scalar, Generic) ? cwj_store_strong(scalar, type_num, target)
                                                      : CWJ_NO_SUCH_KIND;
    Py_XDECREF(scalar);
    return fit;
}

/* Stores any number as NumPy's type type_num, or returns why it cannot; never CWJ_FITS_BY_NUMPY. */
static inline cwj_fit
cwj_store_number(PyObject *object, int type_num, void *target)
{
    if (!cwj_is_exactly_python_number(object)) {
        if (type_num == NPY_DOUBLE && PyFloat_Check(object)) { /* also true for NumPy's float64 */
            return cwj_store_double(PyFloat_AS_DOUBLE(object), type_num, target);
        }
        if (PyArray_IsScalar(object, Generic)) {
            return cwj_store_strong(object, type_num, target);
        }
        if (PyArray_Check(object)) {
            return cwj_store_array((PyArrayObject *)object, type_num, target);
        }
        if (!cwj_is_python_number(object)) {
            return CWJ_NO_SUCH_KIND;
        }
    }
    cwj_fit fit = cwj_store_weak(object, type_num, target);
    return fit == CWJ_FITS_BY_NUMPY ? cwj_store_by_numpy(object, type_num, target) : fit;
}

/* For CWJ_NO_SUCH_KIND: returns the name of the class or dtype, such as "float64, which does not cast
 * safely to float32: give float(...)". A new str, or NULL with an exception set. */
static inline PyObject *
cwj_text_of_other_kind(PyObject *object, int type_num)
{
    const char *weak = NULL;
    PyObject *text = NULL;
    PyArray_Descr *from = NULL, *to = PyArray_DescrFromType(type_num);
    if (to != NULL && PyArray_CheckScalar(object)) { /* also true for arrays without dims */
        from = PyArray_DescrFromObject(object, NULL);
    }
    if (PyErr_Occurred()) {
        goto done;
    }
    if (from != NULL) {
        weak = PyTypeNum_ISFLOAT(from->type_num) && PyTypeNum_ISFLOAT(type_num)       ? "float"
               : PyTypeNum_ISCOMPLEX(from->type_num) && PyTypeNum_ISCOMPLEX(type_num) ? "complex"
                                                                                      : NULL;
    }
    text = from == NULL ? PyUnicode_FromString(Py_TYPE(object)->tp_name)
           : weak == NULL
               ? PyUnicode_FromFormat("%S", from)
               : PyUnicode_FromFormat("%S, which does not cast safely to %S: give %s(...)", from,
                                      to, weak);
done:
    Py_XDECREF(from);
    Py_XDECREF(to);
    return text;
}

/* For CWJ_NO_SUCH_VALUE: returns a new str, "300 is out of range of uint8"; NULL with an exception set. */
static inline PyObject *
cwj_text_of_no_such_value(PyObject *number, int type_num)
{
    PyObject *text = NULL, *digits = NULL;
    PyObject *value = PyNumber_Index(number);
    PyArray_Descr *descr = PyArray_DescrFromType(type_num);
    char unused[CWJ_NUMBER_BYTES];
    if (value == NULL || descr == NULL) {
        goto done;
    }
    digits = PyObject_Repr(value);
    if (digits == NULL && PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear(); /* Python does not print ints of thousands of digits */
        digits = PyUnicode_FromString("so large an int");
    }
    if (digits != NULL) {
        text = PyUnicode_FromFormat("%U is %s %S", digits,
                                    cwj_store_weak(value, type_num, unused) == CWJ_NO_SUCH_VALUE
                                        ? "out of range of"
                                        : "not exact in",
                                    descr);
    }
done:
    Py_XDECREF(digits);
    Py_XDECREF(value);
    Py_XDECREF(descr);
    return text;
}
