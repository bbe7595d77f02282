/* borders.c: the slices of a call with windows, in boxes.
 *
 * Where no window reaches beyond its array, slices run on the array itself, as those of any
 * other call. The rest is peeled off in boxes, two along each axis: for these the elements that
 * their windows see are gathered in a small array, by a table of offsets for each axis which
 * has the rule for what lies outside, and the same loop runs on that. What is
 * measured of a call is its inner box.
 */

enum {
    CWJ_GATHER_BYTES = 1 << 18 /* for one box, where that is possible: stays in the cache */
};

#define CWJ_OUTSIDE NPY_MIN_INTP /* in the place of an offset */

/* A part of the slices: a range along each broadcast axis. */
typedef struct cwj_box {
    npy_intp *from; /* [nextra] */
    npy_intp *dims; /* [nextra], which the loop takes for frame->extra */
    char **data;    /* [noperands] where all slices begin */
} cwj_box;

/* ---- which slices have windows inside ---------------------------------- */

/* The axis of window k's array behind a broadcast axis, or < 0. */
static int
own_axis(const cwj_frame *frame, int k, int axis)
{
    return axis - frame->nextra + frame->states[k].nextra;
}

/* Narrows from..to, along a broadcast axis, to slices whose window of operand k lies inside. */
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

/* ---- what lies outside --------------------------------------------------- */

/* Where element i of n is found. */
static npy_intp
find_element(npy_intp i, npy_intp n, int border)
{
    if (i >= 0 && i < n) {
        return i;
    }
    npy_intp period = border == CWJ_WRAP ? n : border == CWJ_REFLECT ? 2 * n : 2 * n - 2;
    switch (border) {
    case CWJ_CONSTANT:
        return CWJ_OUTSIDE;
    case CWJ_NEAREST:
        return i < 0 ? 0 : n - 1;
    case CWJ_MIRROR:
        if (n == 1) {
            return 0;
        }
        break;
    default:
        break;
    }
    i %= period;
    i += i < 0 ? period : 0;
    return i < n ? i : border == CWJ_REFLECT ? period - 1 - i : period - i;
}

/* The elements of one axis of an array that a box needs. */
typedef struct cwj_reach {
    npy_intp start; /* < 0: outside */
    npy_intp count;
} cwj_reach;

static cwj_reach
reach_along(const cwj_frame *frame, int k, const cwj_box *box, int own)
{
    const cwj_view *view = view_of(frame, k);
    const npy_intp *dims = frame->states[k].dims;
    int axis = frame->nextra - frame->states[k].nextra + own, i = view->moves[own];
    cwj_reach reach = {dims[own] == 1 ? 0 : box->from[axis], dims[own] == 1 ? 1 : box->dims[axis]};
    if (i >= 0) {
        npy_intp length = dims[view->ndim + i], step = view->window->steps[i];
        reach.start = reach.start * step - length / 2;
        reach.count = (reach.count - 1) * step + length;
    }
    return reach;
}

/* The bytes to gather for a box from operand k, infinite where they are too many. */
static double
bytes_to_gather(const cwj_frame *frame, int k, const cwj_box *box)
{
    const cwj_view *view = view_of(frame, k);
    double bytes = (double)frame->states[k].itemsize;
    for (int own = 0; own < view->ndim; own++) {
        bytes *= (double)reach_along(frame, k, box, own).count;
    }
    return bytes;
}

/* ---- gathering ------------------------------------------------------------- */

typedef struct cwj_gather {
    int ndim;
    int *order;         /* [ndim] axes, outermost first */
    npy_intp *counts;   /* [ndim] */
    npy_intp *strides;  /* [ndim] bytes, in the buffer */
    npy_intp **offsets; /* [ndim] [counts] bytes from the array's first element */
    npy_intp itemsize;
    const char *fill; /* CWJ_CONSTANT: one element */
} cwj_gather;

#define CWJ_GATHER_ROW(size)                                                                  \
    for (npy_intp i = 0; i < count; i++) {                                                    \
        memcpy(to + i * (size),                                                               \
               from == NULL || offsets[i] == CWJ_OUTSIDE ? fill : from + offsets[i], (size)); \
    }

