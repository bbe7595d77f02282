/* tiles.c: runs slices along many short axes, on copies of their elements.
 *
 * If operands lie in opposite orders, no two axes join; if the axes are also short, the loop would
 * run only a few slices at a time. Then several axes become one, and one turn of it is a tile: the
 * axes that fill a cache line for some operand, and the last ones of the output, along which the
 * loop runs. The elements of other operands in a tile are copied to memory without gaps, and back
 * if they may have changed. Lists say where the elements lie, in the order of memory, so that cache
 * lines are used up. */

enum {
    CWJ_TILE = 1024, /* slices */
    CWJ_LEAST_TILE = 256,
    CWJ_LEAST_TILES = 8, /* fewer are not worth the lists */
    CWJ_LEAST_TILED = 2048, /* slices */
    CWJ_LEAST_LINE = 8, /* bytes */
    CWJ_TILE_BYTES = 1 << 15 /* on the C stack */
};

typedef struct cwj_listed {
    npy_intp offset; /* bytes from the first slice of a tile */
    npy_intp slot;   /* index in the copy */
} cwj_listed;

struct cwj_tile {
    const cwj_function_decl *decl;
    npy_intp length; /* slices */
    npy_intp run; /* slices that run at a time; all if each operand is copied */
    npy_intp steps[CWJ_LINE_OPERANDS]; /* from slice to slice, as the loop sees them */
    cwj_listed *places[CWJ_LINE_OPERANDS]; /* [length] elements of a copied operand, or NULL */
    npy_intp *starts[CWJ_LINE_OPERANDS]; /* [length / run] the runs of the other operands */
};

static const npy_intp *
loop_steps(const cwj_plan *plan)
{
    return plan->tile != NULL    ? plan->tile->steps
           : plan->stage != NULL ? plan->stage->steps
                                 : steps_of(plan, plan->naxes - 1);
}

/* ---- which tiles --------------------------------------------------------- */

/* True if the loop could run only a few slices at a time. Otherwise blocks of a longer axis are faster. */
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

/* True if slices are single elements, run in any order and keep no addresses in a cookie, and axes are short. */
static int
wants_tiles(const cwj_frame *frame, const cwj_plan *plan)
{
    const cwj_runtime *runtime = frame->runtime;
    return (runtime->flags & CWJ_UNORDERED) && !runtime->has_core && plan->naxes > 1 &&
           plan->total >= CWJ_LEAST_TILED && plan->noperands <= CWJ_LINE_OPERANDS &&
           frame->decl->cookie_size == 0 && frame->stage == NULL && is_scattered(plan);
}

/* Sorts the axes by the steps of the last operand, usually an output. */
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

/* Chooses the axes of a tile, as bits: those that fill a cache line of an operand, and as many of the last ones as
 * there is room for. *length: slices of a tile; more than `most` if there is no room. */
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

/* True if operand k steps through the axes from `first` on as if they were one. */
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

/* Lists the elements of axes first..end - 1, axis by axis, those with the smallest steps first. */
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

/* Returns the first of the last axes along which the output is even, if they are long enough for a loop; otherwise
 * `first`. *length: the slices along them. */
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

/* Makes one axis of the axes of a tile. Returns 0, or -1 with MemoryError set. */
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

/* Makes tiles if they pay off. Returns 1; 0 if they do not; -1 with MemoryError set. */
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
    do { /* several short axes may fill only a part of a line */
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

/* Brings the axes into the fastest order. Returns 0, or -1 with MemoryError set. */
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

/* Plans the slices of a call that has at least one. Returns 0, or -1 with MemoryError set. */
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

/* Copies those elements whose slots are in at..at + count - 1 between an operand's memory and the slots. */
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

/* Runs the slices at..end - 1, on `slots` or on the operands themselves. */
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
        if (!run_loop(loop, data, &count, tile->steps, ctx)) {
            return 0;
        }
        at += count;
    }
    return 1;
}

/* Runs slices at..at + count - 1 of a tile; first[k] is operand k's first slice there. Outputs are read, too, because
 * slices may leave them as they are. */
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

/* Runs `count` slices from the cursor on; calls only compiled code. Returns 0 as soon as a slice returned false. */
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
                  : run_loop(loop, cursor->data, &turn, steps, ctx))) {
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
