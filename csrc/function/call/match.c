/* match.c: chooses the type set of a call.
 *
 * Type sets are tried in the order of the definition. An array fits only its own type, a new output fits any type, and
 * a Python number fits the types that NumPy would give it beside arrays (NEP 50). If all inputs are Python numbers, the
 * types that NumPy would give them alone come first. With cast="safe" or "same_kind" a second round takes the first set
 * to which all arrays can be cast by that rule of NumPy, and a third one counts NumPy's integers as Python's. */

/* True if the array has the type. descr: the type's dtype, NULL if it has any itemsize. */
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

/* Returns how an operand's Python number fits a type. An object holds any number. */
static cwj_fit
weak_fit(const cwj_state *state, const cwj_type *type)
{
    _Alignas(CWJ_ALIGN) char unused[CWJ_SCALAR_BYTES];
    return type->type_num == NPY_OBJECT ? CWJ_FITS
           : is_weakened(state)         ? cwj_store_by_value(state->weak, type->type_num, unused)
                                        : cwj_store_weak(state->weak, type->type_num, unused);
}

/* True if the type can hold numbers of this kind. */
static int
weak_kind_fits(const cwj_state *state, const cwj_type *type)
{
    return weak_fit(state, type) != CWJ_NO_SUCH_KIND;
}

/* True if the type can hold the number, which may be rounded. */
static int
weak_fits(const cwj_state *state, const cwj_type *type)
{
    cwj_fit fit = weak_fit(state, type);
    return fit == CWJ_FITS || fit == CWJ_FITS_BY_NUMPY;
}

/* True if type is the one that np.asarray() would give the number. */
static int
weak_default(const cwj_state *state, const cwj_type *type)
{
    PyObject *value = state->weak;
    int num = PyBool_Check(value)    ? NPY_BOOL
              : PyLong_Check(value)  ? NPY_LONG
              : PyFloat_Check(value) ? NPY_DOUBLE
                                     : NPY_CDOUBLE;
    return type->type_num == num && weak_fits(state, type);
}

/* True if type is the one that np.asarray() of some Python number would have, and can hold value. */
static int
weak_among_defaults(const cwj_state *state, const cwj_type *type)
{
    int num = type->type_num;
    return (num == NPY_BOOL || num == NPY_LONG || num == NPY_DOUBLE || num == NPY_CDOUBLE) &&
           weak_fits(state, type);
}

typedef int weak_rule(const cwj_state *state, const cwj_type *type);

/* Returns the rule by which the arrays of a call may be cast. */
static NPY_CASTING
casting_of(const cwj_function_decl *decl)
{
    return decl->flags & CWJ_CAST_SAFE        ? NPY_SAFE_CASTING
           : decl->flags & CWJ_CAST_SAME_KIND ? NPY_SAME_KIND_CASTING
                                              : NPY_NO_CASTING;
}

/* Finds the conversions between the array's type and C's that operand k needs. Returns 0 if only NumPy can do them. */
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

/* True if slices of operand k may run on copies (stage.c) when its array has dtype `own`: it is a number of any kind
 * and byte order, or needs neither a byte swap nor reference counts. */
static int
may_stage(const cwj_frame *frame, int k, PyArray_Descr *own)
{
    const cwj_function_decl *decl = frame->decl;
    return casting_of(decl) != NPY_NO_CASTING && !(decl->flags & CWJ_WHOLE) &&
           decl->cookie_size == 0 && (decl->windows == NULL || decl->windows[k].axes == NULL) &&
           (PyTypeNum_ISNUMBER(own->type_num) ||
            (PyArray_ISNBO(own->byteorder) && !PyDataType_REFCHK(own)));
}

