/* spec_types.c: reads type sets from the keys of Ccode_slice_eval.
 *
 * A key is anything that np.dtype() accepts, for all operands, or a tuple of such objects, one per operand. A type is
 * identified by NumPy's type number; types that are the same in memory and in C (long long and long) get one number.
 */
#include "function/spec_parts.h"

#include "base/errors.h"
#include "base/numbers.h"

/* ---- the types that C can name ----------------------------------------- */

typedef struct {
    int type_num;
    const char *label;
    const char *ctype; /* NULL: raw pointers only */
} basic_type;

static const basic_type basic_types[] = {
    {NPY_BOOL, "bool", TJ_BOOL_CTYPE},
    {NPY_INT8, "int8", "npy_int8"},
    {NPY_UINT8, "uint8", "npy_uint8"},
    {NPY_INT16, "int16", "npy_int16"},
    {NPY_UINT16, "uint16", "npy_uint16"},
    {NPY_INT32, "int32", "npy_int32"},
    {NPY_UINT32, "uint32", "npy_uint32"},
    {NPY_INT64, "int64", "npy_int64"},
    {NPY_UINT64, "uint64", "npy_uint64"},
    {NPY_HALF, "float16", "cwj_half"},
    {NPY_FLOAT, "float32", "npy_float32"},
    {NPY_DOUBLE, "float64", "npy_float64"},
    {NPY_LONGDOUBLE, NULL, "npy_longdouble"},
    {NPY_CFLOAT, "complex64", "npy_complex64"},
    {NPY_CDOUBLE, "complex128", "npy_complex128"},
    {NPY_CLONGDOUBLE, NULL, "npy_clongdouble"},
    {NPY_DATETIME, "datetime64", "npy_int64"},
    {NPY_TIMEDELTA, "timedelta64", "npy_int64"},
    {NPY_OBJECT, "object", NULL},
    {NPY_STRING, "bytes", NULL},
    {NPY_UNICODE, "str", NULL},
    {NPY_VOID, "void", NULL},
};

static const basic_type *
find_basic_type(int type_num)
{
    for (size_t i = 0; i < sizeof(basic_types) / sizeof(basic_types[0]); i++) {
        if (basic_types[i].type_num == type_num) {
            return &basic_types[i];
        }
    }
    return NULL;
}

/* Returns one number for types that are the same in memory and in C. */
static int
canonical_number(int type_num)
{
    _Static_assert(NPY_SIZEOF_LONG == NPY_SIZEOF_LONGLONG, "no other two numbers are the same");
    return type_num == NPY_LONGLONG ? NPY_LONG : type_num == NPY_ULONGLONG ? NPY_ULONG : type_num;
}

/* Returns the type's label: "float64", like dtype.name, but "S5" for strings of five bytes. */
static const char *
label_of(cwj_spec *spec, const basic_type *basic, size_t itemsize)
{
    if (basic->label == NULL) {
        return cwj_arena_format(&spec->arena, "%s%zu",
                                basic->type_num == NPY_LONGDOUBLE ? "float" : "complex",
                                itemsize * 8);
    }
    if (PyTypeNum_ISFLEXIBLE(basic->type_num) && itemsize != 0) {
        int is_text = basic->type_num == NPY_UNICODE;
        return cwj_arena_format(&spec->arena, "%c%zu",
                                is_text                         ? 'U'
                                : basic->type_num == NPY_STRING ? 'S'
                                                                : 'V',
                                is_text ? itemsize / 4 : itemsize);
    }
    return basic->label;
}

/* ---- datetimes --------------------------------------------------------- */

static int
is_any_unit(const tj_type *type)
{
    return PyTypeNum_ISDATETIME(type->type_num) && type->dtype == NULL;
}

/* Sets the label to "datetime64[ns]" and dtype to "M8[ns]", for example; does nothing if descr has no unit. */
static int
take_unit(cwj_spec *spec, tj_type *type, PyArray_Descr *descr)
{
    int status = -1;
    PyObject *text = PyObject_GetAttrString((PyObject *)descr, "str"); /* "<M8[ns]" */
    const char *utf8 = text == NULL ? NULL : PyUnicode_AsUTF8(text);
    const char *unit = utf8 == NULL ? NULL : strchr(utf8, '[');
    if (unit != NULL) {
        type->dtype = cwj_arena_format(&spec->arena, "%s", utf8 + 1);
        type->label = cwj_arena_format(&spec->arena, "%s%s", type->label, unit);
        status = type->dtype != NULL && type->label != NULL ? 0 : -1;
    } else if (utf8 != NULL) {
        status = 0;
    }
    Py_XDECREF(text);
    return status;
}

