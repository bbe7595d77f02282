/* scalars.c: numbers of Python and NumPy to C and back.
 *
 * A number is accepted where its kind and its value survive: an integer becomes
 * an integer that has room for it, or a float that equals it; a float becomes a
 * float that equals it (float32 takes 0.5, not 0.1); bool takes only bools. */
#include "ready.h"

const char *
cwj_type_name(int type)
{
    static const char *const names[] = {
        [NPY_BOOL] = "bool",
        [NPY_BYTE] = "int8",
        [NPY_UBYTE] = "uint8",
        [NPY_SHORT] = "int16",
        [NPY_USHORT] = "uint16",
        [NPY_INT] = "int32",
        [NPY_UINT] = "uint32",
        [NPY_LONG] = "int64",
        [NPY_ULONG] = "uint64",
        [NPY_LONGLONG] = "longlong",
        [NPY_ULONGLONG] = "ulonglong",
        [NPY_FLOAT] = "float32",
        [NPY_DOUBLE] = "float64",
        [NPY_LONGDOUBLE] = "longdouble",
        [NPY_CFLOAT] = "complex64",
        [NPY_CDOUBLE] = "complex128",
        [NPY_CLONGDOUBLE] = "clongdouble",
        [NPY_OBJECT] = "object",
        [NPY_STRING] = "bytes",
        [NPY_UNICODE] = "str",
        [NPY_VOID] = "void",
        [NPY_DATETIME] = "datetime64",
        [NPY_TIMEDELTA] = "timedelta64",
        [NPY_HALF] = "float16",
    };
    size_t count = sizeof names / sizeof *names;
    return type >= 0 && (size_t)type < count && names[type] != NULL ? names[type] : "another type";
}

/* ---- where nothing is lost ----------------------------------------------- */

static int
refuse(PyObject *object, int type)
{
    PyErr_Format(PyExc_TypeError, "expected %s, got %s", cwj_type_name(type),
                 Py_TYPE(object)->tp_name);
    return -1;
}

static int
refuse_value(PyObject *object, int type)
{
    PyErr_Format(PyExc_TypeError, "expected %s: %R (%s) is none", cwj_type_name(type), object,
                 Py_TYPE(object)->tp_name);
    return -1;
}

static bool
is_integer(int type)
{
    return PyTypeNum_ISINTEGER(type);
}

/* Stores what fits; false: it does not. */
static bool
store_signed(long long wide, int type, void *value)
{
    switch (type) {
    case NPY_BYTE:
        *(npy_int8 *)value = (npy_int8)wide;
        return wide >= NPY_MIN_INT8 && wide <= NPY_MAX_INT8;
    case NPY_SHORT:
        *(npy_int16 *)value = (npy_int16)wide;
        return wide >= NPY_MIN_INT16 && wide <= NPY_MAX_INT16;
    case NPY_INT:
        *(npy_int32 *)value = (npy_int32)wide;
        return wide >= NPY_MIN_INT32 && wide <= NPY_MAX_INT32;
    default:
        *(npy_int64 *)value = wide;
        return true;
    }
}

static bool
store_unsigned(unsigned long long wide, int type, void *value)
{
    switch (type) {
    case NPY_UBYTE:
        *(npy_uint8 *)value = (npy_uint8)wide;
        return wide <= NPY_MAX_UINT8;
    case NPY_USHORT:
        *(npy_uint16 *)value = (npy_uint16)wide;
        return wide <= NPY_MAX_UINT16;
    case NPY_UINT:
        *(npy_uint32 *)value = (npy_uint32)wide;
        return wide <= NPY_MAX_UINT32;
    default:
        *(npy_uint64 *)value = wide;
        return true;
    }
}

static int
integer_to_integer(PyObject *object, int type, void *value)
{
    bool fits;
    if (PyTypeNum_ISSIGNED(type)) {
        long long wide = PyLong_AsLongLong(object);
        fits = !(wide == -1 && PyErr_Occurred()) && store_signed(wide, type, value);
    } else {
        unsigned long long wide = PyLong_AsUnsignedLongLong(object);
        fits = !(wide == (unsigned long long)-1 && PyErr_Occurred()) &&
               store_unsigned(wide, type, value);
    }
    if (!fits) {
        PyErr_Clear(); /* OverflowError */
        return refuse_value(object, type);
    }
    return 0;
}

static bool
same(double x, double y)
{
    return x == y || (x != x && y != y);
}

static bool
store_float(double wide, int type, void *value)
{
    switch (type) {
    case NPY_FLOAT:
        *(float *)value = (float)wide;
        return same(*(float *)value, wide);
    case NPY_HALF:
        *(npy_half *)value = cwj_double_to_half(wide);
        return same(cwj_half_to_float(*(npy_half *)value), wide);
    default:
        *(double *)value = wide;
        return true;
    }
}