/* The innermost axis; from is NULL outside. */
static void
gather_row(const cwj_gather *gather, int axis, const char *from, char *to)
{
    npy_intp count = gather->counts[axis], itemsize = gather->itemsize;
    const npy_intp *offsets = gather->offsets[axis];
    const char *fill = gather->fill;
    switch (itemsize) {
    case 1:
        CWJ_GATHER_ROW(1)
        break;
    case 2:
        CWJ_GATHER_ROW(2)
        break;
    case 4:
        CWJ_GATHER_ROW(4)
        break;
    case 8:
        CWJ_GATHER_ROW(8)
        break;
    case 16:
        CWJ_GATHER_ROW(16)
        break;
    default:
        CWJ_GATHER_ROW(itemsize)
    }
}
#undef CWJ_GATHER_ROW

static void
gather_axis(const cwj_gather *gather, int level, const char *from, char *to)
{
    int axis = gather->order[level];
    if (level == gather->ndim - 1) {
        gather_row(gather, axis, from, to);
        return;
    }
    for (npy_intp i = 0; i < gather->counts[axis]; i++) {
        npy_intp offset = gather->offsets[axis][i];
        gather_axis(gather, level + 1, from == NULL || offset == CWJ_OUTSIDE ? NULL : from + offset,
                    to);
        to += gather->strides[axis];
    }
}

static npy_uintp
size_of_stride(const cwj_view *view, int axis)
{
    npy_intp stride = view->strides[axis];
    return stride < 0 ? 0 - (npy_uintp)stride : (npy_uintp)stride;
}

/* Axes by their strides in the array, the closest neighbours last. */
static void
order_axes(const cwj_view *view, int *order)
{
    for (int axis = 0; axis < view->ndim; axis++) {
        int to = axis;
        while (to > 0 && size_of_stride(view, order[to - 1]) < size_of_stride(view, axis)) {
            order[to] = order[to - 1];
            to--;
        }
        order[to] = axis;
    }
}

/* The table of one axis. */
static void
fill_offsets(const cwj_view *view, int own, cwj_reach reach, npy_intp *offsets)
{
    npy_intp n = view->dims[own], stride = view->strides[own];
    for (npy_intp i = 0; i < reach.count; i++) {
        npy_intp at = find_element(reach.start + i, n, view->window->border);
        offsets[i] = at == CWJ_OUTSIDE ? at : at * stride;
    }
}

/* Strides of the buffer, and of the windows in it. Returns its bytes, or -1 with MemoryError. */
static npy_intp
place_gathered(cwj_view *view, const cwj_gather *gather)
{
    npy_intp bytes = gather->itemsize;
    for (int level = gather->ndim - 1; level >= 0; level--) {
        int axis = gather->order[level], i = view->moves[axis];
        gather->strides[axis] = view->gathered[axis] = bytes;
        if (i >= 0) {
            view->gathered[axis] = (npy_intp)((npy_uintp)bytes * (npy_uintp)view->window->steps[i]);
            view->gathered[gather->ndim + i] = bytes;
        }
        if (gather->counts[axis] > NPY_MAX_INTP / bytes) {
            PyErr_NoMemory();
            return -1;
        }
        bytes *= gather->counts[axis];
    }
    return bytes;
}