/* In a type set, either all datetimes have a unit or none has. If none has, an input sets the unit of the call. */
static int
check_units(const cwj_spec *spec, const tj_type *types, PyObject *key)
{
    int nany = 0, nown = 0, ninputs = 0;
    for (int k = 0; k < spec->tj.noperands; k++) {
        int any = is_any_unit(&types[k]);
        nany += any;
        nown += !any && PyTypeNum_ISDATETIME(types[k].type_num);
        ninputs += any && spec->tj.operands[k].role != TJ_OUT;
    }
    if (nany > 0 && nown > 0) {
        return cwj_refuse(spec->who, PyExc_ValueError,
                          "Ccode_slice_eval: of the key %R either all datetimes must have a unit, "
                          "such as \"M8[ns]\", or none of them",
                          key);
    }
    if (nany > 0 && ninputs == 0) {
        return cwj_refuse(spec->who, PyExc_ValueError,
                          "Ccode_slice_eval: no input of the key %R tells the unit of an output; "
                          "wanted one, such as \"M8[ns]\"",
                          key);
    }
    return 0;
}

/* ---- one type ---------------------------------------------------------- */

/* Refuses the other byte order. */
static int
check_descr(const cwj_spec *spec, PyArray_Descr *descr, PyObject *key)
{
    if (!PyArray_ISNBO(descr->byteorder)) {
        return cwj_refuse(spec->who, PyExc_TypeError,
                          "Ccode_slice_eval: %R has the other byte order than this machine; C code "
                          "needs the native one",
                          key);
    }
    return 0;
}

/* True for abstract types such as np.floating, which NumPy 1 converts to one type of the family. */
static int
is_abstract(PyObject *key)
{
    const PyTypeObject *const families[] = {
        &PyGenericArrType_Type,       &PyNumberArrType_Type,          &PyIntegerArrType_Type,
        &PySignedIntegerArrType_Type, &PyUnsignedIntegerArrType_Type, &PyInexactArrType_Type,
        &PyFloatingArrType_Type,      &PyComplexFloatingArrType_Type, &PyFlexibleArrType_Type,
        &PyCharacterArrType_Type,
    };
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        if (key == (const PyObject *)families[i]) {
            return 1;
        }
    }
    return 0;
}

/* Returns the dtype of a key: a new reference, or NULL with an exception set. */
static PyArray_Descr *
descr_of(const cwj_spec *spec, PyObject *key)
{
    PyArray_Descr *descr = NULL;
    if (key == Py_None) { /* which NumPy converts to float64 */
        cwj_refuse(spec->who, PyExc_TypeError, "Ccode_slice_eval: None is not a type");
        return NULL;
    }
    if (is_abstract(key)) {
        cwj_refuse(spec->who, PyExc_TypeError,
                   "Ccode_slice_eval: %R is a family of types; name one of them", key);
        return NULL;
    }
    if (!PyArray_DescrConverter(key, &descr)) {
        if (cwj_clear_expected(PyExc_TypeError, PyExc_ValueError, PyExc_SyntaxError, NULL)) {
            cwj_refuse(spec->who, PyExc_TypeError, "Ccode_slice_eval: %R is not a dtype", key);
        }
        return NULL;
    }
    return descr;
}

static int
fill_type(cwj_spec *spec, tj_type *type, const basic_type *basic, PyArray_Descr *descr)
{
    type->type_num = basic->type_num;
    type->itemsize = (size_t)PyDataType_ELSIZE(descr);
    type->ctype = basic->ctype;
    type->label = label_of(spec, basic, type->itemsize);
    if (type->label == NULL) {
        return -1;
    }
    return PyTypeNum_ISDATETIME(type->type_num) ? take_unit(spec, type, descr) : 0;
}

static int
take_type(cwj_spec *spec, tj_type *type, PyObject *key)
{
    PyArray_Descr *descr = descr_of(spec, key);
    if (descr == NULL || check_descr(spec, descr, key) < 0) {
        Py_XDECREF(descr);
        return -1;
    }
    const basic_type *basic = find_basic_type(canonical_number(descr->type_num));
    int status = -1;
    if (PyDataType_HASFIELDS(descr) || PyDataType_HASSUBARRAY(descr)) {
        status = cwj_take_record(spec, type, descr, key);
    } else if (basic == NULL) {
        cwj_refuse(spec->who, PyExc_TypeError, "Ccode_slice_eval: no C code can work on dtype %R",
                   key);
    } else {
        status = fill_type(spec, type, basic, descr);
    }
    Py_DECREF(descr);
    return status;
}

