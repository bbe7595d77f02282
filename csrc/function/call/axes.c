/* axes.c: the axes that the slices run over, and a place in them.
 *
 * Slices run in C order of the broadcast shape. Neighbouring axes that every
 * operand steps through evenly are joined, which keeps that order and makes the
 * inner loop, which is compiled code, long. Where the order cannot be seen
 * (CWJ_UNORDERED) axes are turned and sorted first, so that the inner loop runs
 * along memory. An inner axis that is short even then, as in a (1000000, 3) part
 * of a wider array, changes places with a long one, which is cut in blocks for
 * it: [block, 3, slices of a block], so that a block stays in the cache. Before that, the axes that
 * fill a line of the cache come to the inside, of each operand: where operands lie in opposite orders,
 * no line of any is read twice.
 */

enum {
    CWJ_SHORT_AXIS = 16, /* an inner axis below this is worth a block */
    CWJ_BLOCK = 512,     /* slices */
    CWJ_CACHE_LINE = 64, /* bytes */
    CWJ_FAR = 1024,      /* bytes from slice to slice of which a short block is enough */
    CWJ_LINE_OPERANDS = 8
};

typedef struct cwj_tile cwj_tile; /* tiles.c */

/* Axes outermost first; steps[axis * noperands + k] is operand k's step along
 * one, in bytes. Constant while slices run. */
typedef struct cwj_plan {
    int naxes; /* 1 at least */
    int noperands;
    npy_intp *dims;
    npy_intp *steps;
    char **base;    /* [noperands] the slice that comes first */
    npy_intp total; /* slices; NPY_MAX_INTP when it is more than that */
    int block_axis; /* the axis that counts blocks of the last one, or -1 */
    npy_intp tail;  /* slices of the last block */
    const cwj_tile *tile; /* the last axis is one of many, or NULL */
    cwj_stage *stage;     /* slices are copied, or NULL */
} cwj_plan;

/* The memory of a plan of one axis and few operands: what most calls need. */
typedef struct cwj_line {
    npy_intp dim;
    npy_intp steps[CWJ_LINE_OPERANDS];
    char *base[CWJ_LINE_OPERANDS];
} cwj_line;

/* Where a thread stands. */
typedef struct cwj_cursor {
    npy_intp *at; /* [naxes] */
    char **data;  /* [noperands] */
    char *memory; /* of copies; NULL without a stage */
} cwj_cursor;

static npy_intp *
steps_of(const cwj_plan *plan, int axis)
{
    return plan->steps + (size_t)axis * (size_t)plan->noperands;
}

/* Moves axis `from` to place `to` below it; those between move up by one. */
static void
sink_axis(cwj_plan *plan, int from, int to)
{
    for (int axis = from; axis < to; axis++) {
        npy_intp dim = plan->dims[axis];
        plan->dims[axis] = plan->dims[axis + 1];
        plan->dims[axis + 1] = dim;
        npy_intp *above = steps_of(plan, axis);
        npy_intp *below = steps_of(plan, axis + 1);
        for (int k = 0; k < plan->noperands; k++) {
            npy_intp step = above[k];
            above[k] = below[k];
            below[k] = step;
        }
    }
}

/* Where no operand has a positive step along an axis, it is run from its other end. */
static void
turn_axis(cwj_plan *plan, int axis)
{
    npy_intp *steps = steps_of(plan, axis);
    int down = 0;
    for (int k = 0; k < plan->noperands; k++) {
        if (steps[k] > 0) {
            return;
        }
        down |= steps[k] < 0;
    }
    for (int k = 0; k < plan->noperands && down; k++) {
        plan->base[k] += (plan->dims[axis] - 1) * steps[k];
        steps[k] = -steps[k];
    }
}

/* How far apart in memory neighbours along an axis are, what is written to
 * counting twice. */
static double
reach_of(const cwj_plan *plan, const cwj_function_decl *decl, int axis)
{
    const npy_intp *steps = steps_of(plan, axis);
    double reach = 0;
    for (int k = 0; k < plan->noperands; k++) {
        double step = steps[k] < 0 ? -(double)steps[k] : (double)steps[k];
        reach += decl->operands[k].role == CWJ_IN ? step : 2 * step;
    }
    return reach;
}

/* Sorts axes, the one with the closest neighbours innermost; equals stay in C
 * order. */
static void
sort_axes(cwj_plan *plan, const cwj_function_decl *decl)
{
    for (int axis = plan->naxes - 1; axis >= 0; axis--) {
        turn_axis(plan, axis);
        double reach = reach_of(plan, decl, axis);
        int to = axis;
        while (to + 1 < plan->naxes && reach < reach_of(plan, decl, to + 1)) {
            to++;
        }
        sink_axis(plan, axis, to);
    }
}

static inline npy_intp
distance(const cwj_plan *plan, int axis, int k)
{
    npy_intp step = steps_of(plan, axis)[k];
    return step < 0 ? -step : step;
}

