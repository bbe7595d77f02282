/* tiles.c: slices along many short axes, on copies of their elements.
 *
 * Where operands lie in opposite orders no two axes join, and where these are short, the loop would run a few slices
 * at a time. There some axes become one, and a turn of it is a tile: those that fill a
 * line of the cache for some operand, and the last ones of the output, along which the loop runs. What other
 * operands have in a tile is copied to memory without gaps, and back where it may have changed. A list says where
 * the elements lie, in the order of memory, so that lines are used up.
 */

enum {
    CWJ_TILE = 1024, /* slices */
    CWJ_LEAST_TILE = 256,
    CWJ_LEAST_TILES = 8, /* lists are made once for all */
    CWJ_LEAST_TILED = 2048, /* slices */
    CWJ_LEAST_LINE = 8, /* bytes */
    CWJ_TILE_BYTES = 1 << 15 /* on the C stack */
};

typedef struct cwj_listed {
    npy_intp offset; /* bytes from the first slice of a tile */
    npy_intp slot;   /* of the copy */
} cwj_listed;

struct cwj_tile {
    const cwj_function_decl *decl;
    npy_intp length; /* slices */
    npy_intp run; /* so many of them run at a time; all, where each operand is copied */
    npy_intp steps[CWJ_LINE_OPERANDS]; /* from slice to slice, as the loop sees them */
    cwj_listed *places[CWJ_LINE_OPERANDS]; /* [length] of an operand that is copied, or NULL */
    npy_intp *starts[CWJ_LINE_OPERANDS]; /* [length / run] of the others: where runs begin */
};

static const npy_intp *
loop_steps(const cwj_plan *plan)
{
    return plan->tile != NULL    ? plan->tile->steps
           : plan->stage != NULL ? plan->stage->steps
                                 : steps_of(plan, plan->naxes - 1);
}

/* ---- which tiles --------------------------------------------------------- */

/* Slices that the loop could run at a time are few: blocks of a longer axis do better, on what lies there. */
static int
is_scattered(const cwj_plan *plan)
{
    for (int axis = 0; axis < plan->naxes; axis++) {
        if (plan->dims[axis] >= CWJ_SHORT_AXIS) {
            return 0;
        }
    }
    return 1;
}

/* Slices of one element that may run in any order, and keep no addresses in a cookie. */
static int
wants_tiles(const cwj_frame *frame, const cwj_plan *plan)
{
    const cwj_runtime *runtime = frame->runtime;
    return (runtime->flags & CWJ_UNORDERED) && !runtime->has_core && plan->naxes > 1 &&
           plan->total >= CWJ_LEAST_TILED && plan->noperands <= CWJ_LINE_OPERANDS &&
           frame->decl->cookie_size == 0 && frame->stage == NULL && is_scattered(plan);
}

/* Axes as they lie in the last operand, which is an output. */
static void
sort_as_output(cwj_plan *plan)
{
    int k = plan->noperands - 1;
    for (int axis = plan->naxes - 1; axis >= 0; axis--) {
        int to = axis;
        while (to + 1 < plan->naxes && distance(plan, axis, k) < distance(plan, to + 1, k)) {
            to++;
        }
        sink_axis(plan, axis, to);
    }
}

/* The axes of a tile, as bits: what fills a line of each operand's, and as many of the last ones as there is room
 * for. *length: its slices; above `most` where there is no room. */
static uint64_t
choose_axes(const cwj_plan *plan, npy_intp most, npy_intp line, npy_intp *length)
{
    uint64_t axes = all_near_axes(plan, line);
    *length = 1;
    for (int axis = 0; axis < plan->naxes; axis++) {
        if (axes >> axis & 1) {
            *length = plan->dims[axis] <= most / *length ? *length * plan->dims[axis] : most + 1;
        }
    }
    for (int axis = plan->naxes - 1; axis >= 0 && *length <= most; axis--) {
        if (!(axes >> axis & 1)) {
            if (plan->dims[axis] > most / *length) {
                break;
            }
            axes |= (uint64_t)1 << axis;
            *length *= plan->dims[axis];
        }
    }
    return axes;
}

/* Operand k steps through these axes and all within as through one. */
static int
is_even(const cwj_plan *plan, int k, int first)
{
    npy_intp turn = steps_of(plan, plan->naxes - 1)[k];
    for (int axis = plan->naxes - 1; axis >= first; axis--) {
        if (steps_of(plan, axis)[k] != turn) {
            return 0;
        }
        turn *= plan->dims[axis];
    }
    return 1;
}

