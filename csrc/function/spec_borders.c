/* spec_borders.c: reads border= and cval=, the elements that windows see outside an array. */
#include "function/spec_parts.h"

#include "base/errors.h"
#include "base/numbers.h"

/* ---- borders ------------------------------------------------------------- */

/* The first name of each border is our own; SciPy's other names follow. */
static const struct {
    const char *name;
    int border;
} borders[] = {{"reflect", CWJ_REFLECT},   {"nearest", CWJ_NEAREST},
               {"wrap", CWJ_WRAP},         {"mirror", CWJ_MIRROR},
               {"constant", CWJ_CONSTANT}, {"grid-mirror", CWJ_REFLECT},
               {"grid-wrap", CWJ_WRAP},    {"grid-constant", CWJ_CONSTANT}};

int
cwj_take_border(cwj_spec *spec, tj_window *window, PyObject *value, const char *what)
{
    if (!PyUnicode_Check(value)) {
        return cwj_refuse_type(spec->who, what, "a str", value);
    }
    for (size_t i = 0; i < sizeof(borders) / sizeof(borders[0]); i++) {
        if (PyUnicode_CompareWithASCIIString(value, borders[i].name) == 0) {
            window->border = borders[i].border;
            return 0;
        }
    }
    return cwj_refuse(spec->who, PyExc_ValueError,
                      "%s must be 'reflect', 'nearest', 'wrap', 'mirror' or 'constant', not %R",
                      what, value);
}

const char *
cwj_border_name(int border)
{
    size_t i = 0;
    while (borders[i].border != border) {
        i++;
    }
    return borders[i].name;
}

/* Refuses border 'constant' for objects, because cval is a number. */
int
cwj_check_border(const cwj_spec *spec, int k, const tj_window *window)
{
    for (int t = 0; t < spec->tj.ntypesets && window->border == CWJ_CONSTANT; t++) {
        if (spec->tj.typesets[t].types[k].type_num == NPY_OBJECT) {
            return cwj_refuse(spec->who, PyExc_ValueError,
                              "border for '%s': 'constant' needs numbers, not objects",
                              spec->tj.operands[k].name);
        }
    }
    return 0;
}

/* ---- cval ------------------------------------------------------------------ */

/* Returns the Python number of a NumPy scalar; dates and other objects as they are. New reference. */
static PyObject *
python_number(PyObject *value)
{
    if (PyArray_IsScalar(value, Generic) && !PyArray_IsScalar(value, Datetime) &&
        !PyArray_IsScalar(value, Timedelta)) {
        return PyObject_CallMethod(value, "item", NULL);
    }
    return Py_NewRef(value);
}

/* Returns the dtype of a type: a new reference, or NULL with an exception set. */
static PyArray_Descr *
descr_of(const tj_type *type)
{
    PyArray_Descr *descr = NULL;
    PyObject *label = PyUnicode_FromString(type->label);
    if (label != NULL && !PyArray_DescrConverter(label, &descr)) {
        descr = NULL;
    }
    Py_XDECREF(label);
    return descr;
}

/* Stores a date in the unit of descr. Casts by way of an array, because NumPy 1.26 ignores units when it casts
 * scalars to C. Returns 0, or -1 with an exception set. */
static int
cast_date(PyObject *date, PyArray_Descr *descr, void *target)
{
    PyObject *array = PyArray_FromScalar(date, (PyArray_Descr *)Py_NewRef(descr));
    if (array == NULL) {
        return -1;
    }
    memcpy(target, PyArray_DATA((PyArrayObject *)array), sizeof(npy_int64));
    Py_DECREF(array);
    return 0;
}

/* True if the stored date converts back to the same date: the year 9999 does not fit into nanoseconds. */
static int
comes_back(PyObject *date, PyArray_Descr *own, void *stored, PyArray_Descr *descr)
{
    npy_int64 before = 0, after;
    PyArray_ScalarAsCtype(date, &before);
    memcpy(&after, stored, sizeof(after));
    if (after != before) { /* the units differ, so the date is not NaT and has a unit */
        PyObject *converted = PyArray_Scalar(stored, descr, NULL);
        if (converted == NULL || cast_date(converted, own, &after) < 0) {
            after = ~before;
        }
        Py_XDECREF(converted);
    }
    return after == before;
}

