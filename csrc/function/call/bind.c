/* bind.c: binds positional and keyword arguments to slots, by Python's rules. Slots have the order of the names:
 * inputs, out, extras. Only inputs may be positional. */

static void
refuse_arguments(const void *frame, PyObject *text)
{
    raise_in_call(frame, PyExc_TypeError, "%U", text);
}

/* Binds any legal mixture of positional and keyword arguments. Returns 0, or -1 with an exception set. */
static int
bind_slots(cwj_frame *frame, PyObject *const *args, Py_ssize_t npositional, PyObject *kwnames)
{
    const cwj_runtime *runtime = frame->runtime;
    int ninputs = frame->decl->ninputs;
    cwj_signature_names names = {
        runtime->names, sizeof(PyObject *), runtime->nnames, 0, ninputs, refuse_arguments, frame};
    frame->slots = frame_alloc_zeroed(frame, (size_t)runtime->nnames, sizeof(PyObject *));
    if (frame->slots == NULL || cwj_bind(&names, args, npositional, kwnames, frame->slots) < 0) {
        return -1;
    }
    frame->inputs = frame->slots;
    for (int i = 0; i < ninputs; i++) {
        if (frame->slots[i] == NULL && frame->decl->operands[i].role == CWJ_INOUT) {
            return raise_in_call(frame, PyExc_TypeError,
                                 "missing required argument '%S' (position %d), which is updated "
                                 "in place: in a C text, OUT in front of it makes it a result",
                                 runtime->names[i], i + 1);
        }
        if (frame->slots[i] == NULL) {
            return cwj_refuse_missing(&names, i, runtime->names[i]);
        }
    }
    if (frame->slots[ninputs] != Py_None) {
        frame->out = frame->slots[ninputs];
    }
    return 0;
}

/* Binds the usual call without copying: inputs are positional, only `out` has a keyword. Returns 0 for other calls. */
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
