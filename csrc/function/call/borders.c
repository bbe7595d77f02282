/* borders.c: runs the slices of a call with windows, in boxes.
 *
 * Slices whose windows all lie inside their arrays run on the arrays themselves, like those of any
 * other call. The other slices are peeled off in boxes, two along each axis. The same loop runs
 * them on copies of what their windows see (gather.c). The cost of a slice is measured only in the
 * inner box, unless there is none. */

enum {
    CWJ_GATHER_BYTES = 1 << 18 /* of one box, if it can be cut: stays in the cache */
};

/* ---- which slices have windows inside ---------------------------------- */

/* Returns the axis of window k's array that belongs to a broadcast axis, or a negative number if there is none. */
static int
own_axis(const cwj_frame *frame, int k, int axis)
{
    return axis - frame->nextra + frame->states[k].nextra;
}

/* Narrows from..to, along a broadcast axis, to the slices whose window of operand k lies inside the array. */
static void
keep_inside(const cwj_frame *frame, int k, int axis, npy_intp *from, npy_intp *to)
{
    const cwj_view *view = view_of(frame, k);
    int own = own_axis(frame, k, axis);
    if (view == NULL || own < 0 || view->moves[own] < 0) {
        return;
    }
    int i = view->moves[own];
    const npy_intp *dims = frame->states[k].dims;
    npy_intp length = dims[view->ndim + i], step = view->window->steps[i];
    npy_intp half = length / 2, room = view->dims[own] - length + half;
    npy_intp first = half / step + (half % step != 0);
    npy_intp end = room < 0 ? 0 : room / step + 1;
    if (dims[own] == 1) { /* one window, for all slices along the axis */
        *to = first == 0 && end > 0 ? *to : *from;
        return;
    }
    *from = first > *from ? first : *from;
    *to = end < *to ? end : *to;
}

/* Returns the number of slices in a box that has no dim of 0; NPY_MAX_INTP if there are more. */
static npy_intp
count_slices(const npy_intp *dims, int ndims)
{
    npy_intp count = 1;
    for (int i = 0; i < ndims; i++) {
        CWJ_SHORT_LOOP();
        if (CWJ_UNLIKELY(__builtin_mul_overflow(count, dims[i], &count))) {
            return NPY_MAX_INTP;
        }
    }
    return count;
}

/* ---- running boxes ----------------------------------------------------------- */

/* Returns the first slice of a box, in operand k's own memory. */
static char *
first_of_box(const cwj_frame *frame, int k, const cwj_box *box)
{
    char *data = box->data[k];
    for (int axis = 0; axis < frame->nextra; axis++) {
        data += box->from[axis] * step_of(frame, k, axis);
    }
    return data;
}

/* Returns the offset of a window's first element from its centre, in bytes. */
static npy_intp
first_of_window(const cwj_frame *frame, int k)
{
    const cwj_view *view = view_of(frame, k);
    const cwj_state *state = &frame->states[k];
    npy_intp offset = 0;
    for (int i = view->ndim; i < state->ndim; i++) {
        offset -= state->dims[i] / 2 * view->direct[i];
    }
    return offset;
}

static void
use_strides(cwj_frame *frame, int k, npy_intp *strides)
{
    frame->states[k].strides = strides;
    frame->operands[k].strides_slice = strides + frame->views[k].ndim;
}

/* Runs the slices of a box, on gathered windows or on the arrays themselves. Returns 0, or -1 with an exception set. */
static int
run_box(cwj_frame *frame, const cwj_box *box, int gathered)
{
    int status = 0;
    npy_intp *whole = frame->extra;
    size_t used = frame->used;
    cwj_block *blocks = frame->blocks;
    for (int k = 0; k < frame->noperands && status == 0; k++) {
        cwj_state *state = &frame->states[k];
        if (view_of(frame, k) == NULL) {
            state->data = first_of_box(frame, k, box);
        } else if (gathered) {
            state->data = gather_operand(frame, k, box, box->data[k]);
            status = state->data != NULL ? 0 : -1;
            use_strides(frame, k, frame->views[k].gathered);
        } else {
            state->data = first_of_box(frame, k, box) + first_of_window(frame, k);
        }
    }
    if (status == 0) {
        frame->extra = box->dims;
        status = run_slices(frame);
        frame->progress.before += count_slices(box->dims, frame->nextra);
        frame->extra = whole;
    }
    frame_rewind(frame, used, blocks);
    for (int k = 0; k < frame->noperands; k++) {
        frame->states[k].data = box->data[k];
        if (view_of(frame, k) != NULL) {
            use_strides(frame, k, frame->views[k].direct);
        }
    }
    return status;
}

