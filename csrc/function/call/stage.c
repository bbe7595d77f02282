/* stage.c: runs slices on copies, a few at a time, if an array does not have the layout that C
 * needs.
 *
 * With cast="safe" or "same_kind" arrays may have another type or byte order, or be unaligned; they
 * may also be strided if Ccode_validate requires contiguous slices. The thread that runs the slices
 * copies what they see to its own memory, and copies back what they may have changed. So a call
 * needs only a block of memory per thread, which stays in the cache. cast.c converts numbers.
 *
 * Whole arrays are copied if snippets can look beyond slices (CWJ_WHOLE) or keep addresses. */

enum {
    CWJ_STAGE_ALIGN = 64,      /* bytes of a cache line */
    CWJ_STAGE_BYTES = 1 << 13, /* of all operands, but at least one slice */
    CWJ_STAGE_MOST = 1 << 20,  /* bytes, if slices lie interleaved */
    CWJ_STAGE_RUN = 8,         /* elements: shorter runs are slow */
    CWJ_STAGE_NEAR = 1 << 15   /* bytes that stay in the cache */
};

#define CWJ_MOST_BYTES \
    ((npy_intp)1 << 46) /* of a slice: more than machines have, and sums cannot overflow */

/* An axis of what is copied; number 0 counts the slices. */
typedef struct cwj_stage_axis {
    npy_intp dim;
    npy_intp step;   /* bytes in the array */
    npy_intp packed; /* bytes in the copy */
} cwj_stage_axis;

/* An operand whose slices run on copies. */
typedef struct cwj_staged {
    int k;
    int reads;                        /* slices see what is in the array; otherwise zeros */
    int writes;                       /* what slices write is copied back */
    int ndim;                         /* of a slice */
    cwj_stage_axis *axes;             /* [1 + ndim] */
    npy_intp count;                   /* elements of a slice */
    npy_intp size, array_size;        /* bytes of an element: in C, and in the array */
    int swaps; /* parts of an element whose bytes are swapped, or 0 */
    int casts;                        /* the array's type is not C's */
    cwj_cast to_c, to_array;          /* for reading, and for writing */
    npy_intp at, raw_at; /* bytes: offsets in a thread's memory, of C's slices and before a cast */
} cwj_staged;

struct cwj_stage {
    int nstaged;
    cwj_staged *staged;
    int noperands; /* of the call */
    npy_intp *steps; /* [noperands] as loops see them (settle_stage()) */
    npy_intp slices; /* at most so many are copied at a time */
    npy_intp bytes; /* of a thread's memory; see open_memory() */
};

/* ---- which operands -------------------------------------------------------- */

/* Computes the dims and strides of operand k's slices in the array, and the strides that C sees, in packed. Returns 0,
 * or -1 with MemoryError set. */
static int
lay_stage(cwj_frame *frame, cwj_staged *staged, npy_intp *packed)
{
    const cwj_operand *operand = &frame->operands[staged->k];
    staged->ndim = (int)operand->ndims_slice;
    staged->axes = frame_alloc(frame, (size_t)staged->ndim + 1, sizeof(cwj_stage_axis));
    if (staged->axes == NULL) {
        return -1;
    }
    npy_intp count = 1;
    for (int i = staged->ndim - 1; i >= 0; i--) {
        npy_intp dim = operand->dims_slice[i];
        staged->axes[1 + i] =
            (cwj_stage_axis){dim, operand->strides_slice[i], count * staged->array_size};
        packed[i] = count * staged->size;
        if (dim > 0 && count > CWJ_MOST_BYTES / dim / (staged->size + staged->array_size)) {
            PyErr_NoMemory();
            return -1;
        }
        count *= dim;
    }
    staged->axes[0].packed = count * staged->array_size;
    staged->count = count;
    return 0;
}

/* Opens a stage without operands. Returns 0, or -1 with MemoryError set. */
static int
open_stage(cwj_frame *frame)
{
    size_t noperands = (size_t)frame->noperands;
    cwj_stage *stage = frame_alloc_zeroed(frame, 1, sizeof(cwj_stage));
    if (stage == NULL) {
        return -1;
    }
    stage->staged = frame_alloc_zeroed(frame, noperands, sizeof(cwj_staged));
    stage->steps = frame_alloc(frame, noperands, sizeof(npy_intp));
    stage->noperands = frame->noperands;
    frame->stage = stage;
    return stage->staged == NULL || stage->steps == NULL ? -1 : 0;
}

