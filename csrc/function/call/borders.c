/* borders.c: the slices of a call with windows, in boxes.
 *
 * Where no window reaches beyond its array, slices run on the array itself, as those of any
 * other call. The rest is peeled off in boxes, two along each axis: for these the elements that
 * their windows see are gathered in a small array, and the same loop runs on that; what lies
 * outside is found by a table of offsets for each axis, which the border's rule has filled. What
 * is measured of a call is its inner box.
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

/* One axis of what is copied: count elements, of which first..end are inside. */
typedef struct cwj_gather_axis {
    cwj_reach reach;
    npy_intp first, end;
    npy_intp step;     /* bytes from one element to the next in the array */
    npy_intp stride;   /* the same in the buffer */
    npy_intp
        *offsets; /* where in the array the others are, in bytes: before first, then from end on */
} cwj_gather_axis;

typedef struct cwj_gather {
    int ndim;
    cwj_gather_axis *axes; /* [ndim] */
    int *order; /* [ndim] of axes, outermost first */
    size_t itemsize;
    const char *fill; /* CWJ_CONSTANT: one element */
} cwj_gather;

static npy_intp
offset_of(const cwj_gather_axis *axis, npy_intp i)
{
    if (i >= axis->first && i < axis->end) {
        return (axis->reach.start + i) * axis->step;
    }
    return axis->offsets[i < axis->first ? i : i - (axis->end - axis->first)];
}

static inline __attribute__((always_inline)) void
copy_evenly(char *to, npy_intp stride, const char *from, npy_intp step, npy_intp count, size_t size)
{
    for (npy_intp i = 0; i < count; i++) {
        memcpy(to + i * stride, from + i * step, size);
    }
}

static inline __attribute__((always_inline)) void
copy_listed(char *to, npy_intp stride, const char *from, const npy_intp *offsets, npy_intp count,
            const char *fill, size_t size)
{
    for (npy_intp i = 0; i < count; i++) {
        memcpy(to + i * stride, offsets[i] == CWJ_OUTSIDE ? fill : from + offsets[i], size);
    }
}

/* For compilers, which make one instruction of the copy of a known size. */
#define CWJ_OF_SIZE(size, copy, ...)     \
    switch (size) {                      \
    case 1:                              \
        copy(__VA_ARGS__, 1);            \
        break;                           \
    case 2:                              \
        copy(__VA_ARGS__, 2);            \
        break;                           \
    case 4:                              \
        copy(__VA_ARGS__, 4);            \
        break;                           \
    case 8:                              \
        copy(__VA_ARGS__, 8);            \
        break;                           \
    case 16:                             \
        copy(__VA_ARGS__, 16);           \
        break;                           \
    default:                             \
        copy(__VA_ARGS__, (size_t)size); \
    }

static void
copy_run(char *to, npy_intp stride, const char *from, npy_intp step, npy_intp count, size_t size)
{
    if (step == (npy_intp)size && stride == step) {
        memcpy(to, from, (size_t)count * size);
        return;
    }
    CWJ_OF_SIZE(size, copy_evenly, to, stride, from, step, count)
}

static void
copy_outside(const cwj_gather *gather, const cwj_gather_axis *axis, npy_intp i, npy_intp end,
             const char *from, char *to)
{
    const npy_intp *offsets = axis->offsets + (i < axis->first ? i : axis->first);
    size_t size = gather->itemsize;
    CWJ_OF_SIZE(size, copy_listed, to + i * axis->stride, axis->stride, from, offsets, end - i,
                gather->fill)
}
#undef CWJ_OF_SIZE

/* The innermost axis; from is NULL outside. */
static void
gather_row(const cwj_gather *gather, const cwj_gather_axis *axis, const char *from, char *to)
{
    npy_intp first = axis->first, end = axis->end, count = axis->reach.count;
    size_t size = gather->itemsize;
    if (from == NULL) {
        copy_run(to, axis->stride, gather->fill, 0, count, size);
        return;
    }
    copy_outside(gather, axis, 0, first, from, to);
    if (first < end) {
        copy_run(to + first * axis->stride, axis->stride, from + offset_of(axis, first), axis->step,
                 end - first, size);
    }
    copy_outside(gather, axis, end, count, from, to);
}

static void
gather_axes_from(const cwj_gather *gather, int level, const char *from, char *to)
{
    const cwj_gather_axis *axis = &gather->axes[gather->order[level]];
    if (level == gather->ndim - 1) {
        gather_row(gather, axis, from, to);
        return;
    }
    for (npy_intp i = 0; i < axis->reach.count; i++) {
        npy_intp offset = offset_of(axis, i);
        gather_axes_from(gather, level + 1,
                         from == NULL || offset == CWJ_OUTSIDE ? NULL : from + offset, to);
        to += axis->stride;
    }
}

static npy_uintp
size_of_step(const cwj_gather *gather, int axis)
{
    npy_intp step = gather->axes[axis].step;
    return step < 0 ? 0 - (npy_uintp)step : (npy_uintp)step;
}