/* Where the places of some axes are: axis by axis, those with the closest neighbours first. */
static void
list_places(const cwj_plan *plan, int k, int first, int end, cwj_listed *places)
{
    npy_intp count = 1;
    places[0] = (cwj_listed){0, 0};
    for (uint64_t done = 0; done + 1 < (uint64_t)1 << (end - first);) {
        int closest = -1;
        npy_intp slot = 1, slots = 1;
        for (int axis = end - 1; axis >= first; slots *= plan->dims[axis--]) {
            if (!(done >> (axis - first) & 1) &&
                (closest < 0 || distance(plan, axis, k) < distance(plan, closest, k))) {
                closest = axis;
                slot = slots;
            }
        }
        npy_intp step = steps_of(plan, closest)[k];
        for (npy_intp i = count; i < count * plan->dims[closest]; i++) {
            const cwj_listed *before = &places[i - count];
            places[i] = (cwj_listed){before->offset + step, before->slot + slot};
        }
        count *= plan->dims[closest];
        done |= (uint64_t)1 << (closest - first);
    }
}

/* The axes of a tile along which the output is even, if that is worth a turn of the loop; else all. */
static int
first_of_run(const cwj_plan *plan, int first, npy_intp *length)
{
    int run = plan->naxes;
    *length = 1;
    while (run > first && is_even(plan, plan->noperands - 1, run - 1)) {
        *length *= plan->dims[--run];
    }
    if (*length < CWJ_SHORT_AXIS) {
        for (; run > first; run--) {
            *length *= plan->dims[run - 1];
        }
    }
    return run;
}

/* Makes the axes of a tile one. Returns 0, or -1 with MemoryError. */
static int
list_tile(cwj_frame *frame, cwj_plan *plan, int first, npy_intp length)
{
    cwj_tile *tile = frame_alloc(frame, 1, sizeof(*tile));
    cwj_listed *listed = frame_alloc(frame, (size_t)length, sizeof(*listed));
    if (tile == NULL || listed == NULL) {
        return -1;
    }
    int run = first_of_run(plan, first, &tile->run);
    tile->decl = frame->decl;
    tile->length = length;
    for (int k = 0; k < plan->noperands; k++) {
        int stays = is_even(plan, k, run);
        int end = stays ? run : plan->naxes;
        npy_intp count = stays ? length / tile->run : length;
        tile->steps[k] = stays ? steps_of(plan, plan->naxes - 1)[k] : frame->states[k].itemsize;
        void *list = frame_alloc(frame, (size_t)count, stays ? sizeof(npy_intp) : sizeof(*listed));
        if (list == NULL) {
            return -1;
        }
        tile->places[k] = stays ? NULL : list;
        tile->starts[k] = list;
        list_places(plan, k, first, end, stays ? listed : list);
        for (npy_intp i = 0; stays && i < count; i++) {
            tile->starts[k][listed[i].slot] = listed[i].offset;
        }
    }
    /* A cursor stays at the first slice of a tile. */
    memset(steps_of(plan, first), 0, (size_t)plan->noperands * sizeof(npy_intp));
    plan->dims[first] = length;
    plan->naxes = first + 1;
    plan->tile = tile;
    return 0;
}

/* Returns 1, 0 where a tile would not pay, or -1 with MemoryError. */
static int
lay_tiles(cwj_frame *frame, cwj_plan *plan)
{
    npy_intp bytes = 0;
    for (int k = 0; k < plan->noperands; k++) {
        bytes += frame->states[k].itemsize;
    }
    npy_intp most = bytes * CWJ_TILE <= CWJ_TILE_BYTES ? CWJ_TILE : CWJ_TILE_BYTES / bytes;
    size_t ndims = (size_t)plan->naxes * sizeof(npy_intp), nsteps = ndims * (size_t)plan->noperands;
    char *before = frame_alloc(frame, 1, ndims + nsteps);
    if (before == NULL) {
        return -1;
    }
    memcpy(before, plan->dims, ndims);
    memcpy(before + ndims, plan->steps, nsteps);
    sort_as_output(plan);
    npy_intp line = CWJ_CACHE_LINE, length;
    uint64_t axes;
    do { /* of several short axes a part of a line */
        axes = choose_axes(plan, most, line, &length);
        line /= 2;
    } while (length > most && line >= CWJ_LEAST_LINE);
    if (length > most || length < CWJ_LEAST_TILE || plan->total / length < CWJ_LEAST_TILES) {
        memcpy(plan->dims, before, ndims);
        memcpy(plan->steps, before + ndims, nsteps);
        return 0;
    }
    return list_tile(frame, plan, sink_axes(plan, axes), length) < 0 ? -1 : 1;
}

