/* scalars.c: single numbers between Python, slots and C's memory.
 *
 * An integer is taken for a floating-point type where it is exact, never the other
 * way round. NumPy's scalars of the kind are taken; strict parameters, among which an
 * interface chooses, take Python's own types and the NumPy type of just that name.
 */
#include "wrap.h"

#include <limits.h>
#include <math.h>

static const cwj_type types[] = {
    {CWJ_BOOL, 'b', true, NPY_BOOL, 1, 0, 1, "bool", "bool"},
    {CWJ_INT8, 'i', false, NPY_INT8, 1, INT8_MIN, INT8_MAX, "int8", "int"},
    {CWJ_INT16, 'i', false, NPY_INT16, 2, INT16_MIN, INT16_MAX, "int16", "int"},
    {CWJ_INT32, 'i', false, NPY_INT32, 4, INT32_MIN, INT32_MAX, "int32", "int"},
    {CWJ_INTC, 'i', true, NPY_INT, sizeof(int), INT_MIN, INT_MAX, "intc", "int"},
    {CWJ_INT64, 'i', true, NPY_INT64, 8, INT64_MIN, INT64_MAX, "int64", "int"},
    {CWJ_UINT8, 'u', false, NPY_UINT8, 1, 0, UINT8_MAX, "uint8", "int"},
    {CWJ_UINT16, 'u', false, NPY_UINT16, 2, 0, UINT16_MAX, "uint16", "int"},
    {CWJ_UINT32, 'u', false, NPY_UINT32, 4, 0, UINT32_MAX, "uint32", "int"},
    {CWJ_UINT64, 'u', false, NPY_UINT64, 8, 0, UINT64_MAX, "uint64", "int"},
    {CWJ_FLOAT32, 'f', false, NPY_FLOAT32, 4, 0, 0, "float32", "float"},
    {CWJ_FLOAT64, 'f', true, NPY_FLOAT64, 8, 0, 0, "float64", "float"},
    {CWJ_COMPLEX64, 'c', false, NPY_COMPLEX64, 8, 0, 0, "complex64", "complex"},
    {CWJ_COMPLEX128, 'c', true, NPY_COMPLEX128, 16, 0, 0, "complex128", "complex"},
};