/* ---- one type set ------------------------------------------------------ */

static int
take_types(cwj_spec *spec, tj_type *types, PyObject *key)
{
    int count = spec->tj.noperands;
    if (PyTuple_Check(key) && PyTuple_GET_SIZE(key) != count) {
        return cwj_refuse(
            spec->who, PyExc_ValueError,
            "Ccode_slice_eval: the key %R has %zd types; wanted %d, one for each input "
            "and output",
            key, PyTuple_GET_SIZE(key), count);
    }
    for (int k = 0; k < count; k++) {
        if (k > 0 && !PyTuple_Check(key)) {
            types[k] = types[0];
        } else if (take_type(spec, &types[k], PyTuple_Check(key) ? PyTuple_GET_ITEM(key, k) : key) <
                   0) {
            return -1;
        }
    }
    return check_units(spec, types, key);
}

/* True if both texts are equal, or both NULL. */
static int
same_dtype(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static int
same_types(const tj_type *a, const tj_type *b, int count)
{
    for (int k = 0; k < count; k++) {
        if (a[k].type_num != b[k].type_num || a[k].itemsize != b[k].itemsize ||
            !same_dtype(a[k].dtype, b[k].dtype)) {
            return 0;
        }
    }
    return 1;
}

/* Returns "float64", or "float64,float64,int32" for a tuple key. */
static const char *
key_label(cwj_spec *spec, const tj_type *types, PyObject *key)
{
    const char *label = types[0].label;
    for (int k = 1; k < spec->tj.noperands && PyTuple_Check(key) && label != NULL; k++) {
        label = cwj_arena_format(&spec->arena, "%s,%s", label, types[k].label);
    }
    return label;
}

static int
take_typeset(cwj_spec *spec, tj_typeset *set, PyObject *key, PyObject *body)
{
    tj_type *types = cwj_arena_alloc(&spec->arena, (size_t)spec->tj.noperands, sizeof(tj_type));
    if (types == NULL || take_types(spec, types, key) < 0) {
        return -1;
    }
    set->types = types;
    const char *label = key_label(spec, types, key);
    if (label == NULL) {
        return -1;
    }
    if (!PyUnicode_Check(body)) {
        return cwj_refuse(spec->who, PyExc_TypeError,
                          "Ccode_slice_eval: the body for %s must be a str, not %s", label,
                          Py_TYPE(body)->tp_name);
    }
    return cwj_take_piece(spec, &set->body, body, label);
}

static int
refuse_repeated_set(const cwj_spec *spec, const tj_typeset *sets, Py_ssize_t index, PyObject *key)
{
    for (Py_ssize_t i = 0; i < index; i++) {
        if (same_types(sets[i].types, sets[index].types, spec->tj.noperands)) {
            return cwj_refuse(spec->who, PyExc_ValueError,
                              "Ccode_slice_eval has the same types twice: %R is %s again", key,
                              sets[index].types[0].label);
        }
    }
    return 0;
}

/* ---- the dict ---------------------------------------------------------- */

int
cwj_take_typesets(cwj_spec *spec, PyObject *slice_eval)
{
    int status = -1;
    if (slice_eval == NULL || !PyDict_Check(slice_eval)) {
        return cwj_refuse(spec->who, PyExc_TypeError,
                          "Ccode_slice_eval must be a dict of types and C texts, such as "
                          "{np.float64: \"...\"}, not %s",
                          slice_eval == NULL ? "absent" : Py_TYPE(slice_eval)->tp_name);
    }
    PyObject *items = PyDict_Items(slice_eval); /* copied: NumPy may run Python code on a key */
    if (items == NULL) {
        return -1;
    }
    Py_ssize_t count = PyList_GET_SIZE(items);
    tj_typeset *sets = cwj_arena_alloc(&spec->arena, (size_t)count, sizeof(tj_typeset));
    if (sets == NULL) {
        goto done;
    }
    if (count == 0) {
        cwj_refuse(spec->who, PyExc_ValueError, "Ccode_slice_eval is empty: no type set at all");
        goto done;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GET_ITEM(items, i);
        PyObject *key = PyTuple_GET_ITEM(item, 0);
        if (take_typeset(spec, &sets[i], key, PyTuple_GET_ITEM(item, 1)) < 0 ||
            refuse_repeated_set(spec, sets, i, key) < 0) {
            goto done;
        }
    }
    spec->tj.typesets = sets;
    spec->tj.ntypesets = (int)count;
    status = cwj_finish_records(spec);
done:
    Py_DECREF(items);
    return status;
}