/* Makes slices of operand k run on copies, which snippets then see. Returns 0, or -1 with an exception set. */
static int
stage_operand(cwj_frame *frame, int k)
{
    const cwj_state *state = &frame->states[k];
    cwj_operand *operand = &frame->operands[k];
    size_t ndim = (size_t)operand->ndims_full;
    npy_intp *strides = frame_alloc(frame, ndim, sizeof(npy_intp));
    if (note_copy(frame, k) < 0 || strides == NULL ||
        (frame->stage == NULL && open_stage(frame) < 0)) {
        return -1;
    }
    PyArray_Descr *own = PyArray_DESCR(state->array);
    const cwj_type *type = type_of(frame, k);
    int same = canonical_type(own->type_num) == type->type_num;
    int role = frame->decl->operands[k].role;
    int swaps = PyArray_ISNOTSWAPPED(state->array) ? 0 : PyTypeNum_ISCOMPLEX(own->type_num) ? 2 : 1;
    cwj_staged *staged = &frame->stage->staged[frame->stage->nstaged++];
    *staged = (cwj_staged){.k = k,
                           .casts = !same,
                           .reads = same || role != CWJ_OUT,
                           .writes = role != CWJ_IN,
                           .array_size = state->itemsize,
                           .size = same ? state->itemsize : type->itemsize,
                           .swaps = swaps};
    PyArray_Descr *wanted = descrs_of(frame->runtime, frame->typeset_index)[k];
    if (!same) {
        find_casts(frame, k, own, wanted, &staged->to_c, &staged->to_array);
    }
    memcpy(strides, state->strides, ndim * sizeof(npy_intp));
    if (lay_stage(frame, staged, strides + ndim - operand->ndims_slice) < 0) {
        return -1;
    }
    fill_operand(operand, (int)ndim, staged->ndim, state->dims, strides, staged->size, state->data);
    return 0;
}

static npy_intp
up_to_line(npy_intp bytes)
{
    return (bytes + CWJ_STAGE_ALIGN - 1) / CWJ_STAGE_ALIGN * CWJ_STAGE_ALIGN;
}

/* Returns the bytes from one element to the next. */
static npy_uintp
length_of(const cwj_stage_axis *axis)
{
    npy_uintp step = (npy_uintp)axis->step;
    return axis->step < 0 ? 0 - step : step;
}

/* Returns how many slices share a cache line while their own elements are far apart, as in arrays in Fortran order; 1 if
 * they do not. */
static npy_intp
count_interleaved(const cwj_staged *staged)
{
    npy_uintp step = length_of(&staged->axes[0]), farthest = 0;
    for (int i = 1; i <= staged->ndim; i++) {
        npy_uintp own = staged->axes[i].dim > 1 ? length_of(&staged->axes[i]) : 0;
        farthest = own > farthest ? own : farthest;
    }
    return step > 0 && farthest >= CWJ_STAGE_ALIGN ? CWJ_STAGE_ALIGN / (npy_intp)step : 1;
}

/* Computes how many slices are copied at a time, and where to. A shared operand has one copy. */
static void
size_stage(cwj_stage *stage)
{
    npy_intp each = 1, interleaved = 1;
    npy_intp at = up_to_line((stage->noperands + stage->nstaged) * (npy_intp)sizeof(char *));
    for (int i = 0; i < stage->nstaged; i++) {
        const cwj_staged *staged = &stage->staged[i];
        npy_intp size = staged->size + (staged->casts ? staged->array_size : 0);
        npy_intp lying = count_interleaved(staged);
        each += staged->axes[0].step == 0 ? 0 : staged->count * size;
        interleaved = lying > interleaved ? lying : interleaved;
    }
    npy_intp usual = CWJ_STAGE_BYTES / each, most = CWJ_STAGE_MOST / each;
    if (interleaved <= most) { /* fewer would not fill a tile */
        usual = usual < interleaved ? interleaved : usual - usual % interleaved;
    }
    stage->slices = usual > 0 ? usual : 1;
    for (int i = 0; i < stage->nstaged; i++) {
        cwj_staged *staged = &stage->staged[i];
        npy_intp count = staged->count * (staged->axes[0].step == 0 ? 1 : stage->slices);
        staged->at = staged->raw_at = at;
        at += up_to_line(count * staged->size);
        if (staged->casts) {
            staged->raw_at = at;
            at += up_to_line(count * staged->array_size);
        }
    }
    stage->bytes = at + CWJ_STAGE_ALIGN; /* so that it can begin at a cache line */
}