/* Brings axes into the order in which they run best. Returns 0, or -1 with MemoryError. */
static int
arrange_axes(cwj_frame *frame, cwj_plan *plan)
{
    int unordered = (frame->runtime->flags & CWJ_UNORDERED) != 0, laid = 0;
    if (unordered) {
        sort_axes(plan, frame->decl);
    }
    if (plan->naxes > 1) {
        plan->naxes = cwj_join_axes(plan->naxes, plan->noperands, plan->dims, plan->steps);
    }
    if (wants_tiles(frame, plan)) {
        laid = lay_tiles(frame, plan);
    }
    if (laid == 0 && plan->naxes > 1 && unordered) {
        block_axes(plan);
    }
    return laid < 0 ? -1 : 0;
}

/* There is one slice at least. Returns 0, or -1 with MemoryError. */
static inline int
plan_slices(cwj_frame *frame, cwj_plan *plan, cwj_line *line)
{
    if (frame->nextra <= 1 && frame->noperands <= CWJ_LINE_OPERANDS) {
        plan_line(frame, plan, line);
        return 0;
    }
    return plan_axes(frame, plan) < 0 ? -1 : arrange_axes(frame, plan);
}

/* ---- running one --------------------------------------------------------- */

/* Between an operand's memory and slots, of which there are `count` from number `at` on. */
static inline __attribute__((always_inline)) void
copy_places(char *slots, char *data, const cwj_listed *place, npy_intp length, npy_intp at,
            npy_intp count, int back, size_t size)
{
    for (const cwj_listed *end = place + length; place < end; place++) {
        npy_uintp slot = (npy_uintp)place->slot;
        if (slot - (npy_uintp)at < (npy_uintp)count) {
            memcpy(back ? data + place->offset : slots + slot * size,
                   back ? slots + slot * size : data + place->offset, size);
        }
    }
}

/* The runs of slices `at` to `end`, on `slots` or where operands lie. */
static int
run_runs(const cwj_tile *tile, int noperands, char **first, char **slots, cwj_loop *loop,
         npy_intp at, npy_intp end, void *ctx)
{
    char *data[CWJ_LINE_OPERANDS];
    while (at < end) {
        npy_intp run = at / tile->run, within = at % tile->run;
        npy_intp count = tile->run - within < end - at ? tile->run - within : end - at;
        for (int k = 0; k < noperands; k++) {
            data[k] = tile->places[k] != NULL
                          ? slots[k] + at * tile->steps[k]
                          : first[k] + tile->starts[k][run] + within * tile->steps[k];
        }
        if (!loop(data, &count, tile->steps, ctx)) {
            return 0;
        }
        at += count;
    }
    return 1;
}

/* Slices `at` to at + count of a tile, whose first slice lies at first[k]. Outputs are copied, too: slices may
 * leave what is there. */
__attribute__((noinline)) static int
run_tile(const cwj_tile *tile, int noperands, char **first, cwj_loop *loop, npy_intp at,
         npy_intp count, void *ctx)
{
    _Alignas(CWJ_CACHE_LINE) char memory[CWJ_TILE_BYTES];
    char *slots[CWJ_LINE_OPERANDS], *room = memory;
    for (int k = 0; k < noperands; k++) {
        slots[k] = room;
        if (tile->places[k] != NULL) {
            room += tile->length * tile->steps[k];
            CWJ_OF_SIZE(tile->steps[k], copy_places, slots[k], first[k], tile->places[k],
                        tile->length, at, count, 0)
        }
    }
    int accepted = run_runs(tile, noperands, first, slots, loop, at, at + count, ctx);
    for (int k = 0; k < noperands; k++) {
        if (tile->places[k] != NULL && tile->decl->operands[k].role != CWJ_IN) {
            CWJ_OF_SIZE(tile->steps[k], copy_places, slots[k], first[k], tile->places[k],
                        tile->length, at, count, 1)
        }
    }
    return accepted;
}

/* Runs `count` slices from the cursor on, compiled code only. Returns 0 as soon
 * as one returned false. */
static int
run_from(const cwj_plan *plan, cwj_cursor *cursor, cwj_loop *loop, npy_intp count, void *ctx)
{
    int last = plan->naxes - 1;
    const npy_intp *steps = steps_of(plan, last);
    while (count > 0) {
        npy_intp at = cursor->at[last], length = turn_length(plan, cursor->at);
        npy_intp turn = length - at < count ? length - at : count;
        if (!(plan->tile != NULL
                  ? run_tile(plan->tile, plan->noperands, cursor->data, loop, at, turn, ctx)
              : plan->stage != NULL
                  ? run_staged(plan->stage, cursor->data, steps, cursor->memory, loop, turn, ctx)
                  : loop(cursor->data, &turn, steps, ctx))) {
            return 0;
        }
        count -= turn;
        if (at + turn < length) {
            cursor->at[last] += turn;
            move(plan, cursor->data, last, turn);
            continue;
        }
        if (at != 0) { /* the turn began in another chunk */
            cursor->at[last] = 0;
            move(plan, cursor->data, last, -at);
        }
        next_turn(plan, cursor);
    }
    return 1;
}
