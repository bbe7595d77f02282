/* loop.c: validate, run the slices, clean up.
 *
 * Slices run in C order of the broadcast shape. Neighbouring axes that every
 * operand steps through evenly are joined, which keeps that order and makes the
 * inner loop, which is compiled code, long.
 */

/* The axes to loop over, outermost first, and each operand's step along each:
 * steps[axis * noperands + k], in bytes. */
typedef struct cwj_loops {
    int naxes;
    npy_intp *dims;
    npy_intp *steps;
    npy_intp *at; /* where the outer axes stand */
} cwj_loops;

static npy_intp
step_of(const cwj_frame *frame, int k, int axis)
{
    const cwj_state *state = &frame->states[k];
    int at = axis - frame->nextra + state->nextra;
    return at < 0 || state->dims[at] == 1 ? 0 : state->strides[at];
}

/* True when one step along `outer` equals a whole turn of the axis below it. */
static int
can_join(const cwj_loops *loops, int noperands, int outer)
{
    const npy_intp *above = loops->steps + (size_t)outer * (size_t)noperands;
    const npy_intp *below = above + noperands;
    for (int k = 0; k < noperands; k++) {
        if (above[k] != below[k] * loops->dims[outer + 1]) {
            return 0;
        }
    }
    return 1;
}

static void
join_last(cwj_loops *loops, int noperands)
{
    int last = loops->naxes - 1;
    if (last < 1 || loops->dims[last - 1] > NPY_MAX_INTP / loops->dims[last] ||
        !can_join(loops, noperands, last - 1)) {
        return;
    }
    npy_intp *above = loops->steps + (size_t)(last - 1) * (size_t)noperands;
    memcpy(above, above + noperands, (size_t)noperands * sizeof(npy_intp));
    loops->dims[last - 1] *= loops->dims[last];
    loops->naxes--;
}

static int
plan_loops(cwj_frame *frame, cwj_loops *loops)
{
    int noperands = frame->noperands;
    size_t room = (size_t)(frame->nextra > 0 ? frame->nextra : 1);
    loops->naxes = 0;
    loops->dims = frame_alloc(frame, 2 * room, sizeof(npy_intp));
    loops->steps = frame_alloc(frame, room * (size_t)noperands, sizeof(npy_intp));
    if (loops->dims == NULL || loops->steps == NULL) {
        return -1;
    }
    loops->at = loops->dims + room;
    for (int axis = 0; axis < frame->nextra; axis++) {
        if (frame->extra[axis] == 1) {
            continue;
        }
        npy_intp *steps = loops->steps + (size_t)loops->naxes * (size_t)noperands;
        for (int k = 0; k < noperands; k++) {
            steps[k] = step_of(frame, k, axis);
        }
        loops->dims[loops->naxes++] = frame->extra[axis];
        join_last(loops, noperands);
    }
    if (loops->naxes == 0) { /* one slice */
        memset(loops->steps, 0, (size_t)noperands * sizeof(npy_intp));
        loops->dims[0] = 1;
        loops->naxes = 1;
    }
    memset(loops->at, 0, room * sizeof(npy_intp));
    return 0;
}

/* Moves data to the next turn of the outer axes. Returns 0 after the last. */
static int
next_turn(const cwj_loops *loops, char **data, int noperands)
{
    for (int axis = loops->naxes - 2; axis >= 0; axis--) {
        const npy_intp *steps = loops->steps + (size_t)axis * (size_t)noperands;
        int wraps = ++loops->at[axis] == loops->dims[axis];
        npy_intp turns = wraps ? 1 - loops->dims[axis] : 1;
        for (int k = 0; k < noperands; k++) {
            data[k] += turns * steps[k];
        }
        if (!wraps) {
            return 1;
        }
        loops->at[axis] = 0;
    }
    return 0;
}

/* Runs compiled code only: no Python object is touched in here. */
static int
run_loops(cwj_frame *frame, const cwj_loops *loops, char **data)
{
    cwj_loop *loop = frame->runtime->loops[frame->typeset_index];
    const npy_intp *count = &loops->dims[loops->naxes - 1];
    const npy_intp *steps = loops->steps + (size_t)(loops->naxes - 1) * (size_t)frame->noperands;
    do {
        if (!loop(data, count, steps, &frame->call)) {
            return 0;
        }
    } while (next_turn(loops, data, frame->noperands));
    return 1;
}

static int
has_slices(const cwj_frame *frame)
{
    for (int axis = 0; axis < frame->nextra; axis++) {
        if (frame->extra[axis] == 0) {
            return 0;
        }
    }
    return 1;
}

/* A snippet's answer, and the exception that it may have set in either case. */
static int
check_answer(const cwj_frame *frame, int accepted, const char *what)
{
    if (!accepted && !PyErr_Occurred()) {
        raise_in_call(frame, PyExc_RuntimeError, "%s returned false", what);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int
run_slices(cwj_frame *frame)
{
    cwj_loops loops;
    if (!has_slices(frame)) {
        return 0;
    }
    char **data = frame_alloc(frame, (size_t)frame->noperands, sizeof(char *));
    if (data == NULL || plan_loops(frame, &loops) < 0) {
        return -1;
    }
    for (int k = 0; k < frame->noperands; k++) {
        data[k] = frame->states[k].data;
    }
    if (frame->runtime->release_gil) {
        frame->outer = cwj_running;
        release_gil(frame);
    }
    int finished = run_loops(frame, &loops, data);
    if (frame->runtime->release_gil) {
        take_gil(frame);
        cwj_running = frame->outer;
    }
    return check_answer(frame, finished, "the slice code (Ccode_slice_eval)");
}

static int
validate(cwj_frame *frame)
{
    if (frame->decl->validate == NULL) {
        return 0;
    }
    return check_answer(frame, frame->decl->validate(&frame->call), "Ccode_validate");
}

/* Runs whatever happened; an exception that is already set stays. */
static int
cleanup_cookie(cwj_frame *frame)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    frame->decl->cleanup(&frame->call);
    if (type == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    PyErr_Restore(type, value, traceback);
    return 0;
}
