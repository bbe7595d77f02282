/* bind.c: binds positional and keyword arguments to slots, by Python's rules. Slots have the order of the names:
 * inputs, out, extras. Inputs may be positional, and outputs after them, as in calls of ufuncs. */

static void
refuse_arguments(const void *frame, PyObject *text)
{
    raise_in_call(frame, PyExc_TypeError, "%U", text);
}

/* Finds the outputs in *out, the value of out=: an array, or a tuple. Returns 0 if it is neither. */
static inline int
find_outputs(const cwj_function_decl *decl, PyObject *const *out, cwj_given *given)
{
    int single = (decl->flags & CWJ_ONE_OUTPUT) != 0;
    if (*out == Py_None) {
        return 1;
    }
    if (PyTuple_Check(*out)) {
        given->outputs = &PyTuple_GET_ITEM(*out, 0);
        given->whole = single ? NULL : *out;
        return decl->noutputs > 0 && PyTuple_GET_SIZE(*out) == decl->noutputs;
    }
    given->outputs = out;
    return single;
}

/* Takes out=, which may also be a list of several outputs. Its items are held, because the list may lose them. */
static CWJ_APART int
bind_out(cwj_frame *frame, PyObject *const *out)
{
    const cwj_function_decl *decl = frame->decl;
    if (decl->noutputs == 0) {
        return raise_in_call(frame, PyExc_TypeError, "has no outputs, and takes no out");
    }
    PyObject *list = PyList_Check(*out) && !(decl->flags & CWJ_ONE_OUTPUT) ? *out : NULL;
    if (list != NULL && (frame->held = PyList_AsTuple(list)) == NULL) {
        return -1;
    }
    if (find_outputs(decl, list != NULL ? &frame->held : out, &frame->given)) {
        frame->given.whole = list != NULL ? list : frame->given.whole;
        return 0;
    }
    if (PyTuple_Check(*out) || list != NULL) {
        return raise_in_call(frame, PyExc_ValueError,
                             "out: wanted %d array%s, one for each output, got %zd", decl->noutputs,
                             decl->noutputs == 1 ? "" : "s", PyObject_Size(*out));
    }
    return raise_in_call(frame, PyExc_TypeError,
                         "out: wanted a tuple or list of %d arrays, one for each output, got %s",
                         decl->noutputs, Py_TYPE(*out)->tp_name);
}

/* Takes `count` positional outputs; the call makes the others. */
static CWJ_APART int
bind_outputs(cwj_frame *frame, PyObject *const *args, Py_ssize_t count)
{
    int noutputs = frame->decl->noutputs;
    PyObject **outputs = frame_alloc(frame, (size_t)noutputs, sizeof(PyObject *));
    if (outputs == NULL) {
        return -1;
    }
    for (int i = 0; i < noutputs; i++) {
        outputs[i] = i < count ? args[i] : Py_None;
    }
    frame->given.outputs = outputs;
    return 0;
}

/* Returns the parameters of a call. */
static inline cwj_signature_names
names_of(const cwj_frame *frame)
{
    const cwj_runtime *runtime = frame->runtime;
    return (cwj_signature_names){
        runtime->names,       sizeof(PyObject *), runtime->nnames, 0,
        frame->decl->ninputs, refuse_arguments,   frame,           frame->decl->noutputs};
}

/* Called with an exception set, after cwj_bind() has failed. If an argument has a keyword of ufuncs, leaves the call to
 * runtime->foreign, which asks f.ufunc; without that, says who takes it. Returns -1. */
static CWJ_COLD int
leave_to_ufunc(cwj_frame *frame, PyObject *kwnames)
{
    cwj_signature_names names =
        names_of(frame); /* its own, so that bind_slots() keeps it in registers */
    static const char *const words[] = {"where", "dtype",     "axis",  "axes",   "keepdims",
                                        "order", "signature", "subok", "casting"};
    const char *found = NULL;
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        for (size_t j = 0; j < sizeof(words) / sizeof(*words); j++) {
            if (PyUnicode_CompareWithASCIIString(name, words[j]) == 0 &&
                cwj_find_name(&names, name) == -1) {
                found = words[j];
            }
        }
    }
    if (found == NULL || !PyErr_ExceptionMatches(PyExc_TypeError)) {
        return -1;
    }
    PyErr_Clear(); /* cwj_bind() raised it because of `found` or another argument of this call */
    if (frame->runtime->foreign != NULL) {
        frame->is_foreign = 1;
        return -1;
    }
    return raise_in_call(
        frame, PyExc_TypeError,
        "got an unexpected keyword argument '%s'; .ufunc, where there is one, takes it", found);
}

/* Binds any legal mixture of positional and keyword arguments. Returns 0, or -1 with an exception set. */
static int
bind_slots(cwj_frame *frame, PyObject *const *args, Py_ssize_t npositional, PyObject *kwnames)
{
    const cwj_runtime *runtime = frame->runtime;
    int ninputs = frame->decl->ninputs;
    cwj_signature_names names = names_of(frame);
    frame->held = NULL;
    frame->slots = frame_alloc_zeroed(frame, (size_t)runtime->nnames, sizeof(PyObject *));
    if (frame->slots == NULL) {
        return -1;
    }
    if (cwj_bind(&names, args, npositional, kwnames, frame->slots) < 0) {
        return leave_to_ufunc(frame, kwnames);
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
    if (npositional > ninputs) {
        return bind_outputs(frame, args + ninputs, npositional - ninputs);
    }
    PyObject *const *out = &frame->slots[ninputs];
    return *out == NULL || *out == Py_None ? 0 : bind_out(frame, out);
}

/* Binds the usual call without copying: all arguments are positional, or only `out` has a keyword. Returns 0 for other
 * calls. */
static inline int
bind_simply(const cwj_runtime *runtime, PyObject *const *args, size_t nargsf, PyObject *kwnames,
            cwj_given *given)
{
    const cwj_function_decl *decl = runtime->decl;
    int ninputs = decl->ninputs;
    Py_ssize_t npositional = PyVectorcall_NARGS(nargsf);
    given->outputs = NULL;
    given->whole = NULL;
    if (CWJ_LIKELY(npositional == ninputs)) {
        return kwnames == NULL || (PyTuple_GET_SIZE(kwnames) == 1 &&
                                   PyTuple_GET_ITEM(kwnames, 0) == runtime->names[ninputs] &&
                                   find_outputs(decl, &args[ninputs], given));
    }
    given->outputs = args + ninputs;
    return kwnames == NULL && npositional == ninputs + decl->noutputs;
}

static inline int
bind_arguments(cwj_frame *frame, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (CWJ_LIKELY(bind_simply(frame->runtime, args, nargsf, kwnames, &frame->given))) {
        frame->inputs = args;
        return 0;
    }
    frame->given = (cwj_given){NULL, NULL};
    return bind_slots(frame, args, PyVectorcall_NARGS(nargsf), kwnames);
}
