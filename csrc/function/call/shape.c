/* shape.c: finds the named dims and the broadcast dims of a call.
 *
 * The core dims are the last ones of each operand and must match its prototype; a dim that an array lacks counts as 1.
 * The other dims broadcast as in NumPy. Two shapes result:
 *
 *     result  what the inputs broadcast to; no given output may be smaller
 *     extra   what the loop runs over: result, or more if a given output is larger, which is then filled with copies */

static npy_intp
core_dim(const cwj_state *state, int ncore, int axis)
{
    int at = state->ndim - ncore + axis;
    return at >= 0 ? state->dims[at] : 1;
}

static int
refuse_core(const cwj_frame *frame, int k, int axis, npy_intp got)
{
    const cwj_operand_decl *operand = &frame->decl->operands[k];
    npy_intp want = operand->core[axis];
    Py_ssize_t from_end = axis - operand->ncore;
    if (want >= 0) {
        return raise_shape(frame, k, "axis %zd must have length %zd, got %zd", from_end,
                           (Py_ssize_t)want, (Py_ssize_t)got);
    }
    int by = frame->named_by[-1 - want];
    if (by < 0) {
        return refuse_given_dim(frame, k, from_end, -1 - want, got);
    }
    return raise_shape(frame, k, "dimension '%s' (axis %zd) must be %zd, as in %s'%s', got %zd",
                       frame->decl->named[-1 - want], from_end, (Py_ssize_t)frame->named[-1 - want],
                       by == k ? "another axis of " : "", name_of(frame, by), (Py_ssize_t)got);
}

/* Matches the core dims of operand k. The first operand that has a named dim sets it. */
static int
match_core(cwj_frame *frame, int k)
{
    const cwj_operand_decl *operand = &frame->decl->operands[k];
    for (int axis = 0; axis < operand->ncore; axis++) {
        npy_intp got = core_dim(&frame->states[k], operand->ncore, axis);
        npy_intp want = operand->core[axis];
        if (want < 0) {
            npy_intp *named = &frame->named[-1 - want];
            if (*named < 0) {
                *named = got;
                frame->named_by[-1 - want] = k;
            }
            want = *named;
        }
        if (got != want) {
            return refuse_core(frame, k, axis, got);
        }
    }
    return 0;
}

/* Counts broadcast dims: frame->nextra is the largest number of all operands. Prepares both shapes. */
static int
count_extra(cwj_frame *frame)
{
    frame->nextra = 0;
    for (int k = 0; k < frame->noperands; k++) {
        if (k >= frame->decl->ninputs && !is_given(frame, k)) {
            continue;
        }
        cwj_state *state = &frame->states[k];
        state->nextra = state->ndim - frame->decl->operands[k].ncore;
        if (state->nextra > frame->nextra) {
            frame->nextra = state->nextra;
        }
    }
    frame->extra = frame_alloc(frame, 2 * (size_t)frame->nextra, sizeof(npy_intp));
    if (frame->extra == NULL) {
        return -1;
    }
    frame->result = frame->extra + frame->nextra;
    for (int i = 0; i < 2 * frame->nextra; i++) {
        frame->extra[i] = 1;
    }
    return 0;
}

/* Returns operand k's axis for a broadcast axis, counted from the end like in NumPy. */
static int
axis_of(const cwj_frame *frame, int k, int axis)
{
    int ncore = view_of(frame, k) != NULL ? 0 : frame->decl->operands[k].ncore;
    return axis - frame->nextra - ncore;
}

/* Returns the first operand before k whose length along a broadcast axis is not 1, for messages. */
static int
who_set_axis(const cwj_frame *frame, int k, int axis)
{
    for (int j = 0; j < k; j++) {
        if (dim_of(frame, j, axis) != 1) {
            return j;
        }
    }
    return 0;
}

/* Broadcasts operand k's leading dims into shape. */
static int
broadcast_extra(cwj_frame *frame, int k, npy_intp *shape)
{
    const cwj_state *state = &frame->states[k];
    for (int i = 0; i < state->nextra; i++) {
        int axis = frame->nextra - state->nextra + i;
        npy_intp dim = state->dims[i];
        if (shape[axis] == 1) {
            shape[axis] = dim;
        } else if (dim != 1 && dim != shape[axis]) {
            return raise_shape(frame, k, "axis %d must be %zd or 1 to broadcast with '%s', got %zd",
                               axis_of(frame, k, axis), (Py_ssize_t)shape[axis],
                               name_of(frame, who_set_axis(frame, k, axis)), (Py_ssize_t)dim);
        }
    }
    return 0;
}

/* Checks that operand k, which is written to, has room for every slice. exactly: its dims must equal `wanted`;
 * otherwise they may be longer where that is 1. */
