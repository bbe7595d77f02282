/* slots.c: converts single numbers between Python, slots and C's memory.
 *
 * base/numbers.h decides which numbers a type takes. Strict parameters, by which an interface chooses a function, take
 * only Python's own types and the NumPy type of the same name.
 */
#include "library/tables/slots.h"

static const cwj_library_type types[] = {
    {'b', false, true, NPY_BOOL, 1, "bool", "bool"},
    {'i', false, false, NPY_INT8, 1, "int8", "int"},
    {'i', true, false, NPY_INT8, 1, "char", "str"},
    {'i', false, false, NPY_INT16, 2, "int16", "int"},
    {'i', false, false, NPY_INT32, 4, "int32", "int"},
    {'i', false, true, NPY_INT, sizeof(int), "intc", "int"},
    {'i', false, true, NPY_INT64, 8, "int64", "int"},
    {'u', false, false, NPY_UINT8, 1, "uint8", "int"},
    {'u', false, false, NPY_UINT16, 2, "uint16", "int"},
    {'u', false, false, NPY_UINT32, 4, "uint32", "int"},
    {'u', false, false, NPY_UINT64, 8, "uint64", "int"},
    {'f', false, false, NPY_FLOAT32, 4, "float32", "float"},
    {'f', false, true, NPY_FLOAT64, 8, "float64", "float"},
    {'g', false, false, NPY_LONGDOUBLE, sizeof(npy_longdouble), "longdouble", "float"},
    {'c', false, false, NPY_COMPLEX64, 8, "complex64", "complex"},
    {'c', false, true, NPY_COMPLEX128, 16, "complex128", "complex"},
};

const cwj_library_type *
cwj_library_type_find(PyObject *name)
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
cwj_scalar_count(const cwj_library_type *type, const cwj_slot *slot, npy_int64 *value)
{
    *value = slot->i;
    return type->kind != 'u' || slot->i >= 0;
}

/* On little-endian machines, a narrower integer is at the same address. */
void
cwj_scalar_store(const cwj_library_type *type, const cwj_slot *slot, void *memory)
{
    memcpy(memory, slot, type->size);
}

void
cwj_scalar_load(const cwj_library_type *type, const void *memory, cwj_slot *slot)
{
    int shift = 64 - 8 * (int)type->size;
    slot->u = 0;
    memcpy(slot, memory, type->size);
    if (type->kind == 'b') {
        slot->i = slot->u != 0;
    } else if (type->kind == 'i') { /* extends the sign */
        slot->i = (long long)(slot->u << shift) >> shift;
    }
}

/* ---- from Python ----------------------------------------------------------------- */

/* Returns 1 if the object is a NumPy scalar of `type`, a str for a character, or, if type->native is set, a Python
 * number of the same kind; 0 if not; -1 with an exception set. */
static int
is_strictly(const cwj_library_type *type, PyObject *object)
{
    if (PyArray_CheckScalar(object) && !PyArray_Check(object)) {
        PyArray_Descr *descr = PyArray_DescrFromScalar(object);
        int same = descr == NULL ? -1 : PyArray_EquivTypenums(descr->type_num, type->typenum) != 0;
        Py_XDECREF(descr);
        return same;
    }
    if (type->text) {
        return PyUnicode_Check(object);
    }
    PyTypeObject *own = type->kind == 'b'   ? &PyBool_Type
                        : type->kind == 'f' ? &PyFloat_Type
                        : type->kind == 'c' ? &PyComplex_Type
                                            : &PyLong_Type;
    return type->native && PyObject_TypeCheck(object, own) &&
           (type->kind == 'b' || !PyBool_Check(object));
}

/* Takes a character of one byte, U+0000 to U+00FF as in Latin-1, so that results can be passed back to C. */
static cwj_fit
take_character(PyObject *object, cwj_slot *slot)
{
    Py_ssize_t length =
        PyUnicode_Check(object) ? PyUnicode_GET_LENGTH(object) : PyBytes_GET_SIZE(object);
    if (length != 1) {
        return CWJ_NO_SUCH_VALUE;
    }
    Py_UCS4 character = PyUnicode_Check(object) ? PyUnicode_READ_CHAR(object, 0)
                                                : (unsigned char)*PyBytes_AS_STRING(object);
    slot->i = (signed char)character;
    return character < 256 ? CWJ_FITS : CWJ_NO_SUCH_VALUE;
}

