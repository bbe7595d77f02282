/* windows.c: describes inputs that are windows over an array.
 *
 * Such an input is described as the array of all windows: along each axis that a window moves over, its length is the
 * number of windows; the dims of one window follow after all axes. Its strides are in the array's own memory, where
 * neighbouring windows share elements, so shapes broadcast like those of any input. Windows that reach beyond the array
 * are gathered from it before they run (gather.c). */

/* Returns how many windows there are, one every `step` elements of n. */
static npy_intp
count_windows(npy_intp n, npy_intp step)
{
    return n > 0 ? (n - 1) / step + 1 : 0;
}

/* Returns the axis of its array that core dim i of window k moves over, or -1 with ValueError set. */
static int
moving_axis(const cwj_frame *frame, int k, int i)
{
    const cwj_view *view = &frame->views[k];
    int given = view->window->axes[i];
    int axis = given < 0 ? given + view->ndim : given;
    if (axis < 0 || axis >= view->ndim) {
        return raise_shape(frame, k, "its window moves over axis %d, which it does not have",
                           given);
    }
    if (view->moves[axis] >= 0) {
        return raise_shape(frame, k, "its window moves over axis %d twice", axis);
    }
    if (view->dims[axis] > NPY_MAX_INTP / 4) {
        return raise_shape(frame, k, "axis %d is too long for a window to move over", axis);
    }
    return axis;
}

/* Returns the length of core dim i of window k, or -1 with ValueError set. */
static npy_intp
window_length(const cwj_frame *frame, int k, int i)
{
    npy_intp core = frame->decl->operands[k].core[i];
    npy_intp length = core >= 0 ? core : frame->named[-1 - core];
    if (length < 1 || length > INT_MAX) {
        return raise_shape(frame, k, "its window must have a length from 1 to %d, got '%s' = %zd",
                           INT_MAX, core < 0 ? frame->decl->named[-1 - core] : "",
                           (Py_ssize_t)length);
    }
    return length;
}

static int
alloc_view(cwj_frame *frame, int k)
{
    const cwj_state *state = &frame->states[k];
    cwj_view *view = &frame->views[k];
    size_t ndim = (size_t)state->ndim;
    size_t all = ndim + (size_t)frame->decl->operands[k].ncore;
    view->ndim = state->ndim;
    view->dims = state->dims;
    view->strides = state->strides;
    view->moves = frame_alloc(frame, ndim, sizeof(int));
    view->direct = frame_alloc(frame, 3 * all, sizeof(npy_intp));
    if (view->moves == NULL || view->direct == NULL) {
        return -1;
    }
    view->gathered = view->direct + all;
    view->window = &frame->decl->windows[k];
    for (size_t axis = 0; axis < ndim; axis++) {
        view->moves[axis] = -1;
    }
    return 0;
}

/* Replaces the state of operand k by that of its windows. Returns 0, or -1 with an exception set. */
static int
open_view(cwj_frame *frame, int k)
{
    cwj_state *state = &frame->states[k];
    int ncore = frame->decl->operands[k].ncore;
    if (alloc_view(frame, k) < 0) {
        return -1;
    }
    cwj_view *view = &frame->views[k];
    int ndim = view->ndim;
    npy_intp *dims = view->gathered + ndim + ncore;
    for (int axis = 0; axis < ndim; axis++) {
        dims[axis] = view->dims[axis];
        view->direct[axis] = view->strides[axis];
    }
    for (int i = 0; i < ncore; i++) {
        int axis = moving_axis(frame, k, i);
        npy_intp length = axis < 0 ? -1 : window_length(frame, k, i);
        npy_intp step = view->window->steps[i];
        if (length < 0) {
            return -1;
        }
        view->moves[axis] = i;
        dims[axis] = count_windows(view->dims[axis], step);
        dims[ndim + i] = length;
        /* If a step is longer than the array, the product may overflow, and is not used. */
        view->direct[axis] = (npy_intp)((npy_uintp)view->strides[axis] * (npy_uintp)step);
        view->direct[ndim + i] = view->strides[axis];
    }
    state->ndim = ndim + ncore;
    state->dims = dims;
    state->strides = view->direct;
    return 0;
}

/* Opens the views of all windows, after the other inputs have set the named dims. */
static int
open_views(cwj_frame *frame)
{
    frame->views = frame_alloc_zeroed(frame, (size_t)frame->noperands, sizeof(cwj_view));
    if (frame->views == NULL) {
        return -1;
    }
    for (int k = 0; k < frame->decl->ninputs; k++) {
        if (frame->decl->windows[k].axes != NULL && open_view(frame, k) < 0) {
            return -1;
        }
    }
    return 0;
}
