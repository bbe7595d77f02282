/* match.c: which type set runs.
 *
 * Type sets are tried in the order of the definition. An array fits its own
 * type only; an output that is not there yet fits any; a Python number fits
 * the types that NumPy would give it beside arrays (NEP 50). With cast="safe"
 * a second round takes the first set that all inputs convert to safely.
 */

/* One number for types that are the same in memory and in C. */
static int
canonical_type(int type_num)
{
#if NPY_SIZEOF_LONG == NPY_SIZEOF_LONGLONG
    if (type_num == NPY_LONGLONG) {
        return NPY_LONG;
    }
    if (type_num == NPY_ULONGLONG) {
        return NPY_ULONG;
    }
#endif
    return type_num;
}

static int
type_equals(const cwj_state *state, const cwj_type *type)
{
    return canonical_type(PyArray_TYPE(state->array)) == type->type_num &&
           (type->itemsize == 0 || type->itemsize == state->itemsize);
}

/* True when value, a Python int, is in the range of an integer type. */
static int
int_in_range(PyObject *value, const cwj_type *type)
{
    int bits = (int)type->itemsize * 8;
    int is_signed = PyTypeNum_ISSIGNED(type->type_num);
    int overflow = 0;
    long long wide = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow > 0 && !is_signed && bits == 64) {
        unsigned long long largest = PyLong_AsUnsignedLongLong(value);
        if (largest == (unsigned long long)-1 && PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        return 1;
    }
    if (overflow != 0) {
        return 0;
    }
    if (!is_signed) {
        return wide >= 0 &&
               (bits == 64 || wide <= (long long)(((unsigned long long)1 << bits) - 1));
    }
    return bits == 64 ||
           (wide >= -((long long)1 << (bits - 1)) && wide < (long long)1 << (bits - 1));
}

#define CWJ_EXACT_IN_DOUBLE (1LL << 53)

/* True when value, a Python int, is a float of this type without rounding. */
static int
int_is_exact(PyObject *value, int type_num)
{
    int exact = 0, overflow = 0;
    double wide;
    long long small = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow == 0 && small >= -CWJ_EXACT_IN_DOUBLE && small <= CWJ_EXACT_IN_DOUBLE) {
        exact = 1;
        wide = (double)small;
    } else {
        wide = PyLong_AsDouble(value);
        PyObject *again = PyErr_Occurred() ? NULL : PyLong_FromDouble(wide);
        if (again != NULL) {
            exact = PyObject_RichCompareBool(value, again, Py_EQ) > 0;
            Py_DECREF(again);
        }
        PyErr_Clear();
    }
    switch (type_num) {
    case NPY_HALF:
        return exact && wide >= -2048 && wide <= 2048;
    case NPY_FLOAT:
    case NPY_CFLOAT:
        return exact && (double)(float)wide == wide;
    default:
        return exact;
    }
}

static int
weak_fits(PyObject *value, const cwj_type *type)
{
    int num = type->type_num;
    int inexact = PyTypeNum_ISFLOAT(num) || PyTypeNum_ISCOMPLEX(num);
    if (num == NPY_OBJECT) {
        return 1;
    }
    if (PyBool_Check(value)) {
        return PyTypeNum_ISBOOL(num) || PyTypeNum_ISINTEGER(num) || inexact;
    }
    if (PyLong_CheckExact(value)) {
        return inexact ? int_is_exact(value, num)
                       : PyTypeNum_ISINTEGER(num) && int_in_range(value, type);
    }
    return PyFloat_CheckExact(value) ? inexact : PyTypeNum_ISCOMPLEX(num);
}

/* True when type is the one that np.asarray(value) would have. */
static int
weak_default(PyObject *value, const cwj_type *type)
{
    int num = PyBool_Check(value)           ? NPY_BOOL
              : PyFloat_CheckExact(value)   ? NPY_DOUBLE
              : PyComplex_CheckExact(value) ? NPY_CDOUBLE
                                            : NPY_LONG;
    return type->type_num == num && weak_fits(value, type);
}

typedef int weak_rule(PyObject *value, const cwj_type *type);

