/* number.c: single numbers between Python and C: the arguments that need no
 * array, and results of shape (). */

/* The value of NumPy's own scalar objects follows their head. */
#define CWJ_VALUE_OFFSET offsetof(PyDoubleScalarObject, obval)
_Static_assert(CWJ_VALUE_OFFSET == offsetof(PyByteScalarObject, obval) &&
                   CWJ_VALUE_OFFSET == offsetof(PyHalfScalarObject, obval) &&
                   CWJ_VALUE_OFFSET == offsetof(PyFloatScalarObject, obval) &&
                   CWJ_VALUE_OFFSET == offsetof(PyCLongDoubleScalarObject, obval),
               "NumPy's scalars keep their values at one place");

static int
is_plain_number(int type_num)
{
    return PyTypeNum_ISNUMBER(type_num) || PyTypeNum_ISBOOL(type_num);
}

/* A Python float as a C type. Returns 1, or 0 when NumPy must see to it: it warns
 * of values that become infinite. */
static int
store_double(char *target, double value, int type_num)
{
    const double zero = 0;
    float single;
    switch (type_num) {
    case NPY_DOUBLE:
        memcpy(target, &value, sizeof(value));
        return 1;
    case NPY_FLOAT:
        if ((value > FLT_MAX && value <= DBL_MAX) || (value < -FLT_MAX && value >= -DBL_MAX)) {
            return 0;
        }
        single = (float)value;
        memcpy(target, &single, sizeof(single));
        return 1;
    case NPY_CDOUBLE:
        memcpy(target, &value, sizeof(value));
        memcpy(target + sizeof(value), &zero, sizeof(zero));
        return 1;
    default:
        return 0;
    }
}

/* A Python int or bool that fits. Returns 1, or 0: not for this function. */
static int
store_int(char *target, PyObject *number, const cwj_type *type)
{
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow != 0) {
        return 0;
    }
    if (!PyTypeNum_ISINTEGER(type->type_num)) {
        return store_double(target, (double)value, type->type_num);
    }
#if PY_BIG_ENDIAN
    memcpy(target, (char *)&value + sizeof(value) - (size_t)type->itemsize, (size_t)type->itemsize);
#else
    memcpy(target, &value, (size_t)type->itemsize);
#endif
    return 1;
}

/* Stores a number that fits the type. Returns 1, or 0 without
 * exception where an array has to be made of it. */
static int
store_number(char *target, PyObject *number, const cwj_type *type)
{
    if (PyFloat_CheckExact(number)) {
        return store_double(target, PyFloat_AS_DOUBLE(number), type->type_num);
    }
    if (PyLong_CheckExact(number)) {
        return store_int(target, number, type);
    }
    if (PyBool_Check(number) || PyComplex_CheckExact(number) || !is_plain_number(type->type_num)) {
        return 0;
    }
    /* a NumPy scalar of this very type */
    memcpy(target, (char *)number + CWJ_VALUE_OFFSET, (size_t)type->itemsize);
    return 1;
}

/* A NumPy scalar with these bytes: what PyArray_Scalar() makes of a number, which
 * looks for other kinds of types first. */
static PyObject *
new_scalar(const char *bytes, PyArray_Descr *descr, npy_intp itemsize)
{
    if (descr->type_num == NPY_BOOL) {
        return Py_NewRef(PyArrayScalar_FromLong(*bytes != 0));
    }
    PyObject *scalar = descr->typeobj->tp_alloc(descr->typeobj, 0);
    if (scalar != NULL) {
        memcpy((char *)scalar + CWJ_VALUE_OFFSET, bytes, (size_t)itemsize);
    }
    return scalar;
}
