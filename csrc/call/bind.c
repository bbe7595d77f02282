/* bind.c: positional and keyword arguments to slots, as Python's own functions
 * bind them. Slots are ordered as the names: inputs, out, extras; only inputs
 * may be positional. */

/* The slot of a keyword, by identity first; -1 without such a name, -2 with an
 * exception set. */
static int
find_slot(const cwj_runtime *runtime, PyObject *name)
{
    for (int i = 0; i < runtime->nnames; i++) {
        if (runtime->names[i] == name) {
            return i;
        }
    }
    for (int i = 0; i < runtime->nnames; i++) {
        int equal = PyObject_RichCompareBool(runtime->names[i], name, Py_EQ);
        if (equal != 0) {
            return equal > 0 ? i : -2;
        }
    }
    return -1;
}

static int
bind_keywords(cwj_frame *frame, PyObject *const *values, PyObject *kwnames)
{
    Py_ssize_t count = PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        int slot = find_slot(frame->runtime, name);
        if (slot == -2) {
            return -1;
        }
        if (slot == -1) {
            raise_in_call(frame, PyExc_TypeError, "got an unexpected keyword argument '%U'", name);
            return -1;
        }
        if (frame->slots[slot] != NULL) {
            raise_in_call(frame, PyExc_TypeError, "got multiple values for argument '%U'", name);
            return -1;
        }
        frame->slots[slot] = values[i];
    }
    return 0;
}

static int
refuse_missing(const cwj_frame *frame)
{
    for (int i = 0; i < frame->decl->ninputs; i++) {
        if (frame->slots[i] == NULL) {
            raise_in_call(frame, PyExc_TypeError, "missing required argument '%s' (position %d)",
                          name_of(frame, i), i + 1);
            return -1;
        }
    }
    return 0;
}

/* Any legal mixture of positional and keyword arguments. */
static int
bind_slots(cwj_frame *frame, PyObject *const *args, Py_ssize_t npositional, PyObject *kwnames)
{
    int ninputs = frame->decl->ninputs;
    if (npositional > ninputs) {
        raise_in_call(frame, PyExc_TypeError,
                      "takes %d positional argument%s but %zd were given (out and extra "
                      "arguments are keyword-only)",
                      ninputs, ninputs == 1 ? "" : "s", npositional);
        return -1;
    }
    frame->slots = frame_alloc_zeroed(frame, (size_t)frame->runtime->nnames, sizeof(PyObject *));
    if (frame->slots == NULL) {
        return -1;
    }
    frame->inputs = frame->slots;
    for (Py_ssize_t i = 0; i < npositional; i++) {
        frame->slots[i] = args[i];
    }
    if (kwnames != NULL && bind_keywords(frame, args + npositional, kwnames) < 0) {
        return -1;
    }
    if (frame->slots[ninputs] != Py_None) {
        frame->out = frame->slots[ninputs];
    }
    return npositional == ninputs ? 0 : refuse_missing(frame);
}

/* Usually all inputs are positional and `out` is the only keyword: nothing needs
 * to be copied then. Returns 0 for other calls. */
static inline int
bind_simply(const cwj_runtime *runtime, PyObject *const *args, size_t nargsf, PyObject *kwnames,
            PyObject **out)
{
    int ninputs = runtime->decl->ninputs;
    *out = NULL;
    if (CWJ_UNLIKELY(PyVectorcall_NARGS(nargsf) != ninputs)) {
        return 0;
    }
    if (kwnames == NULL) {
        return 1;
    }
    if (CWJ_UNLIKELY(PyTuple_GET_SIZE(kwnames) != 1 ||
                     PyTuple_GET_ITEM(kwnames, 0) != runtime->names[ninputs])) {
        return 0;
    }
    *out = args[ninputs] == Py_None ? NULL : args[ninputs];
    return 1;
}

static inline int
bind_arguments(cwj_frame *frame, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (CWJ_LIKELY(bind_simply(frame->runtime, args, nargsf, kwnames, &frame->out))) {
        frame->inputs = args;
        return 0;
    }
    return bind_slots(frame, args, PyVectorcall_NARGS(nargsf), kwnames);
}