const cwj_type *
cwj_type_find(PyObject *name)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (PyUnicode_CompareWithASCIIString(name, types[i].name) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

/* ---- slots and memory ---------------------------------------------------------- */

bool
cwj_type_holds(const cwj_type *type, npy_int64 value)
{
    return value >= type->min && (value < 0 || (unsigned long long)value <= type->max);
}

void
cwj_scalar_put(const cwj_type *type, npy_int64 value, cwj_slot *slot)
{
    if (type->kind == 'u') {
        slot->u = (unsigned long long)value;
    } else {
        slot->i = value;
    }
}

bool
cwj_scalar_count(const cwj_type *type, const cwj_slot *slot, npy_int64 *value)
{
    if (type->kind == 'u' && slot->u > INT64_MAX) {
        return false;
    }
    *value = type->kind == 'u' ? (npy_int64)slot->u : slot->i;
    return true;
}

/* Little-endian machines hold the narrower integer at the same address. */
void
cwj_scalar_store(const cwj_type *type, const cwj_slot *slot, void *memory)
{
    memcpy(memory, slot, type->size);
}

#define LOAD(ctype, member)                    \
    {                                          \
        ctype value;                           \
        memcpy(&value, memory, sizeof(value)); \
        slot->member = value;                  \
        return;                                \
    }

void
cwj_scalar_load(const cwj_type *type, const void *memory, cwj_slot *slot)
{
    switch (type->id) {
    case CWJ_BOOL:
        slot->i = *(const unsigned char *)memory != 0;
        return;
    case CWJ_INT8:
        LOAD(int8_t, i)
    case CWJ_INT16:
        LOAD(int16_t, i)
    case CWJ_INT32:
        LOAD(int32_t, i)
    case CWJ_INTC:
        LOAD(int, i)
    case CWJ_INT64:
        LOAD(int64_t, i)
    case CWJ_UINT8:
        LOAD(uint8_t, u)
    case CWJ_UINT16:
        LOAD(uint16_t, u)
    case CWJ_UINT32:
        LOAD(uint32_t, u)
    case CWJ_UINT64:
        LOAD(uint64_t, u)
    case CWJ_FLOAT32:
    case CWJ_FLOAT64:
    case CWJ_COMPLEX64:
    case CWJ_COMPLEX128:
        memcpy(slot, memory, type->size);
        return;
    }
}
#undef LOAD

/* ---- from Python ----------------------------------------------------------------- */

static cwj_taken
take_integer(const cwj_type *type, PyObject *number, cwj_slot *slot)
{
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (value == -1 && overflow == 0 && PyErr_Occurred()) {
        return CWJ_TAKEN_ERROR;
    }
    if (overflow > 0 && type->id == CWJ_UINT64) {
        slot->u = PyLong_AsUnsignedLongLong(number);
        if (slot->u == (unsigned long long)-1 && PyErr_Occurred()) {
            PyErr_Clear();
            return CWJ_WRONG_VALUE;
        }
        return CWJ_TAKEN;
    }
    if (overflow != 0 || !cwj_type_holds(type, value)) {
        return CWJ_WRONG_VALUE;
    }
    cwj_scalar_put(type, value, slot);
    return CWJ_TAKEN;
}

/* An integer as a double, where that is exact. */
static cwj_taken
exact_double(PyObject *number, double *value)
{
    *value = PyLong_AsDouble(number);
    if (*value == -1.0 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) {
            return CWJ_TAKEN_ERROR;
        }
        PyErr_Clear();
        return CWJ_WRONG_VALUE;
    }
    if (fabs(*value) < 9007199254740992.0) {
        return CWJ_TAKEN;
    }
    PyObject *back = PyLong_FromDouble(*value);
    int same = back == NULL ? -1 : PyObject_RichCompareBool(back, number, Py_EQ);
    Py_XDECREF(back);
    return same < 0 ? CWJ_TAKEN_ERROR : same ? CWJ_TAKEN : CWJ_WRONG_VALUE;
}

/* Rounding to single precision is what Python's floats need; becoming infinite is not,
 * and integers have to be exact. */
static cwj_taken
narrow(double value, bool exact, float *result)
{
    *result = (float)value;
    if ((isinf(*result) && !isinf(value)) || (exact && (double)*result != value)) {
        return CWJ_WRONG_VALUE;
    }
    return CWJ_TAKEN;
}

/* An int, or an integer of NumPy's as one: new reference. NULL without exception: neither. */
static PyObject *
as_integer(PyObject *object)
{
    if (PyLong_Check(object)) {
        return Py_NewRef(object);
    }
    return PyArray_IsScalar(object, Integer) ? PyNumber_Index(object) : NULL;
}

/* A longdouble may be finite where a double is not. */
static cwj_taken
is_infinite(PyObject *object, double infinity)
{
    PyObject *wanted = PyFloat_FromDouble(infinity);
    int same = wanted == NULL ? -1 : PyObject_RichCompareBool(object, wanted, Py_EQ);
    Py_XDECREF(wanted);
    return same < 0 ? CWJ_TAKEN_ERROR : same ? CWJ_TAKEN : CWJ_WRONG_VALUE;
}

/* The real number that object is; *exact: it came from an integer. */
static cwj_taken
take_real(PyObject *object, double *value, bool *exact)
{
    *exact = false;
    if (PyFloat_Check(object)) {
        *value = PyFloat_AS_DOUBLE(object);
        return CWJ_TAKEN;
    }
    PyObject *number = as_integer(object);
    if (number != NULL) {
        *exact = true;
        cwj_taken taken = exact_double(number, value);
        Py_DECREF(number);
        return taken;
    }
    if (PyErr_Occurred()) {
        return CWJ_TAKEN_ERROR;
    }
    if (!PyArray_IsScalar(object, Floating)) {
        return CWJ_WRONG_TYPE;
    }
    *value = PyFloat_AsDouble(object);
    if (*value == -1.0 && PyErr_Occurred()) {
        return CWJ_TAKEN_ERROR;
    }
    return isinf(*value) ? is_infinite(object, *value) : CWJ_TAKEN;
}