/* The axes, as bits, that operand k needs to fill a line of so many bytes. */
static uint64_t
near_axes(const cwj_plan *plan, int k, npy_intp line)
{
    uint64_t near = 0;
    for (npy_intp filled = 0, closest; filled < line; filled = closest) {
        int found = -1;
        closest = line;
        for (int axis = plan->naxes - 1; axis >= 0; axis--) {
            npy_intp step = distance(plan, axis, k);
            if (step != 0 && step < closest && !(near >> axis & 1)) {
                closest = step;
                found = axis;
            }
        }
        if (found < 0) {
            break;
        }
        near |= (uint64_t)1 << found;
        closest *= plan->dims[found];
    }
    return near;
}

/* Those of all operands. */
static uint64_t
all_near_axes(const cwj_plan *plan, npy_intp line)
{
    uint64_t near = 0;
    for (int k = 0; k < plan->noperands; k++) {
        near |= near_axes(plan, k, line);
    }
    return near;
}

/* Brings these axes to the inside, in the order that they have. Returns the first of them. */
static int
sink_axes(cwj_plan *plan, uint64_t axes)
{
    int to = plan->naxes - 1;
    for (int axis = to; axis >= 0; axis--) {
        if (axes >> axis & 1) {
            sink_axis(plan, axis, to--);
        }
    }
    return to + 1;
}

/* How long a block of an axis may be whose lines shall stay in the cache. */
static npy_intp
block_of(const cwj_plan *plan, int axis)
{
    for (int k = 0; k < plan->noperands; k++) {
        if (distance(plan, axis, k) >= CWJ_FAR) {
            return CWJ_SHORT_AXIS;
        }
    }
    return CWJ_BLOCK;
}

/* Cuts the longest axis in blocks that run innermost, where the inner axis is
 * short. */
static void
block_axes(cwj_plan *plan)
{
    int last = plan->naxes - 1, longest = 0;
    if (plan->dims[last] >= CWJ_SHORT_AXIS) {
        return;
    }
    /* A line is used up before it leaves the cache. */
    int near = sink_axes(plan, all_near_axes(plan, CWJ_CACHE_LINE));
    for (int axis = 1; axis <= last; axis++) {
        longest = plan->dims[axis] > plan->dims[longest] ? axis : longest;
    }
    npy_intp length = plan->dims[longest], block = block_of(plan, longest);
    if (longest != last && length < 2 * plan->dims[last]) {
        return;
    }
    if (length <= block) {
        sink_axis(plan, longest, last);
        return;
    }
    for (; longest > near; longest--) {
        sink_axis(plan, longest - 1, longest);
    }
    const npy_intp *steps = steps_of(plan, longest);
    npy_intp *inner = steps_of(plan, plan->naxes++);
    memcpy(inner, steps, (size_t)plan->noperands * sizeof(npy_intp));
    for (int k = 0; k < plan->noperands; k++) {
        steps_of(plan, longest)[k] *= block;
    }
    plan->block_axis = longest;
    plan->dims[longest] = (length - 1) / block + 1;
    plan->dims[last + 1] = block;
    plan->tail = length - (plan->dims[longest] - 1) * block;
}

static void
gather_axes(cwj_plan *plan, const cwj_frame *frame)
{
    plan->naxes = 0;
    plan->total = 1;
    for (int axis = 0; axis < frame->nextra; axis++) {
        npy_intp dim = frame->extra[axis];
        if (dim == 1) {
            continue;
        }
        npy_intp *steps = steps_of(plan, plan->naxes);
        for (int k = 0; k < plan->noperands; k++) {
            steps[k] = step_of(frame, k, axis);
        }
        plan->dims[plan->naxes++] = dim;
        plan->total = plan->total > NPY_MAX_INTP / dim ? NPY_MAX_INTP : plan->total * dim;
    }
    if (plan->naxes == 0) { /* one slice */
        memset(plan->steps, 0, (size_t)plan->noperands * sizeof(npy_intp));
        plan->dims[plan->naxes++] = 1;
    }
}

/* The plan of a call with one broadcast axis or none, in the memory of `line`. */
static inline void
plan_line(cwj_frame *frame, cwj_plan *plan, cwj_line *line)
{
    line->dim = frame->nextra > 0 ? frame->extra[0] : 1;
    for (int k = 0; k < frame->noperands; k++) {
        line->base[k] = frame->states[k].data;
        line->steps[k] = frame->nextra > 0 ? step_of(frame, k, 0) : 0;
    }
    plan->naxes = 1;
    plan->noperands = frame->noperands;
    plan->dims = &line->dim;
    plan->steps = line->steps;
    plan->base = line->base;
    plan->total = line->dim;
    plan->block_axis = -1;
    plan->tile = NULL;
    plan->stage = frame->stage;
}