/* Sets the steps along the inner axis that loops see, and the size of a thread's memory. */
static void
settle_stage(cwj_stage *stage, const npy_intp *steps)
{
    memcpy(stage->steps, steps, (size_t)stage->noperands * sizeof(npy_intp));
    for (int i = 0; i < stage->nstaged; i++) {
        cwj_staged *staged = &stage->staged[i];
        npy_intp *step = &stage->steps[staged->k];
        staged->axes[0].step = *step;
        *step = *step == 0 ? 0 : staged->count * staged->size;
    }
    size_stage(stage);
}

/* Prepares a thread's memory, which has stage->bytes bytes: [noperands] addresses of slices; [nstaged] addresses in the
 * array of shared slices that are copied already; the copies. Returns its aligned start. */
static char *
open_memory(const cwj_stage *stage, char *memory)
{
    memory += -(npy_uintp)memory & (CWJ_STAGE_ALIGN - 1);
    memset(memory, 0, (size_t)(stage->noperands + stage->nstaged) * sizeof(char *));
    return memory;
}

/* ---- copies -------------------------------------------------------------------- */

/* A copy between an array and memory without gaps, in either direction. */
typedef struct cwj_copy {
    cwj_stage_axis axes[NPY_MAXDIMS + 2]; /* innermost first */
    int naxes;
    const cwj_stage_axis *outer, *inner; /* the axes of a plane */
    npy_intp size; /* bytes of an element */
    int swaps, back;
} cwj_copy;

/* Adds an axis outside the others; makes one axis of both if elements lie evenly along them. */
static void
add_axis(cwj_copy *copy, npy_intp dim, npy_intp step, npy_intp packed)
{
    if (dim == 1) {
        return;
    }
    if (copy->naxes > 0) {
        cwj_stage_axis *inside = &copy->axes[copy->naxes - 1];
        if ((npy_uintp)step == (npy_uintp)inside->dim * (npy_uintp)inside->step) {
            inside->dim *= dim;
            return;
        }
    }
    copy->axes[copy->naxes++] = (cwj_stage_axis){dim, step, packed};
}

/* Describes a copy of slices. Parts of elements whose bytes are swapped become elements. */
static void
lay_copy(cwj_copy *copy, const cwj_staged *staged, npy_intp slices)
{
    npy_intp parts = staged->swaps > 1 ? staged->swaps : 1;
    copy->naxes = 0;
    copy->swaps = staged->swaps > 0;
    copy->size = staged->array_size / parts;
    add_axis(copy, parts, copy->size, copy->size);
    for (int i = staged->ndim; i > 0; i--) {
        const cwj_stage_axis *axis = &staged->axes[i];
        add_axis(copy, axis->dim, axis->step, axis->packed);
    }
    add_axis(copy, slices, staged->axes[0].step, staged->axes[0].packed);
}

/* True if nothing but a cast is needed. */
static int
is_packed(const cwj_copy *copy)
{
    return !copy->swaps &&
           (copy->naxes == 0 || (copy->naxes == 1 && copy->axes[0].step == copy->size));
}

/* Chooses the axes of a plane: those with the smallest steps in the array, the smallest inside. A short axis changes
 * places with the longest one if all that this one passes stays in the cache. */
static void
choose_plane(cwj_copy *copy)
{
    static const cwj_stage_axis none = {.dim = 1, .step = NPY_MAX_INTP};
    const cwj_stage_axis *longest = &none;
    copy->inner = copy->outer = &none;
    for (int i = 0; i < copy->naxes; i++) {
        const cwj_stage_axis *axis = &copy->axes[i];
        longest = axis->dim > longest->dim ? axis : longest;
        if (length_of(axis) < length_of(copy->inner)) {
            copy->outer = copy->inner;
            copy->inner = axis;
        } else if (length_of(axis) < length_of(copy->outer)) {
            copy->outer = axis;
        }
    }
    npy_uintp apart = length_of(longest) < CWJ_STAGE_ALIGN ? length_of(longest) : CWJ_STAGE_ALIGN;
    if (copy->inner->dim < CWJ_STAGE_RUN && (npy_uintp)longest->dim * apart < CWJ_STAGE_NEAR) {
        copy->outer = longest == copy->inner ? copy->outer : copy->inner;
        copy->inner = longest;
    }
}