/* True if the two halves of a box along an axis gather hardly more than the whole box. */
static int
is_worth_cutting(const cwj_frame *frame, const cwj_box *box, int axis)
{
    for (int k = 0; k < frame->decl->ninputs; k++) {
        const cwj_view *view = view_of(frame, k);
        const npy_intp *dims = frame->states[k].dims;
        if (view == NULL) {
            continue;
        }
        int own = own_axis(frame, k, axis), i = own < 0 ? -1 : view->moves[own];
        if (own < 0 || dims[own] == 1 ||
            (i >= 0 && box->dims[axis] < 4 * dims[view->ndim + i] / view->window->steps[i])) {
            return 0;
        }
    }
    return box->dims[axis] > 1;
}

/* Returns the axis along which to cut a box, or -1 if the box is small enough or cannot be cut. */
static int
axis_to_cut(const cwj_frame *frame, const cwj_box *box)
{
    double bytes = 0;
    int best = -1;
    for (int k = 0; k < frame->decl->ninputs; k++) {
        bytes += view_of(frame, k) != NULL ? bytes_to_gather(frame, k, box) : 0;
    }
    for (int axis = 0; axis < frame->nextra && bytes > CWJ_GATHER_BYTES; axis++) {
        if (is_worth_cutting(frame, box, axis) && (best < 0 || box->dims[axis] > box->dims[best])) {
            best = axis;
        }
    }
    return best;
}

/* Gathers and runs a box, in pieces if it is large. Restores the box. */
static int
run_gathered(cwj_frame *frame, const cwj_box *box)
{
    int axis = axis_to_cut(frame, box);
    if (axis < 0) {
        return run_box(frame, box, 1) < 0 ? -1 : PyErr_CheckSignals();
    }
    npy_intp from = box->from[axis], dim = box->dims[axis];
    box->dims[axis] = dim / 2;
    int status = run_gathered(frame, box);
    status = status < 0 ? status : tell_progress(frame, 0);
    box->from[axis] = from + dim / 2;
    box->dims[axis] = dim - dim / 2;
    status = status < 0 ? status : run_gathered(frame, box);
    box->from[axis] = from;
    box->dims[axis] = dim;
    return status;
}

/* Runs the part from..to of a box along an axis. Restores the box. */
static int
run_part(cwj_frame *frame, const cwj_box *box, int axis, npy_intp from, npy_intp to)
{
    npy_intp from_before = box->from[axis], dim_before = box->dims[axis];
    if (from >= to) {
        return 0;
    }
    box->from[axis] = from;
    box->dims[axis] = to - from;
    int status = run_gathered(frame, box);
    box->from[axis] = from_before;
    box->dims[axis] = dim_before;
    return status;
}

/* Peels off the borders, axis by axis, and then runs the rest. */
static int
run_boxes(cwj_frame *frame, const cwj_box *box)
{
    for (int axis = 0; axis < frame->nextra; axis++) {
        npy_intp from = 0, whole = frame->extra[axis], to = whole;
        for (int k = 0; k < frame->decl->ninputs; k++) {
            keep_inside(frame, k, axis, &from, &to);
        }
        if (from >= to) { /* no window lies inside */
            frame->at_border = 0;
            return run_gathered(frame, box);
        }
        frame->at_border = 1;
        if (run_part(frame, box, axis, 0, from) < 0 || run_part(frame, box, axis, to, whole) < 0) {
            return -1;
        }
        box->from[axis] = from;
        box->dims[axis] = to - from;
    }
    frame->at_border = 0;
    return run_box(frame, box, 0);
}

/* Like run_slices(), for a call with windows. */
static int
run_windows(cwj_frame *frame)
{
    size_t nextra = (size_t)frame->nextra, noperands = (size_t)frame->noperands;
    cwj_box box = {.from = frame_alloc_zeroed(frame, 2 * nextra, sizeof(npy_intp)),
                   .data = frame_alloc(frame, noperands, sizeof(char *))};
    if (box.from == NULL || box.data == NULL) {
        return -1;
    }
    box.dims = box.from + nextra;
    memcpy(box.dims, frame->extra, nextra * sizeof(npy_intp));
    for (size_t k = 0; k < noperands; k++) {
        box.data[k] = frame->states[k].data;
    }
    if (!has_slices(frame)) {
        return 0;
    }
    open_progress(frame, count_slices(box.dims, frame->nextra));
    int status = run_boxes(frame, &box);
    if (frame->progress.shown != NULL) {
        close_progress(frame, status == 0);
        status = raised() ? -1 : status;
    }
    return status;
}