static bool
store_complex(double real, double imag, int type, void *value)
{
    if (type == NPY_CFLOAT) {
        float *parts = value;
        parts[0] = (float)real;
        parts[1] = (float)imag;
        return same(parts[0], real) && same(parts[1], imag);
    }
    double *parts = value;
    parts[0] = real;
    parts[1] = imag;
    return true;
}

static bool
store_real(double wide, int type, void *value)
{
    return PyTypeNum_ISCOMPLEX(type) ? store_complex(wide, 0.0, type, value)
                                     : store_float(wide, type, value);
}

/* An int to a float or a complex number that equals it. */
static int
integer_to_float(PyObject *object, int type, void *value)
{
    int equal = 0;
    double wide = PyLong_AsDouble(object);
    if (wide == -1.0 && PyErr_Occurred()) {
        PyErr_Clear(); /* OverflowError */
    } else {
        PyObject *back = PyLong_FromDouble(wide);
        equal = back == NULL ? -1 : PyObject_RichCompareBool(back, object, Py_EQ);
        Py_XDECREF(back);
    }
    if (equal < 0) {
        return -1;
    }
    return equal && store_real(wide, type, value) ? 0 : refuse_value(object, type);
}

/* ---- by the kind of the number --------------------------------------------- */

/* A bool, int, float or complex of Python's, subclasses included. */
static int
read_python(PyObject *object, int type, void *value)
{
    if (PyBool_Check(object) && type == NPY_BOOL) {
        *(npy_bool *)value = object == Py_True;
        return 0;
    }
    if (type == NPY_BOOL) {
        return refuse(object, type);
    }
    if (PyLong_Check(object)) {
        return is_integer(type) ? integer_to_integer(object, type, value)
                                : integer_to_float(object, type, value);
    }
    if (PyFloat_Check(object) && !is_integer(type)) {
        return store_real(PyFloat_AS_DOUBLE(object), type, value) ? 0 : refuse_value(object, type);
    }
    if (PyComplex_Check(object) && PyTypeNum_ISCOMPLEX(type)) {
        Py_complex number = PyComplex_AsCComplex(object);
        return store_complex(number.real, number.imag, type, value) ? 0
                                                                    : refuse_value(object, type);
    }
    return refuse(object, type);
}

/* A scalar or a 0-d array of NumPy's, through the Python number that it is. */
static int
read_numpy(PyObject *object, int type, void *value)
{
    int status = -1;
    if (PyArray_Check(object) && cwj_is_masked(object)) {
        return refuse(object, type);
    }
    PyObject *item = PyObject_CallMethod(object, "item", NULL);
    if (item == NULL) {
        return -1;
    }
    if (PyArray_CheckScalar(item)) { /* Python has no such number: longdouble */
        refuse(object, type);
    } else {
        status = read_python(item, type, value);
    }
    Py_DECREF(item);
    return status;
}

static bool
is_scalar_of(PyObject *object, int type)
{
    if (!PyArray_IsScalar(object, Generic)) {
        return false;
    }
    PyArray_Descr *descr = PyArray_DescrFromScalar(object);
    if (descr == NULL) {
        PyErr_Clear();
        return false;
    }
    bool is = descr->type_num == type;
    Py_DECREF(descr);
    return is;
}

int
cwj_scalar_read(PyObject *object, int type, void *value)
{
    if (PyFloat_CheckExact(object) && type == NPY_DOUBLE) {
        *(double *)value = PyFloat_AS_DOUBLE(object);
        return 0;
    }
    if (PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object)) {
        return read_python(object, type, value);
    }
    if (is_scalar_of(object, type)) {
        PyArray_ScalarAsCtype(object, value);
        return 0;
    }
    if (PyArray_IsScalar(object, Generic) ||
        (PyArray_Check(object) && PyArray_NDIM((PyArrayObject *)object) == 0)) {
        return read_numpy(object, type, value);
    }
    return read_python(object, type, value);
}

PyObject *
cwj_scalar_make(int type, const void *value)
{
    switch (type) {
    case NPY_DOUBLE:
        return PyFloat_FromDouble(*(const double *)value);
    case NPY_LONG:
        return PyLong_FromLong(*(const long *)value);
    case NPY_BOOL:
        return PyBool_FromLong(*(const npy_bool *)value);
    }
    PyObject *scalar = NULL;
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    if (descr != NULL) {
        scalar = PyArray_Scalar((void *)value, descr, NULL);
        Py_DECREF(descr);
    }
    return scalar;
}
