/* new_layout.c: chooses the memory layout of new outputs.
 *
 * It is C order, unless the function has no core dims and its slices may run in any order. Then outputs are laid out
 * like the inputs (NumPy's order "K", which ufuncs use), so that one loop can run along the memory of all operands. The
 * rules are those of NumPy's nditer; tests compare both. */

/* Returns the absolute value of step_of(). */
static npy_uintp
stride_size(const cwj_frame *frame, int k, int axis)
{
    npy_intp step = step_of(frame, k, axis);
    return step < 0 ? 0 - (npy_uintp)step : (npy_uintp)step;
}

/* Returns 1 if axis `outer` should stay outside `inner`, -1 if it should move inside, 0 if no input steps along both.
 * If inputs disagree, the axes keep their order. */
static int
compare_axes(const cwj_frame *frame, int outer, int inner)
{
    int answer = 0;
    for (int k = 0; k < frame->decl->ninputs; k++) {
        npy_uintp out = stride_size(frame, k, outer), in = stride_size(frame, k, inner);
        if (out != 0 && in != 0) {
            if (in <= out) {
                return 1;
            }
            answer = -1;
        }
    }
    return answer;
}

/* Lists the axes, innermost first, by a stable insertion sort of strides. */
static void
sort_output_axes(const cwj_frame *frame, int *axes)
{
    int count = frame->nextra;
    for (int i = 0; i < count; i++) {
        int axis = count - 1 - i;
        int place = i;
        for (int j = i - 1; j >= 0; j--) {
            int answer = compare_axes(frame, axis, axes[j]);
            if (answer > 0) {
                break;
            }
            if (answer < 0) {
                place = j;
            }
        }
        memmove(axes + place + 1, axes + place, (size_t)(i - place) * sizeof(int));
        axes[place] = axis;
    }
}

/* True if new outputs have C order, because the function wants it or all inputs have it. */
static int
wants_c_order(const cwj_frame *frame)
{
    if (!(frame->runtime->flags & CWJ_UNORDERED) || frame->runtime->has_core || frame->nextra < 2) {
        return 1;
    }
    for (int k = 0; k < frame->decl->ninputs; k++) {
        PyArrayObject *array = frame->states[k].array;
        if (array != NULL && !PyArray_IS_C_CONTIGUOUS(array)) {
            return 0;
        }
    }
    return 1;
}

/* Chooses new outputs' strides for an itemsize, in the frame; NULL: C order. Returns 0, or -1 with MemoryError set. */
static int
choose_strides(cwj_frame *frame, npy_intp itemsize, npy_intp **strides)
{
    *strides = NULL;
    if (CWJ_LIKELY(wants_c_order(frame))) {
        return 0;
    }
    size_t count = (size_t)frame->nextra;
    int *axes = frame_alloc(frame, count, sizeof(int));
    npy_intp *chosen = frame_alloc(frame, count, sizeof(npy_intp));
    if (axes == NULL || chosen == NULL) {
        return -1;
    }
    sort_output_axes(frame, axes);
    npy_uintp stride = (npy_uintp)itemsize; /* if it overflows, NumPy's allocation fails */
    for (size_t i = 0; i < count; i++) {
        chosen[axes[i]] = (npy_intp)stride;
        stride *= (npy_uintp)frame->extra[axes[i]];
    }
    *strides = chosen;
    return 0;
}