static int
set_fits(const cwj_frame *frame, const cwj_typeset *set, weak_rule *rule)
{
    for (int k = 0; k < frame->noperands; k++) {
        const cwj_state *state = &frame->states[k];
        if (state->weak != NULL ? !rule(state->weak, &set->types[k])
                                : state->array != NULL && !type_equals(state, &set->types[k])) {
            return 0;
        }
    }
    return 1;
}

/* True when the set fits after safe casts of plain inputs. */
static int
set_fits_by_cast(const cwj_frame *frame, int index)
{
    const cwj_typeset *set = &frame->decl->typesets[index];
    PyArray_Descr **descrs = frame->runtime->descrs + (size_t)index * (size_t)frame->noperands;
    for (int k = 0; k < frame->noperands; k++) {
        const cwj_state *state = &frame->states[k];
        if (state->weak != NULL) {
            if (!weak_fits(state->weak, &set->types[k])) {
                return 0;
            }
        } else if (state->array != NULL && !type_equals(state, &set->types[k])) {
            if (frame->decl->operands[k].role != CWJ_IN || descrs[k] == NULL ||
                !PyArray_CanCastTypeTo(PyArray_DESCR(state->array), descrs[k], NPY_SAFE_CASTING)) {
                return 0;
            }
        }
    }
    return 1;
}

static int
has_strong_operand(const cwj_frame *frame)
{
    for (int k = 0; k < frame->noperands; k++) {
        if (frame->states[k].array != NULL) {
            return 1;
        }
    }
    return 0;
}

/* The index of the type set to run, or -1. */
static int
find_set(const cwj_frame *frame)
{
    int count = frame->decl->ntypesets;
    const cwj_typeset *sets = frame->decl->typesets;
    if (!has_strong_operand(frame)) {
        for (int t = 0; t < count; t++) {
            if (set_fits(frame, &sets[t], weak_default)) {
                return t;
            }
        }
    }
    for (int t = 0; t < count; t++) {
        if (set_fits(frame, &sets[t], weak_fits)) {
            return t;
        }
    }
    if (frame->decl->flags & CWJ_CAST_SAFE) {
        for (int t = 0; t < count; t++) {
            if (set_fits_by_cast(frame, t)) {
                return t;
            }
        }
    }
    return -1;
}

/* ---- errors ------------------------------------------------------------ */

/* "a float64, b int64, output int32": what came. New outputs are left out. */
static PyObject *
text_of_types(const cwj_frame *frame)
{
    PyObject *text = PyUnicode_FromString("");
    for (int k = 0; k < frame->noperands && text != NULL; k++) {
        if (k >= frame->decl->ninputs && frame->out == NULL) {
            continue;
        }
        PyObject *one = text_of_type(frame, k);
        PyObject *longer = one == NULL
                               ? NULL
                               : PyUnicode_FromFormat("%U%s'%s' is %U", text, k > 0 ? ", " : "",
                                                      name_of(frame, k), one);
        Py_XDECREF(one);
        Py_SETREF(text, longer);
    }
    return text;
}

static PyObject *
text_of_known_sets(const cwj_frame *frame)
{
    PyObject *text = PyUnicode_FromString("");
    for (int t = 0; t < frame->decl->ntypesets && text != NULL; t++) {
        Py_SETREF(text, PyUnicode_FromFormat("%U%s(%s)", text, t > 0 ? ", " : "",
                                             frame->decl->typesets[t].name));
    }
    return text;
}

static int
refuse_types(const cwj_frame *frame)
{
    PyObject *got = text_of_types(frame);
    PyObject *known = text_of_known_sets(frame);
    if (got != NULL && known != NULL) {
        raise_in_call(frame, PyExc_TypeError, "no type set fits: %U; wanted %U", got, known);
    }
    Py_XDECREF(got);
    Py_XDECREF(known);
    return -1;
}

/* ---- memory layout ----------------------------------------------------- */

/* Compiled code reads memory as C lays it out: in this machine's byte order,
 * aligned. */