/* Takes the most common number: an int that fits a signed type. */
static inline bool
take_int(const cwj_library_type *type, PyObject *object, cwj_slot *slot)
{
    char memory[CWJ_NUMBER_BYTES];
    int overflow = 0;
    if (type->kind != 'i' || !PyLong_CheckExact(object)) {
        return false;
    }
    slot->i = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0 && cwj_store_integer(slot->i, type->typenum, memory);
}

cwj_fit
cwj_scalar_take(const cwj_library_type *type, bool strict, PyObject *object, cwj_slot *slot)
{
    _Alignas(cwj_slot) char memory[CWJ_NUMBER_BYTES];
    if (!strict && take_int(type, object, slot)) {
        return CWJ_FITS;
    }
    int may = strict ? is_strictly(type, object) : 1;
    if (may <= 0) {
        return may < 0 ? CWJ_FIT_ERROR : CWJ_NO_SUCH_KIND;
    }
    if (type->text && (PyUnicode_Check(object) || PyBytes_Check(object))) {
        return take_character(object, slot);
    }
    cwj_fit fit = cwj_store_number(object, type->typenum, memory);
    if (fit == CWJ_FITS) {
        cwj_scalar_load(type, memory, slot);
    }
    return fit;
}

PyObject *
cwj_scalar_fault(cwj_fit fit, const cwj_library_type *type, PyObject *object)
{
    if (fit == CWJ_FIT_ERROR) {
        return NULL;
    }
    if (type->text && (PyUnicode_Check(object) || PyBytes_Check(object))) {
        return PyUnicode_FromFormat("%.100R is not one character of one byte", object);
    }
    return fit == CWJ_NO_SUCH_VALUE ? cwj_text_of_no_such_value(object, type->typenum)
                                    : cwj_text_of_other_kind(object, type->typenum);
}

int
cwj_scalar_refuse(cwj_fit fit, const cwj_library_type *type, PyObject *object, const char *format,
                  PyObject *name)
{
    PyObject *what = fit == CWJ_FIT_ERROR ? NULL : PyUnicode_FromFormat(format, name);
    PyObject *fault = what == NULL ? NULL : cwj_scalar_fault(fit, type, object);
    if (fault != NULL && fit == CWJ_NO_SUCH_VALUE) {
        PyErr_Format(cwj_scalar_error(type), "%U: %U", what, fault);
    } else if (fault != NULL) {
        PyErr_Format(PyExc_TypeError, "Expected an argument of type %s for %U, got %U",
                     type->python, what, fault);
    }
    CWJ_RELEASE(what, fault);
    return -1;
}

/* ---- to Python --------------------------------------------------------------------- */

PyObject *
cwj_scalar_object(const cwj_library_type *type, const cwj_slot *slot)
{
    if (type->kind == 'b') {
        return PyBool_FromLong(slot->i != 0);
    }
    if (type->text) {
        return PyUnicode_FromOrdinal((unsigned char)slot->i);
    }
    if (type->kind == 'i' && type->native) {
        return PyLong_FromLongLong(slot->i);
    }
    if (type->kind == 'f' && type->native) {
        return PyFloat_FromDouble(slot->d);
    }
    PyArray_Descr *descr = PyArray_DescrFromType(type->typenum);
    PyObject *scalar = descr == NULL ? NULL : PyArray_Scalar((void *)slot, descr, NULL);
    Py_XDECREF(descr);
    return scalar;
}

PyObject *
cwj_enumerator(PyObject *members, PyObject *number)
{
    PyObject *member = number == NULL ? NULL : PyDict_GetItemWithError(members, number);
    if (member != NULL) {
        Py_SETREF(number, Py_NewRef(member));
    } else if (number != NULL && PyErr_Occurred()) {
        Py_CLEAR(number);
    }
    return number;
}