/* True if the array of operand k can be cast to descr by this rule, and back if it is written to. */
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
        if (state->weak != NULL ? !rule(state, &types[k])
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

/* Returns the index of the first type set that fits by these rules for numbers and arrays, or -1. */
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

/* Like first_set(). If no set fits without casts, tries those that the function allows. */
static int
find_set_by(const cwj_frame *frame, weak_rule *rule)
{
    int index = first_set(frame, rule, NPY_NO_CASTING);
    NPY_CASTING casting = casting_of(frame->decl);
    return index < 0 && casting != NPY_NO_CASTING ? first_set(frame, rule, casting) : index;
}

/* Returns the index of the type set to run, or -1. */
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

/* Returns the types of the arguments, "'a' is float64, 'b' is int64". New outputs are left out. */
static PyObject *
text_of_types(const cwj_frame *frame)
{
    PyObject *text = PyUnicode_FromString("");
    for (int k = 0; k < frame->noperands && text != NULL; k++) {
        if (k >= frame->decl->ninputs && !is_given(frame, k)) {
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

static int
has_structs(const cwj_frame *frame, int index)
{
    const cwj_type *types = frame->decl->typesets[index].types;
    int found = 0;
    for (int k = 0; k < frame->noperands; k++) {
        found |= types[k].type_num == NPY_VOID && types[k].dtype != NULL;
    }
    return found;
}

/* Returns the name of a type set; of structs only the names of their members. */
static PyObject *
text_of_set(const cwj_frame *frame, int index)
{
    if (!has_structs(frame, index)) {
        return PyUnicode_FromString(frame->decl->typesets[index].name);
    }
    PyObject *text = PyUnicode_FromString("");
    for (int k = 0; k < frame->noperands && text != NULL; k++) {
        PyArray_Descr *descr = descrs_of(frame->runtime, index)[k];
        PyObject *one = descr != NULL ? text_of_dtype(descr) : PyUnicode_FromString("any");
        const char *joint = k == frame->decl->ninputs ? " -> " : k > 0 ? ", " : "";
        Py_SETREF(text, one == NULL ? NULL : PyUnicode_FromFormat("%U%s%U", text, joint, one));
        Py_XDECREF(one);
    }
    return text;
}

static PyObject *
text_of_known_sets(const cwj_frame *frame)
{
    PyObject *text = PyUnicode_FromString("");
    for (int t = 0; t < frame->decl->ntypesets && text != NULL; t++) {
        PyObject *one = text_of_set(frame, t);
        Py_SETREF(text, one == NULL
                            ? NULL
                            : PyUnicode_FromFormat("%U%s(%U)", text, t > 0 ? ", " : "", one));
        Py_XDECREF(one);
    }
    return text;
}

/* Returns the first difference between two structs as text, from tuples of names and mappings of fields; "" if there is
 * none in `wanted`. */
static PyObject *
text_of_fields(PyObject *names, PyObject *got, PyObject *wanted)
{
    PyObject *text = NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names) && text == NULL && !PyErr_Occurred(); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        PyObject *want = PyObject_GetItem(wanted, name), *own = NULL;
        if (want != NULL && (own = PyObject_GetItem(got, name)) == NULL &&
            PyErr_ExceptionMatches(PyExc_KeyError)) {
            PyErr_Clear();
            text = PyUnicode_FromFormat("has no member %R", name);
        } else if (own != NULL && PyObject_RichCompareBool(own, want, Py_NE) > 0) {
            text = PyUnicode_FromFormat("has %R as %S at byte %S, not %S at byte %S", name,
                                        PyTuple_GET_ITEM(own, 0), PyTuple_GET_ITEM(own, 1),
                                        PyTuple_GET_ITEM(want, 0), PyTuple_GET_ITEM(want, 1));
        }
        Py_XDECREF(want);
        Py_XDECREF(own);
    }
    return text != NULL || PyErr_Occurred() ? text : PyUnicode_FromString("");
}

/* Returns "; 'p' has 'n' as ..." if an array of structs differs from the struct of the first type set, otherwise "". */
static PyObject *
text_of_difference(const cwj_frame *frame)
{
    PyObject *text = NULL;
    for (int k = 0; k < frame->noperands && text == NULL && !PyErr_Occurred(); k++) {
        PyArrayObject *array = frame->states[k].array;
        PyObject *wanted = (PyObject *)descrs_of(frame->runtime, 0)[k];
        if (array == NULL || wanted == NULL || !PyArray_HASFIELDS(array) ||
            frame->decl->typesets[0].types[k].type_num != NPY_VOID ||
            PyArray_EquivTypes(PyArray_DESCR(array), (PyArray_Descr *)wanted)) {
            continue;
        }
        PyObject *names = PyObject_GetAttrString(wanted, "names");
        PyObject *fields = PyObject_GetAttrString(wanted, "fields");
        PyObject *own = PyObject_GetAttrString((PyObject *)PyArray_DESCR(array), "fields");
        PyObject *what = names != NULL && fields != NULL && own != NULL && PyTuple_Check(names)
                             ? text_of_fields(names, own, fields)
                             : NULL;
        if (what != NULL && PyUnicode_GET_LENGTH(what) > 0) {
            text = PyUnicode_FromFormat("; '%s' %U", name_of(frame, k), what);
        } else if (what != NULL &&
                   PyArray_ITEMSIZE(array) != frame->decl->typesets[0].types[k].itemsize) {
            text = PyUnicode_FromFormat("; '%s' has items of %zd bytes, not %zd", name_of(frame, k),
                                        (Py_ssize_t)PyArray_ITEMSIZE(array),
                                        (Py_ssize_t)frame->decl->typesets[0].types[k].itemsize);
        }
        Py_XDECREF(names);
        Py_XDECREF(fields);
        Py_XDECREF(own);
        Py_XDECREF(what);
    }
    return text != NULL || PyErr_Occurred() ? text : PyUnicode_FromString("");
}

/* Returns a hint if a cast that the function does not allow would convert these arrays, otherwise "". */
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

/* Raises OverflowError, because the type cannot represent `number`, the value of operand k. */
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

/* Refuses a call that fits no type set; set number `index` would fit if its types could represent the ints. */
static int
refuse_value(const cwj_frame *frame, int index)
{
    const cwj_type *types = frame->decl->typesets[index].types;
    int k = 0;
    while (frame->states[k].weak == NULL ||
           weak_fit(&frame->states[k], &types[k]) != CWJ_NO_SUCH_VALUE) {
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
    PyObject *got = text_of_types(frame), *known = text_of_known_sets(frame);
    PyObject *difference = got == NULL || known == NULL ? NULL : text_of_difference(frame);
    if (difference != NULL) {
        int mixed = frame->runtime->has_units && frame->unit.mixed;
        raise_in_call(frame, PyExc_TypeError, "no type set fits: %U; wanted %U%s%s%U", got, known,
                      mixed ? " of equal units" : "", cure_by_cast(frame), difference);
    }
    Py_XDECREF(got);
    Py_XDECREF(known);
    Py_XDECREF(difference);
    return -1;
}

/* ---- memory layout ----------------------------------------------------- */

/* Refuses operand k: compiled code needs arrays that are aligned and in this machine's byte order. */
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

/* True if operand k may be converted when it has not C's type or layout. */
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

/* True if an array is aligned for C's type and in this machine's byte order. For structs C's own alignment is checked,
 * because an equal structured dtype may require less. */
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

/* True if slices of operand k must run on copies. Shapes are known, and frame->operands[k] describes the array. */
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

/* Converts a number to an array of one object. */
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

/* A 0-d integer counts by its value in a cast, others need not. Returns 0, or -1 with an exception set. */
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
    int fits = number != NULL && cwj_store_by_value(number, type_num, unused) != CWJ_NO_SUCH_VALUE;
    if (number != NULL && !fits) {
        raise_no_such_value(frame, k, number, type_num);
    }
    Py_XDECREF(scalar);
    Py_XDECREF(number);
    return fits ? 0 : -1;
}

/* True if an array may share memory with one that is written to, judged by bounds. */
static int
meets_written(const cwj_frame *frame, int k)
{
    const cwj_state *state = &frame->states[k];
    cwj_extent extent =
        extent_of_memory(state->data, state->ndim, state->dims, state->strides, state->itemsize);
    for (int other = 0; other < frame->noperands; other++) {
        const cwj_state *written = &frame->states[other];
        if (other == k || frame->decl->operands[other].role == CWJ_IN || written->array == NULL) {
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

/* Returns why operand k is copied: a new str, or NULL with an exception set. */
static PyObject *
reason_of_copy(const cwj_frame *frame, int k)
{
    PyArrayObject *array = frame->states[k].array;
    PyArray_Descr *own = PyArray_DESCR(array);
    PyArray_Descr *descr = descr_in_set(frame, frame->typeset_index, k);
    if (!PyArray_ISNOTSWAPPED(array)) {
        return PyUnicode_FromFormat("it is %S, in the other byte order", own);
    }
    if (descr != NULL && !type_equals(&frame->states[k], type_of(frame, k), descr)) {
        return PyUnicode_FromFormat("it is %S, and C has %S", own, descr);
    }
    if (PyArray_ISALIGNED(array) && frame->decl->operands[k].role == CWJ_IN &&
        meets_written(frame, k)) {
        return PyUnicode_FromString("it shares memory with an output");
    }
    return PyUnicode_FromString(PyArray_ISALIGNED(array) ? "its slices are not contiguous"
                                                         : "it is not aligned");
}

/* Counts a call that copies operand k, and warns if that is asked for. Returns 0, or -1 if the warning raises. */
static int
note_copy(const cwj_frame *frame, int k)
{
    frame->runtime->copied[k]++;
    if (!(frame->decl->flags & CWJ_WARN_COPIES)) {
        return 0;
    }
    PyObject *why = reason_of_copy(frame, k), *cure = NULL;
    PyArray_Descr *own = PyArray_DESCR(frame->states[k].array);
    PyArray_Descr *descr = descr_in_set(frame, frame->typeset_index, k);
    bool reads = frame->decl->operands[k].role == CWJ_IN;
    int status = -1;
    if (why != NULL) {
        cure = PyUnicode_FromFormat(
            reads ? "np.array(%s, '%S', order='C') before the calls copies it once"
                  : "an aligned array whose slices are contiguous avoids that ('%s' is %S in C)",
            name_of(frame, k), descr != NULL ? descr : own);
    }
    if (cure != NULL) {
        status = PyErr_WarnFormat(
            PyExc_UserWarning, 1, "%s(): %s '%s' is copied in this call: %U; %U",
            frame->decl->qualname, kind_of(frame, k), name_of(frame, k), why, cure);
    }
    Py_XDECREF(why);
    Py_XDECREF(cure);
    return status;
}

/* Copies operand k's whole array to the set's type, unless it fits already or its slices can run on copies. A window is
 * also copied if an output may share its memory; overlap.c copies other inputs. */
static int
convert_by_cast(cwj_frame *frame, int k, PyArray_Descr *descr)
{
    cwj_state *state = &frame->states[k];
    PyArray_Descr *own = PyArray_DESCR(state->array);
    int equal = type_equals(state, type_of(frame, k), descr);
    int stays = may_stage(frame, k, own) && !meets_written(frame, k);
    int packed = frame->decl->operands[k].packed && !stays ? NPY_ARRAY_C_CONTIGUOUS : 0;
    int shares = frame->decl->windows != NULL && frame->decl->windows[k].axes != NULL &&
                 meets_written(frame, k);
    if (equal && !shares && lies_right(frame, k) && PyArray_CHKFLAGS(state->array, packed)) {
        return 0;
    }
    if (descr == NULL) {
        return refuse_layout(frame, k); /* any itemsize: there is no dtype to convert to */
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
                          NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST | packed |
                              (shares ? NPY_ARRAY_ENSURECOPY : 0));
    if (array == NULL) {
        return name_operand(frame, k);
    }
    Py_XSETREF(state->owned, array);
    adopt_array(state, (PyArrayObject *)array);
    return 0;
}

/* Copies all dims and strides when types are read: Python code that converted other arguments may have changed both. */
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

/* Makes arrays of one integer weak, as Python's ints are. Returns how many, or -1 with an exception set. */
static int
weaken_integers(cwj_frame *frame)
{
    int count = 0;
    for (int k = 0; k < frame->decl->ninputs; k++) {
        cwj_state *state = &frame->states[k];
        const cwj_operand_decl *operand = &frame->decl->operands[k];
        if (state->array == NULL || operand->role != CWJ_IN || operand->ncore > 0 ||
            PyArray_NDIM(state->array) > 0 || !PyArray_ISINTEGER(state->array)) {
            continue;
        }
        PyObject *number = PyNumber_Index((PyObject *)state->array);
        if (number == NULL) {
            return name_operand(frame, k);
        }
        state->array = NULL;
        state->weak = number;
        Py_XSETREF(state->owned, number);
        count++;
    }
    return count;
}

static int
match_types(cwj_frame *frame)
{
    if (check_layout(frame) < 0 || take_shapes(frame) < 0 ||
        (frame->runtime->has_units && settle_unit(frame) < 0)) {
        return -1;
    }
    frame->typeset_index = find_set(frame);
    if (frame->typeset_index < 0 && casting_of(frame->decl) != NPY_NO_CASTING) {
        int weakened = weaken_integers(frame);
        if (weakened < 0) {
            return -1;
        }
        frame->typeset_index = weakened > 0 ? find_set(frame) : -1;
    }
    return frame->typeset_index < 0 ? refuse_types(frame) : 0;
}

/* Converts the inputs that do not have the set's types yet. */
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