static int
refuse_layout(const cwj_frame *frame, int k)
{
    const cwj_state *state = &frame->states[k];
    if (!PyArray_ISNOTSWAPPED(state->array)) {
        raise_in_call(frame, PyExc_TypeError,
                      "%s '%s' has dtype %S in the other byte order; wanted this machine's, for "
                      "instance x.astype(x.dtype.newbyteorder('='))",
                      kind_of(frame, k), name_of(frame, k), PyArray_DESCR(state->array));
    } else {
        raise_in_call(frame, PyExc_ValueError,
                      "%s '%s' is not aligned in memory for dtype %S; wanted an aligned array, "
                      "for instance x.copy()",
                      kind_of(frame, k), name_of(frame, k), PyArray_DESCR(state->array));
    }
    return -1;
}

static int
may_convert(const cwj_frame *frame, int k)
{
    return (frame->decl->flags & CWJ_CAST_SAFE) && frame->decl->operands[k].role == CWJ_IN;
}

static int
check_layout(const cwj_frame *frame)
{
    for (int k = 0; k < frame->noperands; k++) {
        const cwj_state *state = &frame->states[k];
        if (state->array != NULL && !PyArray_ISBEHAVED_RO(state->array) && !may_convert(frame, k)) {
            return refuse_layout(frame, k);
        }
    }
    return 0;
}

/* ---- conversions once the set is known --------------------------------- */

static int
convert_weak(cwj_frame *frame, int k, PyArray_Descr *descr)
{
    cwj_state *state = &frame->states[k];
    const cwj_type *type = &frame->typeset->types[k];
    if (store_number(state->scalar, state->weak, type)) {
        state->data = state->scalar;
        state->itemsize = type->itemsize;
        return 0;
    }
    Py_INCREF(descr); /* PyArray_FromAny steals it */
    PyObject *array = PyArray_FromAny(state->weak, descr, 0, 0, NPY_ARRAY_BEHAVED, NULL);
    if (array == NULL) {
        name_argument(frame, kind_of(frame, k), name_of(frame, k));
        return -1;
    }
    state->owned = array;
    adopt_array(state, (PyArrayObject *)array);
    return 0;
}

static int
convert_by_cast(cwj_frame *frame, int k, PyArray_Descr *descr)
{
    cwj_state *state = &frame->states[k];
    if (PyArray_ISBEHAVED_RO(state->array) && type_equals(state, &frame->typeset->types[k])) {
        return 0;
    }
    if (descr == NULL) {
        return refuse_layout(frame, k); /* any itemsize: nothing to convert to */
    }
    Py_INCREF(descr);
    PyObject *array = PyArray_FromArray(
        state->array, descr, NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST);
    if (array == NULL) {
        name_argument(frame, kind_of(frame, k), name_of(frame, k));
        return -1;
    }
    Py_XSETREF(state->owned, array);
    adopt_array(state, (PyArrayObject *)array);
    return 0;
}

/* Copies every array's dims and strides, in the same moment in which its type is
 * looked at: Python code that converted a later argument may have changed both. */
static int
take_shapes(cwj_frame *frame)
{
    for (int k = 0; k < frame->noperands; k++) {
        cwj_state *state = &frame->states[k];
        if (state->array == NULL) {
            continue;
        }
        adopt_array(state, state->array); /* as it is now */
        if (copy_axes(frame, state, state->array) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
match_types(cwj_frame *frame)
{
    if (check_layout(frame) < 0 || take_shapes(frame) < 0) {
        return -1;
    }
    frame->typeset_index = find_set(frame);
    if (frame->typeset_index < 0) {
        return refuse_types(frame);
    }
    frame->typeset = &frame->decl->typesets[frame->typeset_index];
    return 0;
}

/* Inputs that are not of the set's types yet. */
static int
convert_to_set(cwj_frame *frame)
{
    PyArray_Descr **descrs =
        frame->runtime->descrs + (size_t)frame->typeset_index * (size_t)frame->noperands;
    for (int k = 0; k < frame->decl->ninputs; k++) {
        if (frame->states[k].weak != NULL) {
            if (convert_weak(frame, k, descrs[k]) < 0) {
                return -1;
            }
        } else if (may_convert(frame, k) && convert_by_cast(frame, k, descrs[k]) < 0) {
            return -1;
        }
    }
    return 0;
}