static int
check_room(const cwj_frame *frame, int k, const npy_intp *wanted, int exactly)
{
    for (int axis = 0; axis < frame->nextra; axis++) {
        npy_intp dim = dim_of(frame, k, axis);
        if (dim != wanted[axis] && (exactly || wanted[axis] != 1 || dim == 0)) {
            return raise_shape(frame, k, "axis %d must be %zd to hold the result, got %zd",
                               axis_of(frame, k, axis), (Py_ssize_t)wanted[axis], (Py_ssize_t)dim);
        }
    }
    return 0;
}

/* Checks that an operand that all slices share has only the dims of its prototype. */
static int
check_shared(const cwj_frame *frame, int k)
{
    const cwj_operand_decl *operand = &frame->decl->operands[k];
    if (operand->role == CWJ_SHARED && frame->states[k].nextra > 0) {
        return raise_shape(frame, k, "wanted %d dims, as all slices share it, got %d",
                           operand->ncore, frame->states[k].ndim);
    }
    return 0;
}

static int
resolve_inputs(cwj_frame *frame)
{
    for (int k = 0; k < frame->decl->ninputs; k++) {
        if (match_core(frame, k) < 0 || check_shared(frame, k) < 0 ||
            broadcast_extra(frame, k, frame->result) < 0) {
            return -1;
        }
    }
    memcpy(frame->extra, frame->result, (size_t)frame->nextra * sizeof(npy_intp));
    return 0;
}

static int
resolve_given_outputs(cwj_frame *frame)
{
    for (int k = frame->decl->ninputs; k < frame->noperands; k++) {
        if (!is_given(frame, k)) {
            continue;
        }
        if (match_core(frame, k) < 0 || check_room(frame, k, frame->result, 0) < 0 ||
            broadcast_extra(frame, k, frame->extra) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Checks that no argument updated in place is stretched or updated twice. */
static int
resolve_inouts(const cwj_frame *frame)
{
    for (int k = 0; k < frame->decl->ninputs; k++) {
        if (frame->decl->operands[k].role == CWJ_INOUT &&
            check_room(frame, k, frame->extra, 1) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Checks that all named dims are known. Dims that only outputs name come from out=. */
static int
check_named_known(const cwj_frame *frame)
{
    const cwj_function_decl *decl = frame->decl;
    for (int k = decl->ninputs; k < frame->noperands; k++) {
        for (int i = 0; i < decl->operands[k].ncore; i++) {
            npy_intp core = decl->operands[k].core[i];
            if (core < 0 && frame->named[-1 - core] < 0) {
                return raise_about(frame, k, PyExc_ValueError,
                                   ": no input sets dimension '%s', so out is required",
                                   decl->named[-1 - core]);
            }
        }
    }
    return 0;
}

/* Opens the windows, whose lengths other inputs may set. */
static int
resolve_windows(cwj_frame *frame)
{
    const cwj_window *windows = frame->decl->windows;
    if (windows == NULL) {
        return 0;
    }
    for (int k = 0; k < frame->decl->ninputs; k++) {
        if (windows[k].axes == NULL && match_core(frame, k) < 0) {
            return -1;
        }
    }
    return open_views(frame);
}

static int
resolve_shapes(cwj_frame *frame)
{
    for (int i = 0; i < frame->decl->nnamed; i++) {
        frame->named[i] = -1;
    }
    if (resolve_windows(frame) < 0 || count_extra(frame) < 0 || resolve_inputs(frame) < 0 ||
        resolve_output_dims(frame) < 0 || resolve_given_outputs(frame) < 0 ||
        resolve_inouts(frame) < 0) {
        return -1;
    }
    return check_named_known(frame);
}

/* ---- what snippets see ------------------------------------------------- */

/* Gives an operand with fewer dims than its prototype dims of length 1 in front. */
static int
pad_dims(cwj_frame *frame, cwj_state *state, int ncore)
{
    npy_intp *dims = frame_alloc(frame, 2 * (size_t)ncore, sizeof(npy_intp));
    if (dims == NULL) {
        return -1;
    }
    int missing = ncore - state->ndim;
    npy_intp bytes = state->itemsize;
    for (int i = ncore - 1; i >= 0; i--) {
        dims[i] = i < missing ? 1 : state->dims[i - missing];
        dims[ncore + i] = i < missing ? bytes : state->strides[i - missing];
        bytes *= dims[i];
    }
    state->dims = dims;
    state->strides = dims + ncore;
    state->ndim = ncore;
    state->nextra = 0;
    return 0;
}

static int
describe_operands(cwj_frame *frame)
{
    for (int k = 0; k < frame->noperands; k++) {
        cwj_state *state = &frame->states[k];
        int ncore = frame->decl->operands[k].ncore;
        if (state->ndim < ncore && pad_dims(frame, state, ncore) < 0) {
            return -1;
        }
        describe_operand(&frame->operands[k], state, ncore);
        const cwj_view *view = view_of(frame, k);
        if (view != NULL) {
            frame->operands[k].ndims_full = view->ndim;
            frame->operands[k].dims_full = view->dims;
            frame->operands[k].strides_full = view->strides;
        }
        if (wants_stage(frame, k) && stage_operand(frame, k) < 0) {
            return -1;
        }
    }
    return 0;
}
