/* outputs.c: takes the outputs that the caller gives, makes the others, and returns the result of the call.
 *
 * An output that is given is returned itself. New 0-d outputs need no array: they are computed in the frame and returned
 * as NumPy scalars, like those of ufuncs. */

static int
take_output(cwj_frame *frame, int k, PyObject *object)
{
    if (!PyArray_Check(object)) {
        int ninputs = frame->decl->ninputs;
        return raise_about(frame, k, PyExc_TypeError,
                           ": wanted a NumPy array, in out or after the %d input%s, got %s",
                           ninputs, ninputs == 1 ? "" : "s", Py_TYPE(object)->tp_name);
    }
    if (take_array(frame, k, object) < 0) {
        return -1;
    }
    if (!PyArray_ISWRITEABLE(frame->states[k].array)) {
        return raise_about(frame, k, PyExc_ValueError,
                           ": wanted a writable array in out, got a read-only one");
    }
    return 0;
}

static int
take_outputs(cwj_frame *frame)
{
    for (int k = frame->decl->ninputs; k < frame->noperands && frame->given.outputs != NULL; k++) {
        if (!is_given(frame, k)) {
            frame->given.whole = NULL;
        } else if (take_output(frame, k, frame->given.outputs[k - frame->decl->ninputs]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- new outputs ------------------------------------------------------- */

/* Returns a new array's dtype, a new reference. A structured one can be changed in place, so each array has its own. */
static PyArray_Descr *
descr_to_give(PyArray_Descr *descr)
{
    if (descr->type_num == NPY_VOID) {
        return PyArray_DescrNew(descr);
    }
    Py_INCREF(descr);
    return descr;
}

static int
allocate_output(cwj_frame *frame, int k, npy_intp *dims, int ndim)
{
    cwj_state *state = &frame->states[k];
    const cwj_type *type = type_of(frame, k);
    PyArray_Descr *descr = descr_in_set(frame, frame->typeset_index, k);
    if (descr == NULL) {
        return raise_about(frame, k, PyExc_ValueError,
                           " is of a type of any itemsize: out is required");
    }
    if (ndim == 0 && PyTypeNum_ISNUMBER(type->type_num) &&
        !(frame->decl->flags & CWJ_ARRAYS_ONLY)) {
        memset(state->scalar, 0, sizeof(state->scalar));
        state->data = state->scalar;
        state->itemsize = type->itemsize;
        return 0;
    }
    npy_intp *strides;
    if (choose_strides(frame, type->itemsize, &strides) < 0) {
        return -1;
    }
    descr = descr_to_give(descr); /* stolen */
    PyObject *array = descr == NULL ? NULL
                                    : PyArray_NewFromDescr(&PyArray_Type, descr, ndim, dims,
                                                           strides, NULL, 0, NULL);
    if (array == NULL) {
        return name_operand(frame, k);
    }
    state->owned = array;
    adopt_array(state, (PyArrayObject *)array);
    return 0;
}

/* Makes the outputs that the caller does not give. Their dims are the broadcast dims, then those of the prototype. */
static inline int
allocate_outputs(cwj_frame *frame)
{
    const cwj_function_decl *decl = frame->decl;
    for (int k = decl->ninputs; k < frame->noperands; k++) {
        if (is_given(frame, k)) {
            continue;
        }
        cwj_state *state = &frame->states[k];
        const cwj_operand_decl *operand = &decl->operands[k];
        int ndim = frame->nextra + operand->ncore;
        npy_intp *dims = frame_alloc(frame, (size_t)ndim, sizeof(npy_intp));
        if (dims == NULL) {
            return -1;
        }
        for (int i = 0; i < frame->nextra; i++) {
            CWJ_SHORT_LOOP();
            dims[i] = frame->extra[i];
        }
        for (int i = 0; i < operand->ncore; i++) {
            npy_intp core = operand->core[i];
            dims[frame->nextra + i] = core >= 0 ? core : frame->named[-1 - core];
        }
        memset(state, 0, offsetof(cwj_state, scalar));
        frame->owned_to = k + 1;
        if (allocate_output(frame, k, dims, ndim) < 0) {
            return -1;
        }
        state->nextra = frame->nextra;
        describe_operand(&frame->operands[k], state, operand->ncore);
    }
    return 0;
}

/* ---- the result -------------------------------------------------------- */

static PyObject *
result_of(cwj_frame *frame, int k)
{
    cwj_state *state = &frame->states[k];
    if (is_given(frame, k)) {
        return Py_NewRef(frame->given.outputs[k - frame->decl->ninputs]);
    }
    if (state->array == NULL) {
        PyArray_Descr *descr = descrs_of(frame->runtime, frame->typeset_index)[k];
        return new_scalar(state->data, descr, state->itemsize);
    }
    PyObject *array = state->owned;
    state->owned = NULL;
    return state->ndim == 0 ? PyArray_Return((PyArrayObject *)array) : array;
}

/* Returns the result of a call for which the caller gives all outputs. */
static PyObject *
take_given(const cwj_function_decl *decl, const cwj_given *given)
{
    if (given->whole != NULL || (decl->flags & CWJ_ONE_OUTPUT)) {
        return Py_NewRef(given->whole != NULL ? given->whole : given->outputs[0]);
    }
    PyObject *tuple = PyTuple_New(decl->noutputs);
    for (int i = 0; i < decl->noutputs && tuple != NULL; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(given->outputs[i]));
    }
    return tuple;
}

static PyObject *
take_result(cwj_frame *frame)
{
    const cwj_function_decl *decl = frame->decl;
    if (frame->given.whole != NULL) {
        return Py_NewRef(frame->given.whole);
    }
    if (decl->noutputs == 0) {
        Py_RETURN_NONE;
    }
    if (decl->flags & CWJ_ONE_OUTPUT) {
        return result_of(frame, decl->ninputs);
    }
    PyObject *tuple = PyTuple_New(decl->noutputs);
    for (int i = 0; i < decl->noutputs && tuple != NULL; i++) {
        cwj_tuple_fill(&tuple, i, result_of(frame, decl->ninputs + i));
    }
    return tuple;
}