static void
copy_plane(const cwj_copy *copy, char *packed, char *array)
{
    const cwj_stage_axis *outer = copy->outer, *inner = copy->inner;
    cwj_rows_step own = {outer->packed, inner->packed}, theirs = {outer->step, inner->step};
    cwj_rows rows = {own, theirs, outer->dim, inner->dim};
    size_t size = (size_t)copy->size;
    if (copy->back) {
        rows.to = theirs;
        rows.from = own;
        copy_rows(&rows, array, packed, copy->swaps, size);
    } else {
        copy_rows(&rows, packed, array, copy->swaps, size);
    }
}

/* Copies all planes, along the axes from number `axis` on inwards. */
static void
copy_planes(const cwj_copy *copy, int axis, char *packed, char *array)
{
    if (axis < 0) {
        copy_plane(copy, packed, array);
        return;
    }
    const cwj_stage_axis *of = &copy->axes[axis];
    npy_intp dim = of == copy->outer || of == copy->inner ? 1 : of->dim;
    for (npy_intp i = 0; i < dim; i++) {
        copy_planes(copy, axis - 1, packed + i * of->packed, array + i * of->step);
    }
}

static void
run_copy(cwj_copy *copy, char *packed, char *array, int back)
{
    copy->back = back;
    choose_plane(copy);
    copy_planes(copy, copy->naxes - 1, packed, array);
}

/* Copies slices from the array to a thread's memory. `array` is the first slice. */
static void
read_slices(const cwj_staged *staged, char *memory, char *array, npy_intp slices)
{
    cwj_copy copy;
    char *own = memory + staged->at, *raw = memory + staged->raw_at;
    npy_intp count = slices * staged->count;
    if (!staged->reads) {
        memset(own, 0, (size_t)(count * staged->size));
        return;
    }
    lay_copy(&copy, staged, slices);
    if (staged->casts && is_packed(&copy)) {
        raw = array;
    } else {
        run_copy(&copy, raw, array, 0);
    }
    if (staged->casts) {
        convert_row(&staged->to_c, own, raw, count);
    }
}

/* Copies what slices may have changed back to the array. */
static void
write_slices(const cwj_staged *staged, char *memory, char *array, npy_intp slices)
{
    cwj_copy copy;
    char *own = memory + staged->at, *raw = memory + staged->raw_at;
    npy_intp count = slices * staged->count;
    lay_copy(&copy, staged, slices);
    if (staged->casts && is_packed(&copy)) {
        convert_row(&staged->to_array, array, own, count);
        return;
    }
    if (staged->casts) {
        convert_row(&staged->to_array, raw, own, count);
    }
    run_copy(&copy, raw, array, 1);
}

/* Copies a block of slices of every staged operand from the arrays, and stores in data[k] where the copies are. An
 * operand that all slices share (step 0) is copied only if it differs from the one of the last block. */
static void
read_block(const cwj_stage *stage, char *memory, npy_intp slices)
{
    char **data = (char **)memory, **common = data + stage->noperands;
    for (int i = 0; i < stage->nstaged; i++) {
        const cwj_staged *staged = &stage->staged[i];
        char *array = data[staged->k];
        if (staged->axes[0].step != 0) {
            read_slices(staged, memory, array, slices);
        } else if (common[i] != array) {
            read_slices(staged, memory, array, 1);
            common[i] = array;
        }
        data[staged->k] = memory + staged->at;
    }
}

/* Runs `count` slices in a thread's memory; first[k] is operand k's first slice. Outputs are read, too, unless they
 * have another type, because slices may leave them as they are. */
static int
run_staged(const cwj_stage *stage, char **first, const npy_intp *steps, char *memory,
           cwj_loop *loop, npy_intp count, void *ctx)
{
    char **data = (char **)memory;
    int accepted = 1;
    for (npy_intp done = 0, slices; accepted && done < count; done += slices) {
        slices = count - done < stage->slices ? count - done : stage->slices;
        for (int k = 0; k < stage->noperands; k++) {
            data[k] = first[k] + done * steps[k];
        }
        read_block(stage, memory, slices);
        accepted = run_loop(loop, data, &slices, stage->steps, ctx);
        for (int i = 0; i < stage->nstaged; i++) {
            const cwj_staged *staged = &stage->staged[i];
            npy_intp step = steps[staged->k];
            if (staged->writes && (accepted || staged->reads)) {
                write_slices(staged, memory, first[staged->k] + done * step,
                             step == 0 ? 1 : slices);
            }
        }
    }
    return accepted;
}
