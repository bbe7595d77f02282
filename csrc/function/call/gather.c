/* gather.c: copies the elements that the windows of a box of slices see to a small array.
 *
 * For elements outside, each axis has a table of offsets by the border's rule. Elements inside are copied in runs. */

#define CWJ_OUTSIDE NPY_MIN_INTP /* instead of an offset */

/* A part of the slices: a range along each broadcast axis. */
typedef struct cwj_box {
    npy_intp *from; /* [nextra] */
    npy_intp *dims; /* [nextra], frame->extra while the box runs */
    char **data;    /* [noperands] the first of all slices */
} cwj_box;

/* ---- what lies outside --------------------------------------------------- */

/* Returns the index of the element that stands for element i of an axis of n, or CWJ_OUTSIDE. */
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
    npy_intp start; /* < 0: before the array */
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

/* Returns how many bytes a box needs of operand k; infinity if a double cannot hold them. */
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

/* One axis of the copied part. Its elements first..end - 1 are inside the array. */
typedef struct cwj_gather_axis {
    cwj_reach reach;
    npy_intp first, end;
    npy_intp step;     /* bytes between elements in the array */
    npy_intp stride;   /* bytes between elements in the buffer */
    npy_intp *offsets; /* bytes, of elements outside: those before first, then those from end on */
} cwj_gather_axis;

typedef struct cwj_gather {
    int ndim;
    cwj_gather_axis *axes; /* [ndim] */
    int *order; /* [ndim] the axes, outermost first */
    size_t itemsize;
    const char *fill; /* one element, for CWJ_CONSTANT */
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
copy_listed(char *to, npy_intp stride, const char *from, const npy_intp *offsets, npy_intp count,
            const char *fill, size_t size)
{
    for (npy_intp i = 0; i < count; i++) {
        memcpy(to + i * stride, offsets[i] == CWJ_OUTSIDE ? fill : from + offsets[i], size);
    }
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

/* Copies along the innermost axis. from: NULL if the whole row is outside. */
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

/* Orders the axes by their steps in the array, the smallest last. */
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

/* Exchanges a short innermost axis with the longest one, because copying along a short axis is slow. */
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

/* Lists the offsets of elements i..end - 1 of an axis of n. Returns the end of the list. */
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

/* Finds which elements of an axis of n are inside, and lists the others. Returns 0, or -1 with MemoryError set. */
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

/* Computes the strides of the buffer and of windows in it. Returns the buffer's bytes, or -1 with MemoryError set. */
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

/* Returns one element for the border "constant", or NULL with MemoryError set. */
static const char *
fill_of(cwj_frame *frame, const cwj_view *view, size_t itemsize)
{
    if (view->window->fills != NULL) {
        return (const char *)view->window->fills + (size_t)frame->typeset_index * CWJ_FILL_BYTES;
    }
    return frame_alloc_zeroed(frame, 1, itemsize);
}

/* Copies what the windows of a box see of operand k. data: operand k's first element. Returns the copy, which lives
 * until the frame is rewound, or NULL with MemoryError set. */
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
