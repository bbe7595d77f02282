/* overlap.c: keeps calls from writing to memory which other operands use.
 *
 * Only given outputs and arguments that are updated in place can overlap others. Bounds nearly always decide. If they
 * do not, NumPy's exact test does, with a limit on its work. An input that shares memory with an output is copied, as
 * in calls of ufuncs, unless cast="no" forbids copies. Other calls are refused. */

static inline cwj_extent
extent_of(const cwj_frame *frame, int k)
{
    const cwj_state *state = &frame->states[k];
    const cwj_view *view = view_of(frame, k);
    if (CWJ_UNLIKELY(view != NULL)) {
        return extent_of_memory(state->data, view->ndim, view->dims, view->strides,
                                state->itemsize);
    }
    return extent_of_memory(state->data, state->ndim, state->dims, state->strides, state->itemsize);
}

/* True if two operands are the same view. Axes of length 1 do not count. */
static int
same_view(const cwj_state *one, const cwj_state *other)
{
    int i = 0, j = 0;
    if (one->data != other->data || one->itemsize != other->itemsize) {
        return 0;
    }
    for (;; i++, j++) {
        while (i < one->ndim && one->dims[i] == 1) {
            i++;
        }
        while (j < other->ndim && other->dims[j] == 1) {
            j++;
        }
        if (i == one->ndim || j == other->ndim) {
            return i == one->ndim && j == other->ndim;
        }
        if (one->dims[i] != other->dims[j] || one->strides[i] != other->strides[j]) {
            return 0;
        }
    }
}

/* True if no broadcasting stretches operand k: each slice of the call has its own part of it. */
static int
fills_the_loop(const cwj_frame *frame, int k)
{
    for (int axis = 0; axis < frame->nextra; axis++) {
        if (dim_of(frame, k, axis) != frame->extra[axis]) {
            return 0;
        }
    }
    return 1;
}

/* Allows the one useful overlap: the same array as input and as output, so that each slice reads what it then
 * overwrites. With core dims, only the author of the snippet knows whether that works, and says so by inplace=True. */
static int
is_allowed_in_place(const cwj_frame *frame, int written, int other)
{
    const cwj_function_decl *decl = frame->decl;
    if (decl->operands[other].role != CWJ_IN || view_of(frame, other) != NULL ||
        !same_view(&frame->states[written], &frame->states[other]) ||
        !fills_the_loop(frame, other)) {
        return 0;
    }
    return (decl->flags & CWJ_INPLACE) != 0 ||
           (decl->operands[written].ncore == 0 && decl->operands[other].ncore == 0);
}

/* Refuses `written`, which shares memory with `other`. */
static int
refuse_shared(const cwj_frame *frame, int written, int other)
{
    const cwj_operand_decl *operands = frame->decl->operands;
    int is_pair = operands[written].role == CWJ_OUT && operands[other].role == CWJ_IN;
    int is_same = is_pair && view_of(frame, other) == NULL &&
                  same_view(&frame->states[written], &frame->states[other]);
    return raise_about(frame, written, PyExc_ValueError,
                       " shares memory with %s '%s'; wanted separate arrays%s%s",
                       kind_of(frame, other), name_of(frame, other),
                       is_pair ? " (cast=\"safe\" copies the argument" : "",
                       is_same   ? ", inplace=True allows the exact same view)"
                       : is_pair ? ")"
                                 : "");
}

/* Replaces the array of input k by a copy. Returns 0, or -1 with an exception set. */
static int
copy_input(cwj_frame *frame, int k)
{
    cwj_state *state = &frame->states[k];
    if (note_copy(frame, k) < 0) {
        return -1;
    }
    PyArray_Descr *descr = PyArray_DESCR(state->array);
    Py_INCREF(descr); /* stolen */
    int order = frame->decl->operands[k].ncore > 0 ? NPY_ARRAY_C_CONTIGUOUS : 0;
    PyObject *copy = PyArray_FromArray(state->array, descr,
                                       NPY_ARRAY_ENSURECOPY | NPY_ARRAY_ENSUREARRAY | order);
    if (copy == NULL) {
        return name_operand(frame, k);
    }
    while (frame->owned_from > k) { /* plain.c fills no `owned` */
        frame->states[--frame->owned_from].owned = NULL;
    }
    Py_XSETREF(state->owned, copy);
    adopt_array(state, (PyArrayObject *)copy);
    if (state->nextra >= 0) { /* others are described later */
        describe_operand(&frame->operands[k], state, frame->decl->operands[k].ncore);
    }
    return 0;
}

/* Deals with `written` and `other`, whose bounds overlap. Returns 0, or -1 with an exception set. */
static CWJ_COLD int
settle_overlap(cwj_frame *frame, int written, int other)
{
    const cwj_operand_decl *operands = frame->decl->operands;
    if (is_allowed_in_place(frame, written, other)) {
        return 0;
    }
    int shared = shares_exactly(frame->states[written].array, frame->states[other].array);
    if (shared <= 0) {
        return shared;
    }
    return operands[written].role == CWJ_OUT && operands[other].role == CWJ_IN &&
                   casting_of(frame->decl) != NPY_NO_CASTING
               ? copy_input(frame, other)
               : refuse_shared(frame, written, other);
}

static inline int
check_pair(cwj_frame *frame, int written, cwj_extent extent, int other)
{
    const cwj_state *state = &frame->states[other];
    if (state->array == NULL) {
        return 0;
    }
    cwj_extent against = extent_of(frame, other);
    if (CWJ_LIKELY(extent.high <= against.low || against.high <= extent.low ||
                   against.low == against.high)) {
        return 0;
    }
    return settle_overlap(frame, written, other);
}

/* Checks that operand k's elements are separate, and that it shares no memory with inputs that are only read or with
 * written operands of higher index. */
static inline int
check_written(cwj_frame *frame, int k)
{
    const cwj_state *state = &frame->states[k];
    const cwj_operand_decl *operands = frame->decl->operands;
    int noperands = frame->noperands;
    cwj_extent extent = extent_of(frame, k);
    if (extent.low == extent.high) {
        return 0;
    }
    int apart = PyArray_IS_C_CONTIGUOUS(state->array)
                    ? 1
                    : elements_are_apart(state->data, state->ndim, state->dims, state->strides,
                                         state->itemsize);
    if (apart != 1) {
        return apart < 0
                   ? -1
                   : raise_about(
                         frame, k, PyExc_ValueError,
                         " may hold several elements in the same memory (its strides are zero "
                         "or overlap); wanted an array with memory for each element");
    }
    for (int other = 0; other < noperands; other++) {
        if ((operands[other].role == CWJ_IN || other > k) &&
            check_pair(frame, k, extent, other) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
check_inouts(cwj_frame *frame)
{
    for (int k = 0; k < frame->decl->ninputs; k++) {
        if (frame->decl->operands[k].role != CWJ_IN && check_written(frame, k) < 0) {
            return -1;
        }
    }
    return 0;
}

static inline int
check_overlap(cwj_frame *frame)
{
    if (frame->runtime->has_inout && check_inouts(frame) < 0) {
        return -1;
    }
    if (frame->given.outputs == NULL) {
        return 0;
    }
    for (int k = frame->decl->ninputs; k < frame->noperands; k++) {
        if (is_given(frame, k) && check_written(frame, k) < 0) {
            return -1;
        }
    }
    return 0;
}
