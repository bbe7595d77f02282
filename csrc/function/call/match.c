/* match.c: which type set runs.
 *
 * Type sets are tried in the order of the definition. An array fits its own
 * type only; an output that is not there yet fits any; a Python number fits
 * the types that NumPy would give it beside arrays (NEP 50), and where there are only such numbers
 * the types come first that it would give them alone. With cast="safe" or "same_kind"
 * a second round takes the first set that all arrays convert to by that rule of NumPy's.
 */

/* descr is the type's dtype, NULL where it has any itemsize. */
static int
type_equals(const cwj_state *state, const cwj_type *type, PyArray_Descr *descr)
{
    PyArray_Descr *own = PyArray_DESCR(state->array);
    if (canonical_type(own->type_num) != type->type_num) {
        return 0;
    }
    if (type->dtype != NULL) {
        return own == descr || PyArray_EquivTypes(own, descr);
    }
    if (is_any_unit(type)) {
        return descr != NULL && same_unit(unit_of(own), unit_of(descr));
    }
    return type->itemsize == 0 || type->itemsize == state->itemsize;
}

/* What a Python number is to a type. An object holds any. */
static cwj_fit
weak_fit(PyObject *value, const cwj_type *type)
{
    _Alignas(CWJ_ALIGN) char unused[CWJ_SCALAR_BYTES];
    return type->type_num == NPY_OBJECT ? CWJ_FITS : cwj_store_weak(value, type->type_num, unused);
}

/* True when numbers of value's kind are numbers of the type's. */
static int
weak_kind_fits(PyObject *value, const cwj_type *type)
{
    return weak_fit(value, type) != CWJ_NO_SUCH_KIND;
}

/* The same, and an int must have its value in the type; floats are rounded. */
static int
weak_fits(PyObject *value, const cwj_type *type)
{
    cwj_fit fit = weak_fit(value, type);
    return fit == CWJ_FITS || fit == CWJ_FITS_BY_NUMPY;
}

/* True when type is the one that np.asarray(value) would have. */
static int
weak_default(PyObject *value, const cwj_type *type)
{
    int num = PyBool_Check(value)    ? NPY_BOOL
              : PyLong_Check(value)  ? NPY_LONG
              : PyFloat_Check(value) ? NPY_DOUBLE
                                     : NPY_CDOUBLE;
    return type->type_num == num && weak_fits(value, type);
}

/* True when type is the one that np.asarray() of some Python number would have, and value fits. */
static int
weak_among_defaults(PyObject *value, const cwj_type *type)
{
    int num = type->type_num;
    return (num == NPY_BOOL || num == NPY_LONG || num == NPY_DOUBLE || num == NPY_CDOUBLE) &&
           weak_fits(value, type);
}

typedef int weak_rule(PyObject *value, const cwj_type *type);

/* The rule by which arrays of a call convert. */
static NPY_CASTING
casting_of(const cwj_function_decl *decl)
{
    return decl->flags & CWJ_CAST_SAFE        ? NPY_SAFE_CASTING
           : decl->flags & CWJ_CAST_SAME_KIND ? NPY_SAME_KIND_CASTING
                                              : NPY_NO_CASTING;
}

/* Finds how numbers of an array become those of C, and back, as far as operand k needs it. Returns 0 where that has to
 * be done by NumPy. */
static int
find_casts(const cwj_frame *frame, int k, const PyArray_Descr *own, const PyArray_Descr *descr,
           cwj_cast *to_c, cwj_cast *to_array)
{
    int role = frame->decl->operands[k].role;
    int in_array = canonical_type(own->type_num), in_c = canonical_type(descr->type_num);
    return (role == CWJ_OUT || find_cast(in_array, in_c, to_c)) &&
           (role == CWJ_IN || find_cast(in_c, in_array, to_array));
}

static int
has_casts(const cwj_frame *frame, int k, const PyArray_Descr *own, const PyArray_Descr *descr)
{
    cwj_cast to_c, to_array;
    return find_casts(frame, k, own, descr, &to_c, &to_array);
}

/* Slices of operand k may run on copies (stage.c) where its array is `own`: numbers of any kind and byte order, and
 * what needs neither a cast nor a count of references. */
static int
may_stage(const cwj_frame *frame, int k, PyArray_Descr *own)
{
    const cwj_function_decl *decl = frame->decl;
    return casting_of(decl) != NPY_NO_CASTING && !(decl->flags & CWJ_WHOLE) &&
           decl->cookie_size == 0 && (decl->windows == NULL || decl->windows[k].axes == NULL) &&
           (PyTypeNum_ISNUMBER(own->type_num) ||
            (PyArray_ISNBO(own->byteorder) && !PyDataType_REFCHK(own)));
}