/* Stores a date or a time span in the type's unit, if that keeps its value. */
static cwj_fit
store_date(PyObject *date, const tj_type *type, void *target)
{
    cwj_fit fit = CWJ_NO_SUCH_KIND;
    PyArray_Descr *own = PyArray_IsScalar(date, Generic) ? PyArray_DescrFromScalar(date) : NULL;
    PyArray_Descr *wanted = own == NULL ? NULL : descr_of(type);
    if (wanted != NULL && PyTypeNum_ISDATETIME(own->type_num) &&
        PyArray_CanCastTypeTo(own, wanted, NPY_SAFE_CASTING) &&
        cast_date(date, wanted, target) == 0) {
        fit = comes_back(date, own, target, wanted) ? CWJ_FITS : CWJ_NO_SUCH_VALUE;
    }
    Py_XDECREF(own);
    Py_XDECREF(wanted);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError)) { /* NumPy 2.5 raises */
        PyErr_Clear();
        return CWJ_NO_SUCH_VALUE;
    }
    return PyErr_Occurred() ? CWJ_FIT_ERROR : fit;
}

static cwj_fit
store_number(PyObject *number, const tj_type *type, void *target)
{
    if (PyTypeNum_ISDATETIME(type->type_num)) {
        return store_date(number, type, target);
    }
    cwj_fit fit = cwj_store_weak(number, type->type_num, target);
    return fit == CWJ_FITS_BY_NUMPY ? cwj_store_by_numpy(number, type->type_num, target) : fit;
}

/* Stores cval as a value of the type. Returns 0, or -1 with OverflowError, TypeError or another exception set. */
static int
store_fill(const cwj_spec *spec, PyObject *number, const tj_type *type, const char *what,
           unsigned char *fill)
{
    _Alignas(16) char bytes[CWJ_FILL_BYTES] = {0};
    _Static_assert((int)CWJ_FILL_BYTES >= (int)CWJ_NUMBER_BYTES, "room for any number");
    cwj_fit fit = store_number(number, type, bytes);
    if (fit == CWJ_FIT_ERROR) {
        return -1;
    }
    if (fit != CWJ_FITS && fit != CWJ_FITS_BY_NUMPY) {
        return cwj_refuse(spec->who,
                          fit == CWJ_NO_SUCH_VALUE ? PyExc_OverflowError : PyExc_TypeError,
                          "%s: %R is no value of %s", what, number, type->label);
    }
    memcpy(fill, bytes, sizeof(bytes));
    return 0;
}

static int
is_zero(PyObject *number)
{
    int overflow = 0; /* for an int this runs no Python code, even if it is of a subclass */
    return PyLong_Check(number) && !PyBool_Check(number) &&
           PyLong_AsLongAndOverflow(number, &overflow) == 0 && overflow == 0;
}

/* Stores cval for window k, once per type set. If cval is 0, window->fills stays NULL, as all types have a 0. */
int
cwj_take_fill(cwj_spec *spec, int k, tj_window *window, PyObject *value, const char *what)
{
    const tj_spec *tj = &spec->tj;
    int status = -1;
    if (window->border != CWJ_CONSTANT) {
        return 0;
    }
    PyObject *number = python_number(value);
    if (number == NULL) {
        return -1;
    }
    if (is_zero(number)) {
        status = 0;
        goto done;
    }
    unsigned char *fills = cwj_arena_alloc(&spec->arena, (size_t)tj->ntypesets, CWJ_FILL_BYTES);
    if (fills == NULL) {
        goto done;
    }
    for (int t = 0; t < tj->ntypesets; t++) {
        if (store_fill(spec, number, &tj->typesets[t].types[k], what,
                       fills + (size_t)t * CWJ_FILL_BYTES) < 0) {
            goto done;
        }
    }
    window->fills = fills;
    status = 0;
done:
    Py_DECREF(number);
    return status;
}

PyObject *
cwj_fill_value(const cwj_spec *spec, int k)
{
    const tj_type *type = &spec->tj.typesets[0].types[k];
    const tj_window *window = &spec->tj.windows[k];
    if (window->fills == NULL) {
        return PyLong_FromLong(0);
    }
    PyArray_Descr *descr = descr_of(type);
    PyObject *value = descr == NULL ? NULL : PyArray_Scalar((void *)window->fills, descr, NULL);
    PyObject *number = value == NULL ? NULL : python_number(value);
    Py_XDECREF(descr);
    Py_XDECREF(value);
    return number;
}