static cwj_taken
take_float(const cwj_type *type, PyObject *object, cwj_slot *slot)
{
    double value;
    bool exact;
    cwj_taken taken = take_real(object, &value, &exact);
    if (taken != CWJ_TAKEN) {
        return taken;
    }
    if (type->id == CWJ_FLOAT32) {
        return narrow(value, exact, &slot->f);
    }
    slot->d = value;
    return CWJ_TAKEN;
}

static cwj_taken
take_complex(const cwj_type *type, PyObject *object, cwj_slot *slot)
{
    Py_complex value = {0.0, 0.0};
    bool exact = false;
    if (PyComplex_Check(object) || PyArray_IsScalar(object, ComplexFloating)) {
        value = PyComplex_AsCComplex(object);
        if (value.real == -1.0 && PyErr_Occurred()) {
            return CWJ_TAKEN_ERROR;
        }
    } else {
        cwj_taken taken = take_real(object, &value.real, &exact);
        if (taken != CWJ_TAKEN) {
            return taken;
        }
    }
    if (type->id == CWJ_COMPLEX64) {
        cwj_taken taken = narrow(value.real, exact, &slot->c.re);
        return taken == CWJ_TAKEN ? narrow(value.imag, false, &slot->c.im) : taken;
    }
    slot->z.re = value.real;
    slot->z.im = value.imag;
    return CWJ_TAKEN;
}

/* True when object has just the type: Python's own where that is the native one, or NumPy's. */
static bool
is_strictly(const cwj_type *type, PyObject *object)
{
    if (PyArray_CheckScalar(object) && !PyArray_Check(object)) {
        PyArray_Descr *descr = PyArray_DescrFromScalar(object);
        bool same = descr != NULL && PyArray_EquivTypenums(descr->type_num, type->typenum);
        Py_XDECREF(descr);
        PyErr_Clear();
        return same;
    }
    switch (type->kind) {
    case 'b':
        return PyBool_Check(object);
    case 'i':
        return type->native && PyLong_Check(object) && !PyBool_Check(object);
    case 'f':
        return type->native && PyFloat_Check(object);
    case 'c':
        return type->native && PyComplex_Check(object);
    default:
        return false;
    }
}

cwj_taken
cwj_scalar_take(const cwj_type *type, bool strict, PyObject *object, cwj_slot *slot)
{
    if (strict && !is_strictly(type, object)) {
        return CWJ_WRONG_TYPE;
    }
    switch (type->kind) {
    case 'f':
        return take_float(type, object, slot);
    case 'c':
        return take_complex(type, object, slot);
    case 'b':
        if (!PyBool_Check(object) && !PyArray_IsScalar(object, Bool)) {
            return CWJ_WRONG_TYPE;
        }
        slot->i = PyObject_IsTrue(object);
        return CWJ_TAKEN;
    default: {
        PyObject *number = as_integer(object);
        if (number == NULL) {
            return PyErr_Occurred() ? CWJ_TAKEN_ERROR : CWJ_WRONG_TYPE;
        }
        cwj_taken taken = take_integer(type, number, slot);
        Py_DECREF(number);
        return taken;
    }
    }
}

/* ---- to Python --------------------------------------------------------------------- */

static PyObject *
numpy_scalar(const cwj_type *type, const cwj_slot *slot)
{
    cwj_slot memory;
    PyArray_Descr *descr = PyArray_DescrFromType(type->typenum);
    if (descr == NULL) {
        return NULL;
    }
    cwj_scalar_store(type, slot, &memory);
    PyObject *scalar = PyArray_Scalar(&memory, descr, NULL);
    Py_DECREF(descr);
    return scalar;
}

PyObject *
cwj_scalar_object(const cwj_type *type, const cwj_slot *slot)
{
    switch (type->id) {
    case CWJ_BOOL:
        return PyBool_FromLong(slot->i != 0);
    case CWJ_INTC:
    case CWJ_INT64:
        return PyLong_FromLongLong(slot->i);
    case CWJ_FLOAT64:
        return PyFloat_FromDouble(slot->d);
    default:
        return numpy_scalar(type, slot);
    }
}
