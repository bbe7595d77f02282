/* axes.c: arranges the axes that slices run over (a plan), and keeps places in them (cursors).
 *
 * Slices run in C order of the broadcast shape. Neighbouring axes are joined if every operand steps
 * through them evenly. This keeps the order, and makes the inner loop long, which is compiled code.
 * If slices may run in any order (CWJ_UNORDERED), axes are turned and sorted first, so that the
 * inner loop runs along memory. If the inner axis is short even then, as in a (1000000, 3) part of
 * a wider array, it changes places with a long axis, which is cut into blocks: [block, 3, slices of
 * a block]. A block's memory then stays in the cache. Before that, the axes along which operands
 * fill a cache line move inside, so that no line is read twice. */

enum {
    CWJ_SHORT_AXIS = 16, /* shorter axes make poor inner loops */
    CWJ_BLOCK = 512,     /* slices */
    CWJ_CACHE_LINE = 64, /* bytes */
    CWJ_FAR = 1024,      /* bytes: blocks are short if slices are farther apart */
    CWJ_LINE_OPERANDS = 8
};

typedef struct cwj_tile cwj_tile; /* tiles.c */

/* Axes are stored outermost first. steps[axis * noperands + k] is operand k's step along an axis,
 * in bytes. A plan does not change while slices run. */
typedef struct cwj_plan {
    int naxes; /* at least 1 */
    int noperands;
    npy_intp *dims;
    npy_intp *steps;
    char **base;    /* [noperands] the first slice */
    npy_intp total; /* slices; NPY_MAX_INTP if there are more */
    int block_axis; /* the axis that counts blocks of the last axis, or -1 */
    npy_intp tail;  /* length of the last axis in the last block */
    const cwj_tile *tile; /* the axes that the last axis replaces, or NULL */
    cwj_stage *stage;     /* NULL: no slices run on copies */
} cwj_plan;

/* Memory for a plan of one axis and few operands. Most calls need no more. */
typedef struct cwj_line {
    npy_intp dim;
    npy_intp steps[CWJ_LINE_OPERANDS];
    char *base[CWJ_LINE_OPERANDS];
} cwj_line;

/* The place of one thread in a plan. */
typedef struct cwj_cursor {
    npy_intp *at; /* [naxes] */
    char **data;  /* [noperands] */
    char *memory; /* for copies; NULL without a stage */
} cwj_cursor;

static npy_intp *
steps_of(const cwj_plan *plan, int axis)
{
    return plan->steps + (size_t)axis * (size_t)plan->noperands;
}

/* Moves axis `from` inwards to place `to`. The axes between move outwards by one place. */
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

/* Runs an axis from its other end if no operand has a positive step along it. */
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

/* Returns how far apart neighbours along an axis are in memory, summed over operands. Written operands count twice. */
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

/* Sorts the axes, the one with the closest neighbours innermost. Equal ones stay in C order. */
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

/* Returns the axes, as bits, with which operand k fills a cache line of `line` bytes. */
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

/* Returns the axes that near_axes() finds for any operand. */
static uint64_t
all_near_axes(const cwj_plan *plan, npy_intp line)
{
    uint64_t near = 0;
    for (int k = 0; k < plan->noperands; k++) {
        near |= near_axes(plan, k, line);
    }
    return near;
}

/* Moves these axes inside, in their order. Returns the first of them. */
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

/* Returns how long a block of an axis may be so that its cache lines stay in the cache. */
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

/* If the inner axis is short, puts the longest axis innermost: whole, or cut into blocks. */
static void
block_axes(cwj_plan *plan)
{
    int last = plan->naxes - 1, longest = 0;
    if (plan->dims[last] >= CWJ_SHORT_AXIS) {
        return;
    }
    /* The near axes go inside, so that a cache line is used up before it leaves the cache. */
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

/* Plans a call with at most one broadcast axis, in the memory of `line`. */
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

/* Plans any call, with its axes in C order. Returns 0, or -1 with MemoryError set. */
__attribute__((noinline)) static int
plan_axes(cwj_frame *frame, cwj_plan *plan)
{
    size_t noperands = (size_t)frame->noperands;
    size_t room = (size_t)frame->nextra + 1; /* blocks add one axis */
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

/* Opens a cursor on the first slice. Returns 0, or -1 with MemoryError set. */
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

/* Returns the length of the last axis at the cursor; the last block may be shorter. */
static npy_intp
turn_length(const cwj_plan *plan, const npy_intp *at)
{
    int block = plan->block_axis;
    if (block >= 0 && at[block] == plan->dims[block] - 1) {
        return plan->tail;
    }
    return plan->dims[plan->naxes - 1];
}

/* Returns the number of slices in a full block. */
static npy_intp
block_size(const cwj_plan *plan)
{
    npy_intp size = 1;
    for (int axis = plan->block_axis + 1; axis < plan->naxes; axis++) {
        size *= plan->dims[axis];
    }
    return size;
}

/* Splits `index` into at[first..last], where the last axis runs fastest. Returns the rest, for the axes outside. */
static npy_intp
split_index(const cwj_plan *plan, npy_intp *at, int first, int last, npy_intp index)
{
    for (int axis = last; axis >= first; axis--) {
        at[axis] = index % plan->dims[axis];
        index /= plan->dims[axis];
    }
    return index;
}

/* Like split_index(), for all axes of a plan with blocks. */
static void
split_blocked(const cwj_plan *plan, npy_intp *at, npy_intp index)
{
    int block = plan->block_axis, last = plan->naxes - 1;
    npy_intp size = block_size(plan);
    npy_intp turns = size / plan->dims[last]; /* turns over the axes between */
    npy_intp group = (plan->dims[block] - 1) * size + turns * plan->tail;
    npy_intp within = index % group;
    split_index(plan, at, 0, block - 1, index / group);
    at[block] = within / size; /* correct because the last block is not longer than the others */
    within -= at[block] * size;
    npy_intp length = turn_length(plan, at);
    at[last] = within % length;
    split_index(plan, at, block + 1, last - 1, within / length);
}

static inline void
move(const cwj_plan *plan, char **data, int axis, npy_intp count)
{
    const npy_intp *steps = steps_of(plan, axis);
    int noperands = plan->noperands;
    for (int k = 0; k < noperands; k++) {
        data[k] += count * steps[k];
    }
}

/* Moves the cursor to slice number `index` of the plan. */
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

/* Moves the cursor by one step of the axes outside the last one; after the last step, back to the first slice. */
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
