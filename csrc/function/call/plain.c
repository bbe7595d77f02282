/* plain.c: takes the usual call in one pass over its operands.
 *
 * In the usual call, arrays are aligned and have the dtypes of a type set, some inputs may be
 * numbers, and shapes need no stretching: each operand has the same broadcast dims as all others
 * or, if it is an input, none. For such a call this pass finds out what convert.c, outputs.c,
 * match.c and shape.c would, with the same outcome. If it cannot, or finds an error, it leaves the
 * shapes or everything to those steps. No Python code runs here, so they see the same arguments.
 *
 * dtypes are compared by identity: NumPy has one object for each numeric type in native byte order.
 *
 * This pass serves calls that quick.c does not make. Functions with validate, a cookie or extra
 * arguments take 145 ns with it and 190 ns without; with eight operands, 260 and 355 ns. */

typedef enum cwj_taken {
    CWJ_TAKEN_ERROR = -1, /* MemoryError */
    CWJ_TAKEN_NOT,        /* nothing is known, or this type set does not fit */
    CWJ_TAKEN_BY_STEPS,   /* this type set may fit: the steps must decide */
    CWJ_TAKEN_TYPES,      /* known: states of inputs and given outputs, and the type set */
    CWJ_TAKEN_ALL         /* known: also the shapes and operands, for snippets */
} cwj_taken;

/* Counts the outputs that the caller gives. Returns 0 if they are not all arrays, or none. */
static inline int
count_given(const cwj_function_decl *decl, const cwj_given *given, int *count)
{
    *count = given->outputs == NULL ? 0 : decl->noutputs;
    for (int i = 0; i < *count; i++) {
        CWJ_SHORT_LOOP();
        if (!PyArray_CheckExact(given->outputs[i])) {
            return 0;
        }
    }
    return 1;
}

/* Makes the set that matched the first one to try. Does so only if all inputs are arrays and no earlier set has the
 * same input types: such arrays then fit no earlier set. */
static void
guess_again(const cwj_frame *frame, int index)
{
    size_t ninputs = (size_t)frame->decl->ninputs, noperands = (size_t)frame->noperands;
    PyArray_Descr *const *descrs = frame->runtime->descrs;
    for (size_t k = 0; k < ninputs; k++) {
        if (!PyArray_CheckExact(frame->inputs[k])) {
            return;
        }
    }
    for (size_t t = 0; t < (size_t)index; t++) {
        if (memcmp(descrs + t * noperands, descrs + (size_t)index * noperands,
                   ninputs * sizeof(*descrs)) == 0) {
            return;
        }
    }
    frame->runtime->guess = index;
}

/* ---- operands ---------------------------------------------------------- */

/* Kept outside the frame, whose members would be read again after each store to its memory. */
typedef struct cwj_pass {
    npy_intp *named;
    npy_intp *extra;
    int nextra;
} cwj_pass;

/* Checks an operand's core dims against its prototype and the operands before it. */
static inline int
plain_core_fits(cwj_pass *pass, const cwj_operand_decl *operand, const npy_intp *dims)
{
    const npy_intp *core = operand->core;
    for (int axis = 0; axis < operand->ncore; axis++) {
        npy_intp want = core[axis], got = dims[axis];
        if (want < 0) {
            npy_intp *named = &pass->named[-1 - want];
            if (*named < 0) {
                *named = got;
                continue;
            }
            want = *named;
        }
        if (got != want) {
            return 0;
        }
    }
    return 1;
}

/* Checks an operand's broadcast dims: those of the others, or none. The first input that has some sets them. */
static inline int
plain_extra_fits(cwj_pass *pass, npy_intp *dims, int nextra, int role)
{
    if (nextra == pass->nextra) {
        for (int i = 0; i < nextra; i++) {
            if (dims[i] != pass->extra[i]) {
                return 0;
            }
        }
        return 1;
    }
    if (pass->nextra == 0 && nextra > 0 && role != CWJ_OUT) {
        pass->nextra = nextra;
        pass->extra = dims;
        return 1;
    }
    return nextra == 0 && (role == CWJ_IN || role == CWJ_SHARED);
}

static inline cwj_taken
take_plain_array(cwj_frame *frame, cwj_state *state, const cwj_operand_decl *operand,
                 const PyArray_Descr *descr, PyArrayObject *array)
{
    int flags =
        operand->role == CWJ_IN ? NPY_ARRAY_ALIGNED : NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
    flags |= operand->packed ? NPY_ARRAY_C_CONTIGUOUS : 0;
    if (CWJ_UNLIKELY(PyArray_DESCR(array) != descr || (PyArray_FLAGS(array) & flags) != flags)) {
        return CWJ_TAKEN_NOT;
    }
    if (CWJ_UNLIKELY(copy_axes(frame, state, array) < 0)) {
        return CWJ_TAKEN_ERROR;
    }
    state->array = array;
    state->nextra = state->ndim - operand->ncore;
    state->data = PyArray_BYTES(array);
    return CWJ_TAKEN_TYPES;
}

static cwj_taken
take_plain_number(cwj_state *state, const cwj_operand_decl *operand, const cwj_type *type,
                  const PyArray_Descr *descr, PyObject *number)
{
    if (operand->role != CWJ_IN) {
        return CWJ_TAKEN_NOT;
    }
    memset(state, 0, offsetof(cwj_state, scalar));
    state->weak = number;
    state->nextra = -operand->ncore;
    state->data = state->scalar;
    if (store_number(state->scalar, number, type, descr)) {
        return CWJ_TAKEN_TYPES;
    }
    int fits = cwj_is_exactly_python_number(number) ? weak_fits(state, type)
                                                    : Py_TYPE(number) == descr->typeobj;
    return fits ? CWJ_TAKEN_BY_STEPS : CWJ_TAKEN_NOT;
}

