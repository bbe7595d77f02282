/* outputs.c: takes out=, makes new outputs, and returns the result of the call.
 *
 * out= gives all outputs or none, and the call returns that very object. New 0-d outputs need no array: they are
 * computed in the frame and returned as NumPy scalars, like those of ufuncs. */

static int
take_output(cwj_frame *frame, int index, PyObject *object)
{
    int k = frame->decl->ninputs + index;
    cwj_state *state = &frame->states[k];
    /* A list may lose the array while the call runs without the GIL. */
    Py_INCREF(object);
    state->owned = object;
    if (!PyArray_Check(object)) {
        return raise_about(frame, k, PyExc_TypeError, ": wanted a NumPy array in out, got %s",
                           Py_TYPE(object)->tp_name);
    }
    if (take_array(frame, k, object) < 0) {
        return -1;
    }
    if (!PyArray_ISWRITEABLE(state->array)) {
        return raise_about(frame, k, PyExc_ValueError,
                           ": wanted a writable array in out, got a read-only one");
    }
    return 0;
}

static int
take_sequence(cwj_frame *frame)
{
    int noutputs = frame->decl->noutputs;
    if (!PyTuple_Check(frame->out) && !PyList_Check(frame->out)) {
        return raise_in_call(
            frame, PyExc_TypeError,
            "out: wanted a tuple or list of %d arrays, one for each output, got %s", noutputs,
            Py_TYPE(frame->out)->tp_name);
    }
    if (PySequence_Fast_GET_SIZE(frame->out) != noutputs) {
        return raise_in_call(frame, PyExc_ValueError,
                             "out: wanted %d arrays, one for each output, got %zd", noutputs,
                             PySequence_Fast_GET_SIZE(frame->out));
    }
    for (int i = 0; i < noutputs; i++) {
        if (i >= PySequence_Fast_GET_SIZE(frame->out)) { /* the list has become shorter */
            return raise_in_call(frame, PyExc_ValueError, "out: the list changed during the call");
        }
        if (take_output(frame, i, PySequence_Fast_GET_ITEM(frame->out, i)) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
take_outputs(cwj_frame *frame)
{
    if (frame->out == NULL) {
        return 0;
    }
    if (frame->decl->noutputs == 0) {
        return raise_in_call(frame, PyExc_TypeError, "has no outputs, and takes no out");
    }
    if (frame->decl->flags & CWJ_ONE_OUTPUT) {
        return take_output(frame, 0, frame->out);
    }
    return take_sequence(frame);
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

/* Makes all outputs unless out= gave them. Their dims are the broadcast dims, then those of the prototype. */
static inline int
allocate_outputs(cwj_frame *frame)
{
    const cwj_function_decl *decl = frame->decl;
    if (frame->out != NULL) {
        return 0;
    }
    for (int k = decl->ninputs; k < frame->noperands; k++) {
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
    if (state->array == NULL) {
        PyArray_Descr *descr = descrs_of(frame->runtime, frame->typeset_index)[k];
        return new_scalar(state->data, descr, state->itemsize);
    }
    PyObject *array = state->owned;
    state->owned = NULL;
    return state->ndim == 0 ? PyArray_Return((PyArrayObject *)array) : array;
}

static PyObject *
take_result(cwj_frame *frame)
{
    const cwj_function_decl *decl = frame->decl;
    if (frame->out != NULL) {
        return Py_NewRef(frame->out);
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