static int
reserve_buffer(cwj_view *view, size_t bytes)
{
    if (bytes > view->room) {
        PyMem_Free(view->buffer);
        view->room = 0;
        view->buffer = PyMem_Malloc(bytes);
        if (view->buffer == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        view->room = bytes;
    }
    return 0;
}

/* Copies what the windows of a box see of operand k. Its elements are in `data`. */
static int
gather_operand(cwj_frame *frame, int k, const cwj_box *box, const char *data)
{
    static const char zeros[CWJ_FILL_BYTES] = {0};
    cwj_view *view = &frame->views[k];
    size_t ndim = (size_t)view->ndim, total = 0;
    int status = -1;
    npy_intp *next;
    cwj_gather gather = {.ndim = view->ndim, .itemsize = frame->states[k].itemsize};
    char *memory = PyMem_Malloc(ndim * (sizeof(int) + 2 * sizeof(npy_intp) + sizeof(npy_intp *)));
    npy_intp *offsets = NULL;
    char *wide = NULL;
    if (memory == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    gather.offsets = (npy_intp **)memory;
    gather.counts = (npy_intp *)(gather.offsets + ndim);
    gather.strides = gather.counts + ndim;
    gather.order = (int *)(gather.strides + ndim);
    order_axes(view, gather.order);
    for (int own = 0; own < view->ndim; own++) {
        gather.counts[own] = reach_along(frame, k, box, own).count;
        total += (size_t)gather.counts[own]; /* each is below NPY_MAX_INTP / 2 */
        if (total > PY_SSIZE_T_MAX / (2 * sizeof(npy_intp))) {
            PyErr_NoMemory();
            goto done;
        }
    }
    npy_intp bytes = place_gathered(view, &gather);
    next = offsets = bytes < 0 ? NULL : PyMem_Malloc(total * sizeof(npy_intp));
    if (offsets == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if (reserve_buffer(view, (size_t)bytes) < 0) {
        goto done;
    }
    for (int own = 0; own < view->ndim; own++) {
        gather.offsets[own] = next;
        fill_offsets(view, own, reach_along(frame, k, box, own), next);
        next += gather.counts[own];
    }
    gather.fill = zeros;
    if (view->window->fills != NULL) {
        gather.fill =
            (const char *)view->window->fills + (size_t)frame->typeset_index * CWJ_FILL_BYTES;
    } else if (gather.itemsize > CWJ_FILL_BYTES) {
        wide = PyMem_Calloc(1, (size_t)gather.itemsize);
        if (wide == NULL) {
            PyErr_NoMemory();
            goto done;
        }
        gather.fill = wide;
    }
    gather_axis(&gather, 0, data, view->buffer);
    status = 0;
done:
    PyMem_Free(wide);
    PyMem_Free(offsets);
    PyMem_Free(memory);
    return status;
}

/* ---- running boxes ----------------------------------------------------------- */

/* The first slice of a box, of operand k in its own memory. */
static char *
first_of_box(const cwj_frame *frame, int k, const cwj_box *box)
{
    char *data = box->data[k];
    for (int axis = 0; axis < frame->nextra; axis++) {
        data += box->from[axis] * step_of(frame, k, axis);
    }
    return data;
}

/* The element of a window that comes first, counted from its centre, in bytes. */
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

/* Has the slices of a box run, on gathered windows or on the arrays themselves. */
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
            status = gather_operand(frame, k, box, box->data[k]);
            state->data = frame->views[k].buffer;
            use_strides(frame, k, frame->views[k].gathered);
        } else {
            state->data = first_of_box(frame, k, box) + first_of_window(frame, k);
        }
    }
    if (status == 0) {
        frame->extra = box->dims;
        status = run_slices(frame);
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

/* True when two halves of a box along an axis gather hardly more than the whole. */
static int
is_worth_cutting(const cwj_frame *frame, const cwj_box *box, int axis)
{
    for (int k = 0; k < frame->decl->ninputs; k++) {
        const cwj_view *view = view_of(frame, k);
        int own = own_axis(frame, k, axis);
        if (view == NULL || own < 0 || view->moves[own] < 0) {
            continue;
        }
        int i = view->moves[own];
        if (box->dims[axis] < 4 * frame->states[k].dims[view->ndim + i] / view->window->steps[i]) {
            return 0;
        }
    }
    return box->dims[axis] > 1;
}

/* The axis along which a box should be cut, or -1: it is small enough, or cannot be. */
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

/* Gathers and runs a box, in pieces where it is large. Restores the box. */
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
    box->from[axis] = from + dim / 2;
    box->dims[axis] = dim - dim / 2;
    status = status < 0 ? status : run_gathered(frame, box);
    box->from[axis] = from;
    box->dims[axis] = dim;
    return status;
}

/* A box that is part of another one along an axis. */
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

/* Peels the borders off, axis by axis, and then runs what is left. */
static int
run_boxes(cwj_frame *frame, const cwj_box *box)
{
    for (int axis = 0; axis < frame->nextra; axis++) {
        npy_intp from = 0, whole = frame->extra[axis], to = whole;
        for (int k = 0; k < frame->decl->ninputs; k++) {
            keep_inside(frame, k, axis, &from, &to);
        }
        if (from >= to) { /* nothing lies inside */
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

/* As run_slices(), for a call with windows. */
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
    int status = has_slices(frame) ? run_boxes(frame, &box) : 0;
    for (size_t k = 0; k < noperands; k++) {
        PyMem_Free(frame->views[k].buffer);
        frame->views[k].buffer = NULL;
    }
    return status;
}