/* Axes as they lie in the array, the closest neighbours last. */
static void
order_axes(cwj_gather *gather)
{
    int *order = gather->order;
    for (int axis = 0; axis < gather->ndim; axis++) {
        int to = axis;
        while (to > 0 && size_of_step(gather, order[to - 1]) < size_of_step(gather, axis)) {
            order[to] = order[to - 1];
            to--;
        }
        order[to] = axis;
    }
}

/* A short axis that is copied along costs more than its elements: then it is the longest one. */
static void
copy_along_long_axis(cwj_gather *gather)
{
    int last = gather->ndim - 1, longest = last;
    int *order = gather->order;
    for (int level = 0; level < last; level++) {
        if (gather->axes[order[level]].reach.count > gather->axes[order[longest]].reach.count) {
            longest = level;
        }
    }
    int axis = order[longest];
    if (gather->axes[order[last]].reach.count < CWJ_SHORT_AXIS) {
        order[longest] = order[last];
        order[last] = axis;
    }
}

/* Lists where the elements i..end of an axis of n are found. Returns what is behind the list. */
static npy_intp *
list_offsets(const cwj_gather_axis *axis, npy_intp n, int border, npy_intp i, npy_intp end,
             npy_intp *list)
{
    for (; i < end; i++) {
        npy_intp at = find_element(axis->reach.start + i, n, border);
        *list++ = at == CWJ_OUTSIDE ? at : at * axis->step;
    }
    return list;
}

/* Fills in which elements of an axis of n are inside, and where the others are. */
static int
open_axis(cwj_frame *frame, cwj_gather_axis *axis, npy_intp n, int border)
{
    npy_intp start = axis->reach.start, count = axis->reach.count;
    axis->first = start >= 0 ? 0 : -start < count ? -start : count;
    axis->end = n - start < count ? n - start : count;
    npy_intp outside = count - (axis->end - axis->first);
    axis->offsets = frame_alloc(frame, (size_t)outside, sizeof(npy_intp));
    if (axis->offsets == NULL) {
        return -1;
    }
    npy_intp *list = list_offsets(axis, n, border, 0, axis->first, axis->offsets);
    list_offsets(axis, n, border, axis->end, count, list);
    return 0;
}

/* Strides of the buffer, and of the windows in it. Returns its bytes, or -1 with MemoryError. */
static npy_intp
place_gathered(cwj_view *view, const cwj_gather *gather)
{
    npy_intp bytes = (npy_intp)gather->itemsize;
    for (int level = gather->ndim - 1; level >= 0; level--) {
        int axis = gather->order[level], i = view->moves[axis];
        npy_intp count = gather->axes[axis].reach.count;
        gather->axes[axis].stride = view->gathered[axis] = bytes;
        if (i >= 0) {
            view->gathered[axis] = (npy_intp)((npy_uintp)bytes * (npy_uintp)view->window->steps[i]);
            view->gathered[gather->ndim + i] = bytes;
        }
        if (bytes > 0 && count > NPY_MAX_INTP / bytes) {
            PyErr_NoMemory();
            return -1;
        }
        bytes *= count;
    }
    return bytes;
}

/* One element as the border "constant" has it, or NULL with MemoryError. */
static const char *
fill_of(cwj_frame *frame, const cwj_view *view, size_t itemsize)
{
    if (view->window->fills != NULL) {
        return (const char *)view->window->fills + (size_t)frame->typeset_index * CWJ_FILL_BYTES;
    }
    return frame_alloc_zeroed(frame, 1, itemsize);
}

/* Copies what the windows of a box see of operand k, whose elements are in `data`, to memory that
 * lives until the frame is rewound. Returns it, or NULL with MemoryError. */
static char *
gather_operand(cwj_frame *frame, int k, const cwj_box *box, const char *data)
{
    cwj_view *view = &frame->views[k];
    size_t ndim = (size_t)view->ndim;
    cwj_gather gather = {.ndim = view->ndim, .itemsize = (size_t)frame->states[k].itemsize};
    gather.axes = frame_alloc(frame, ndim, sizeof(cwj_gather_axis));
    gather.order = frame_alloc(frame, ndim, sizeof(int));
    gather.fill = fill_of(frame, view, gather.itemsize);
    if (gather.axes == NULL || gather.order == NULL || gather.fill == NULL) {
        return NULL;
    }
    for (int own = 0; own < gather.ndim; own++) {
        cwj_gather_axis *axis = &gather.axes[own];
        axis->reach = reach_along(frame, k, box, own);
        axis->step = view->strides[own];
        if (open_axis(frame, axis, view->dims[own], view->window->border) < 0) {
            return NULL;
        }
    }
    order_axes(&gather);
    npy_intp bytes = place_gathered(view, &gather);
    char *buffer = bytes < 0 ? NULL : frame_alloc(frame, 1, (size_t)bytes);
    if (buffer != NULL) {
        copy_along_long_axis(&gather);
        gather_axes_from(&gather, 0, data, buffer);
    }
    return buffer;
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
    return has_slices(frame) ? run_boxes(frame, &box) : 0;
}