/* An argument updated in place must have all broadcast dims, or none if slices share it. */
static int
plain_inouts_fit(const cwj_frame *frame)
{
    for (int k = 0; k < frame->decl->ninputs; k++) {
        int role = frame->decl->operands[k].role;
        if (role != CWJ_IN && frame->states[k].nextra != (role == CWJ_INOUT ? frame->nextra : 0)) {
            return 0;
        }
    }
    return 1;
}

/* True if the shape of an operand is plain, too. Then also describes the operand for snippets. */
static inline int
plain_shape_fits(cwj_pass *pass, cwj_operand *seen, const cwj_state *state,
                 const cwj_operand_decl *operand)
{
    if (CWJ_UNLIKELY(state->nextra < 0 ||
                     !plain_core_fits(pass, operand, state->dims + state->nextra) ||
                     !plain_extra_fits(pass, state->dims, state->nextra, operand->role))) {
        return 0;
    }
    describe_operand(seen, state, operand->ncore);
    return 1;
}

/* Takes all operands with type set number `index`, if that fits. */
static inline cwj_taken
take_plain_operands(cwj_frame *frame, int index, int is_guess, PyObject *const *given, int ngiven)
{
    const cwj_operand_decl *operands = frame->decl->operands;
    const cwj_type *types = frame->decl->typesets[index].types;
    PyArray_Descr *const *descrs = descrs_of(frame->runtime, index);
    PyObject *const *inputs = frame->inputs;
    int ninputs = frame->decl->ninputs;
    cwj_pass pass = {frame->named, NULL, 0};
    int fits = 1, nstrong = 0;
    for (int i = 0; i < frame->decl->nnamed; i++) {
        CWJ_SHORT_LOOP();
        frame->named[i] = -1;
    }
    for (int k = 0; k < ninputs + ngiven; k++) {
        PyObject *object = k < ninputs ? inputs[k] : given[k - ninputs];
        cwj_state *state = &frame->states[k];
        cwj_taken taken;
        if (CWJ_LIKELY(PyArray_CheckExact(object))) {
            taken =
                take_plain_array(frame, state, &operands[k], descrs[k], (PyArrayObject *)object);
            nstrong++;
        } else if (is_guess && index > 0) {
            return CWJ_TAKEN_NOT; /* a number may fit an earlier set */
        } else {
            taken = take_plain_number(state, &operands[k], &types[k], descrs[k], object);
            nstrong += !cwj_is_exactly_python_number(object);
        }
        if (CWJ_UNLIKELY(taken != CWJ_TAKEN_TYPES)) {
            return taken;
        }
        state->itemsize = types[k].itemsize;
        fits = fits && plain_shape_fits(&pass, &frame->operands[k], state, &operands[k]);
    }
    if (CWJ_UNLIKELY(nstrong == 0)) {
        return CWJ_TAKEN_NOT;
    }
    frame->nextra = pass.nextra;
    frame->extra = pass.extra;
    if (frame->runtime->has_inout) {
        fits = fits && plain_inouts_fit(frame);
    }
    if (frame->decl->noutput_dims > 0) {
        fits = fits && output_dims_fit(frame->decl, frame->named);
    }
    return fits ? CWJ_TAKEN_ALL : CWJ_TAKEN_TYPES;
}

/* Takes all operands with the first type set that fits. */
static CWJ_APART cwj_taken
take_with_other_set(cwj_frame *frame, int *index, PyObject *const *given, int ngiven)
{
    cwj_taken taken = CWJ_TAKEN_NOT;
    size_t used = frame->used;
    for (int t = 0; t < frame->decl->ntypesets && taken == CWJ_TAKEN_NOT; t++) {
        frame->used = used;
        taken = take_plain_operands(frame, t, 0, given, ngiven);
        *index = t;
    }
    if (taken >= CWJ_TAKEN_TYPES) {
        guess_again(frame, *index);
    }
    return taken;
}

static inline cwj_taken
take_plain(cwj_frame *frame)
{
    const cwj_runtime *runtime = frame->runtime;
    const cwj_function_decl *decl = frame->decl;
    PyObject *const *given = frame->given.outputs;
    int ngiven;
    if (CWJ_UNLIKELY(!runtime->has_plain_types || decl->windows != NULL ||
                     !count_given(decl, &frame->given, &ngiven))) {
        return CWJ_TAKEN_NOT;
    }
    size_t used = frame->used;
    int index = runtime->guess;
    cwj_taken taken = take_plain_operands(frame, index, 1, given, ngiven);
    if (CWJ_UNLIKELY(taken == CWJ_TAKEN_NOT && decl->ntypesets > 1)) {
        frame->used = used;
        taken = take_with_other_set(frame, &index, given, ngiven);
    }
    if (CWJ_UNLIKELY(taken < CWJ_TAKEN_TYPES)) {
        frame->used = used;
        return taken == CWJ_TAKEN_ERROR ? taken : CWJ_TAKEN_NOT;
    }
    frame->typeset_index = index;
    frame->owned_from = frame->owned_to = decl->ninputs;
    return runtime->has_output_dims && ngiven == 0 ? CWJ_TAKEN_TYPES : taken;
}