/* Returns 0, or -1 with MemoryError. */
__attribute__((noinline)) static int
plan_axes(cwj_frame *frame, cwj_plan *plan)
{
    size_t noperands = (size_t)frame->noperands;
    size_t room = (size_t)frame->nextra + 1; /* blocks are an axis more */
    plan->noperands = frame->noperands;
    plan->block_axis = -1;
    plan->tile = NULL;
    plan->stage = frame->stage;
    plan->dims = frame_alloc(frame, room, sizeof(npy_intp));
    plan->steps = frame_alloc(frame, room * noperands, sizeof(npy_intp));
    plan->base = frame_alloc(frame, noperands, sizeof(char *));
    if (plan->dims == NULL || plan->steps == NULL || plan->base == NULL) {
        return -1;
    }
    for (size_t k = 0; k < noperands; k++) {
        plan->base[k] = frame->states[k].data;
    }
    gather_axes(plan, frame);
    return 0;
}

/* ---- places ------------------------------------------------------------ */

/* A cursor on the first slice. Returns 0, or -1 with MemoryError. */
static int
open_cursor(cwj_frame *frame, const cwj_plan *plan, cwj_cursor *cursor)
{
    cursor->at = frame_alloc(frame, (size_t)plan->naxes, sizeof(npy_intp));
    cursor->data = frame_alloc(frame, (size_t)plan->noperands, sizeof(char *));
    cursor->memory = NULL;
    if (cursor->at == NULL || cursor->data == NULL) {
        return -1;
    }
    if (plan->stage != NULL) {
        settle_stage(plan->stage, steps_of(plan, plan->naxes - 1));
        char *memory = frame_alloc(frame, 1, (size_t)plan->stage->bytes);
        if (memory == NULL) {
            return -1;
        }
        cursor->memory = open_memory(plan->stage, memory);
    }
    memset(cursor->at, 0, (size_t)plan->naxes * sizeof(npy_intp));
    memcpy(cursor->data, plan->base, (size_t)plan->noperands * sizeof(char *));
    return 0;
}

/* The length of the last axis where the cursor stands. */
static npy_intp
turn_length(const cwj_plan *plan, const npy_intp *at)
{
    int block = plan->block_axis;
    if (block >= 0 && at[block] == plan->dims[block] - 1) {
        return plan->tail;
    }
    return plan->dims[plan->naxes - 1];
}

/* The slices of one block. */
static npy_intp
block_size(const cwj_plan *plan)
{
    npy_intp size = 1;
    for (int axis = plan->block_axis + 1; axis < plan->naxes; axis++) {
        size *= plan->dims[axis];
    }
    return size;
}

/* Fills at[] of the axes first..last for slice number `index` in them, from the
 * inside. Returns what is left for the axes above. */
static npy_intp
split_index(const cwj_plan *plan, npy_intp *at, int first, int last, npy_intp index)
{
    for (int axis = last; axis >= first; axis--) {
        at[axis] = index % plan->dims[axis];
        index /= plan->dims[axis];
    }
    return index;
}

/* As split_index() for all axes, of which the last has blocks. */
static void
split_blocked(const cwj_plan *plan, npy_intp *at, npy_intp index)
{
    int block = plan->block_axis, last = plan->naxes - 1;
    npy_intp size = block_size(plan);
    npy_intp turns = size / plan->dims[last]; /* of the axes between */
    npy_intp group = (plan->dims[block] - 1) * size + turns * plan->tail;
    npy_intp within = index % group;
    split_index(plan, at, 0, block - 1, index / group);
    at[block] = within / size; /* the last block is never longer than others */
    within -= at[block] * size;
    npy_intp length = turn_length(plan, at);
    at[last] = within % length;
    split_index(plan, at, block + 1, last - 1, within / length);
}

/* Moves data `count` steps along an axis. */
static inline void
move(const cwj_plan *plan, char **data, int axis, npy_intp count)
{
    const npy_intp *steps = steps_of(plan, axis);
    int noperands = plan->noperands;
    for (int k = 0; k < noperands; k++) {
        data[k] += count * steps[k];
    }
}

/* Puts the cursor on slice number `index` of all. */
static void
seek(const cwj_plan *plan, cwj_cursor *cursor, npy_intp index)
{
    if (plan->block_axis >= 0) {
        split_blocked(plan, cursor->at, index);
    } else {
        split_index(plan, cursor->at, 0, plan->naxes - 1, index);
    }
    memcpy(cursor->data, plan->base, (size_t)plan->noperands * sizeof(char *));
    for (int axis = 0; axis < plan->naxes; axis++) {
        move(plan, cursor->data, axis, cursor->at[axis]);
    }
}

/* To the next turn of the outer axes; behind the last one, to the first. */
static inline void
next_turn(const cwj_plan *plan, cwj_cursor *cursor)
{
    for (int axis = plan->naxes - 2; axis >= 0; axis--) {
        if (++cursor->at[axis] < plan->dims[axis]) {
            move(plan, cursor->data, axis, 1);
            return;
        }
        cursor->at[axis] = 0;
        move(plan, cursor->data, axis, 1 - plan->dims[axis]);
    }
}