/* True when the array of operand k converts to another type by a rule of NumPy's, and back if it is written to. */
static int
converts(const cwj_frame *frame, int k, PyArray_Descr *descr, NPY_CASTING casting)
{
    PyArray_Descr *own = PyArray_DESCR(frame->states[k].array);
    int role = frame->decl->operands[k].role;
    if (casting == NPY_NO_CASTING || descr == NULL ||
        (role != CWJ_OUT && !PyArray_CanCastTypeTo(own, descr, casting))) {
        return 0;
    }
    return role == CWJ_IN ||
           (may_stage(frame, k, own) && PyArray_CanCastTypeTo(descr, own, casting) &&
            has_casts(frame, k, own, descr));
}

static int
set_fits(const cwj_frame *frame, int index, weak_rule *rule, NPY_CASTING casting)
{
    const cwj_type *types = frame->decl->typesets[index].types;
    for (int k = 0; k < frame->noperands; k++) {
        const cwj_state *state = &frame->states[k];
        PyArray_Descr *descr = descr_in_set(frame, index, k);
        if (state->weak != NULL ? !rule(state->weak, &types[k])
                                : state->array != NULL && !type_equals(state, &types[k], descr) &&
                                      !converts(frame, k, descr, casting)) {
            return 0;
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

/* The index of the first type set that fits by this rule for numbers, or -1. */
static int
first_set(const cwj_frame *frame, weak_rule *rule, NPY_CASTING casting)
{
    for (int t = 0; t < frame->decl->ntypesets; t++) {
        if (set_fits(frame, t, rule, casting)) {
            return t;
        }
    }
    return -1;
}

/* The same, with casts where the function has them. */
static int
find_set_by(const cwj_frame *frame, weak_rule *rule)
{
    int index = first_set(frame, rule, NPY_NO_CASTING);
    NPY_CASTING casting = casting_of(frame->decl);
    return index < 0 && casting != NPY_NO_CASTING ? first_set(frame, rule, casting) : index;
}

/* The index of the type set to run, or -1. */
static int
find_set(const cwj_frame *frame)
{
    int index = -1;
    if (!has_strong_operand(frame)) {
        index = first_set(frame, weak_default, NPY_NO_CASTING);
        if (index < 0) { /* f(1.5, 2) */
            index = first_set(frame, weak_among_defaults, NPY_NO_CASTING);
        }
    }
    return index >= 0 ? index : find_set_by(frame, weak_fits);
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

/* What would convert these arrays, and nobody asked for. */
static const char *
cure_by_cast(const cwj_frame *frame)
{
    NPY_CASTING now = casting_of(frame->decl);
    return now == NPY_NO_CASTING && first_set(frame, weak_fits, NPY_SAFE_CASTING) >= 0
               ? " (cast=\"safe\" converts it)"
           : now != NPY_SAME_KIND_CASTING && first_set(frame, weak_fits, NPY_SAME_KIND_CASTING) >= 0
               ? " (cast=\"same_kind\" converts it, and may lose values)"
               : "";
}

/* An int that its type does not have: number's, which operand k is to be. */
static void
raise_no_such_value(const cwj_frame *frame, int k, PyObject *number, int type_num)
{
    PyObject *known = text_of_known_sets(frame);
    PyObject *fault = known == NULL ? NULL : cwj_text_of_no_such_value(number, type_num);
    if (fault != NULL) {
        raise_about(frame, k, PyExc_OverflowError, ": %U; wanted %U", fault, known);
    }
    Py_XDECREF(known);
    Py_XDECREF(fault);
}

/* No type set fits, but set number `index` would if ints had values of its types. */
static int
refuse_value(const cwj_frame *frame, int index)
{
    const cwj_type *types = frame->decl->typesets[index].types;
    int k = 0;
    while (frame->states[k].weak == NULL ||
           weak_fit(frame->states[k].weak, &types[k]) != CWJ_NO_SUCH_VALUE) {
        k++;
    }
    raise_no_such_value(frame, k, frame->states[k].weak, types[k].type_num);
    return -1;
}

static int
refuse_types(const cwj_frame *frame)
{
    int index = find_set_by(frame, weak_kind_fits);
    if (index >= 0) {
        return refuse_value(frame, index);
    }
    PyObject *got = text_of_types(frame);
    PyObject *known = text_of_known_sets(frame);
    if (got != NULL && known != NULL) {
        int mixed = frame->runtime->has_units && frame->unit.mixed;
        raise_in_call(frame, PyExc_TypeError, "no type set fits: %U; wanted %U%s%s", got, known,
                      mixed ? " of equal units" : "", cure_by_cast(frame));
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
        return raise_about(frame, k, PyExc_TypeError,
                           " has dtype %S in the other byte order; wanted this machine's, for "
                           "instance x.astype(x.dtype.newbyteorder('='))",
                           PyArray_DESCR(state->array));
    }
    return raise_about(frame, k, PyExc_ValueError,
                       " is not aligned in memory for dtype %S; wanted an aligned array, for "
                       "instance x.copy()",
                       PyArray_DESCR(state->array));
}

/* An array that is not of C's type, or does not lie as C lays it out, can be converted. */
static int
may_convert(const cwj_frame *frame, int k)
{
    return casting_of(frame->decl) != NPY_NO_CASTING &&
           (frame->decl->operands[k].role == CWJ_IN ||
            may_stage(frame, k, PyArray_DESCR(frame->states[k].array)));
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

#if NPY_ABI_VERSION < 0x02000000
#define PyDataType_ALIGNMENT(descr) ((descr)->alignment)
#endif

static int
is_aligned_to(const cwj_state *state, npy_intp alignment)
{
    npy_uintp places = (npy_uintp)state->data;
    for (int i = 0; i < state->ndim; i++) {
        places |= state->dims[i] > 1 ? (npy_uintp)state->strides[i] : 0;
    }
    return places % (npy_uintp)alignment == 0 || PyArray_SIZE(state->array) == 0;
}

/* An array is aligned for C's type, and in this machine's byte order. A structured dtype is equal to one that wants
 * less of its arrays' memory than the struct in C. */
static int
lies_right(const cwj_frame *frame, int k)
{
    const cwj_state *state = &frame->states[k];
    const PyArray_Descr *descr = descrs_of(frame->runtime, frame->typeset_index)[k];
    return PyArray_ISBEHAVED_RO(state->array) &&
           (descr == NULL || descr->type_num != NPY_VOID ||
            is_aligned_to(state, PyDataType_ALIGNMENT(descr)));
}

static int
check_records(const cwj_frame *frame)
{
    for (int k = 0; k < frame->noperands; k++) {
        const cwj_state *state = &frame->states[k];
        if (state->array != NULL && !lies_right(frame, k) && !may_convert(frame, k)) {
            return refuse_layout(frame, k);
        }
    }
    return 0;
}

/* Slices of operand k have to run on copies. The shapes are known, and what slices would see without them. */
static int
wants_stage(const cwj_frame *frame, int k)
{
    const cwj_state *state = &frame->states[k];
    npy_intp wanted;
    if (state->array == NULL || !may_stage(frame, k, PyArray_DESCR(state->array))) {
        return 0;
    }
    PyArray_Descr *descr = descr_in_set(frame, frame->typeset_index, k);
    return !lies_right(frame, k) || !type_equals(state, type_of(frame, k), descr) ||
           (frame->decl->operands[k].packed && find_gap(&frame->operands[k], &wanted) != 0);
}

/* ---- conversions once the set is known --------------------------------- */

/* A number as an object: an array of one. */
static int
convert_to_object(cwj_frame *frame, int k, PyArray_Descr *descr)
{
    cwj_state *state = &frame->states[k];
    Py_INCREF(descr); /* PyArray_FromAny steals it */
    PyObject *array = PyArray_FromAny(state->weak, descr, 0, 0, NPY_ARRAY_BEHAVED, NULL);
    if (array == NULL) {
        return name_operand(frame, k);
    }
    state->owned = array;
    adopt_array(state, (PyArrayObject *)array);
    return 0;
}

static int
convert_weak(cwj_frame *frame, int k, PyArray_Descr *descr)
{
    cwj_state *state = &frame->states[k];
    const cwj_type *type = type_of(frame, k);
    if (type->type_num == NPY_OBJECT) {
        return convert_to_object(frame, k, descr);
    }
    if (cwj_store_weak(state->weak, type->type_num, state->scalar) == CWJ_FITS_BY_NUMPY &&
        cwj_store_by_numpy(state->weak, type->type_num, state->scalar) == CWJ_FIT_ERROR) {
        return name_operand(frame, k);
    }
    state->data = state->scalar;
    state->itemsize = type->itemsize;
    return 0;
}

/* A single integer keeps its value in a cast, while those of larger arrays may be rounded. */
static int
check_single(const cwj_frame *frame, int k, int type_num)
{
    PyArrayObject *array = frame->states[k].array;
    char unused[CWJ_SCALAR_BYTES];
    if (PyArray_NDIM(array) > 0 || !PyArray_ISINTEGER(array)) {
        return 0;
    }
    PyObject *scalar = PyArray_ToScalar(PyArray_DATA(array), array);
    PyObject *number = scalar == NULL ? NULL : PyNumber_Index(scalar);
    int fits = number != NULL && cwj_store_weak(number, type_num, unused) != CWJ_NO_SUCH_VALUE;
    if (number != NULL && !fits) {
        raise_no_such_value(frame, k, number, type_num);
    }
    Py_XDECREF(scalar);
    Py_XDECREF(number);
    return fits ? 0 : -1;
}

/* Counts a call that copies operand k, and warns where that is asked for. Returns 0, or -1 with the warning as an
 * exception. */
static int
note_copy(const cwj_frame *frame, int k)
{
    frame->runtime->copied[k]++;
    if (!(frame->decl->flags & CWJ_WARN_COPIES)) {
        return 0;
    }
    PyArrayObject *array = frame->states[k].array;
    const char *why = !PyArray_ISNOTSWAPPED(array) ? "in the other byte order"
                      : !PyArray_ISALIGNED(array)  ? "not aligned"
                                                   : "as it lies";
    return PyErr_WarnFormat(PyExc_UserWarning, 1,
                            "%s(): argument '%s' is copied: it is %S, %s; wanted %s",
                            frame->decl->qualname, name_of(frame, k), PyArray_DESCR(array), why,
                            frame->decl->typesets[frame->typeset_index].name);
}

/* An array has memory in common with one that is written to, as far as bounds tell. */
static int
meets_written(const cwj_frame *frame, int k)
{
    const cwj_state *state = &frame->states[k];
    cwj_extent extent =
        extent_of_memory(state->data, state->ndim, state->dims, state->strides, state->itemsize);
    for (int other = 0; other < frame->noperands; other++) {
        const cwj_state *written = &frame->states[other];
        if (frame->decl->operands[other].role == CWJ_IN || written->array == NULL) {
            continue;
        }
        cwj_extent against = extent_of_memory(written->data, written->ndim, written->dims,
                                              written->strides, written->itemsize);
        if (extent.low < against.high && against.low < extent.high) {
            return 1;
        }
    }
    return 0;
}

/* A copy of the whole array, where slices cannot run on copies of a few. */
static int
convert_by_cast(cwj_frame *frame, int k, PyArray_Descr *descr)
{
    cwj_state *state = &frame->states[k];
    PyArray_Descr *own = PyArray_DESCR(state->array);
    int equal = type_equals(state, type_of(frame, k), descr);
    int stays = may_stage(frame, k, own) && !meets_written(frame, k);
    int packed = frame->decl->operands[k].packed && !stays ? NPY_ARRAY_C_CONTIGUOUS : 0;
    if (equal && lies_right(frame, k) && PyArray_CHKFLAGS(state->array, packed)) {
        return 0;
    }
    if (descr == NULL) {
        return refuse_layout(frame, k); /* any itemsize: nothing to convert to */
    }
    if (check_single(frame, k, descr->type_num) < 0) {
        return -1;
    }
    if (stays && PyArray_NDIM(state->array) > 0 && (equal || has_casts(frame, k, own, descr))) {
        return 0;
    }
    if (note_copy(frame, k) < 0) {
        return -1;
    }
    Py_INCREF(descr);
    PyObject *array =
        PyArray_FromArray(state->array, descr,
                          NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST | packed);
    if (array == NULL) {
        return name_operand(frame, k);
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
    if (check_layout(frame) < 0 || take_shapes(frame) < 0 ||
        (frame->runtime->has_units && settle_unit(frame) < 0)) {
        return -1;
    }
    frame->typeset_index = find_set(frame);
    return frame->typeset_index < 0 ? refuse_types(frame) : 0;
}

/* Inputs that are not of the set's types yet. */
static int
convert_to_set(cwj_frame *frame)
{
    for (int k = 0; k < frame->decl->ninputs; k++) {
        PyArray_Descr *descr = descr_in_set(frame, frame->typeset_index, k);
        if (frame->states[k].weak != NULL) {
            if (convert_weak(frame, k, descr) < 0) {
                return -1;
            }
        } else if (frame->decl->operands[k].role == CWJ_IN && may_convert(frame, k) &&
                   convert_by_cast(frame, k, descr) < 0) {
            return -1;
        }
    }
    return 0;
}
