/* frame.c: holds the memory of one running call.
 *
 * A frame lives on the C stack. Memory of variable size (operands, dims, steps, the cookie) comes from an arena inside
 * it. Only calls with very many operands or dims, or with a large cookie, use the heap. */

/* Calls take tens of nanoseconds. These macros keep the code for errors out of their way. */
#define CWJ_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define CWJ_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define CWJ_COLD __attribute__((cold, noinline))
#define CWJ_APART __attribute__((noinline))
/* Put this into the body of a loop over a few items. It keeps compilers from optimising the loop: setting up vector
 * code or calling memset() would take longer than the loop itself. */
#define CWJ_SHORT_LOOP() __asm__ volatile("")

enum {
    CWJ_ARENA_BYTES = 2560,
    CWJ_ALIGN = 16,
    CWJ_SCALAR_BYTES = 32
};

/* Allocates memory for code that may not hold the GIL. These blocks are counted. */
static ptrdiff_t held_blocks;

static void *
hold_block(size_t size)
{
    void *block = malloc(size);
    __atomic_fetch_add(&held_blocks, block != NULL, __ATOMIC_RELAXED);
    return block;
}

static void
drop_block(void *block)
{
    __atomic_fetch_sub(&held_blocks, block != NULL, __ATOMIC_RELAXED);
    free(block);
}

#ifndef CWJ_STANDALONE
ptrdiff_t
cwj_call_blocks(void)
{
    return __atomic_load_n(&held_blocks, __ATOMIC_RELAXED);
}
#endif

/* A heap block of the arena, freed with the frame. */
typedef struct cwj_block {
    _Alignas(CWJ_ALIGN) struct cwj_block *next; /* and so are the bytes after it */
} cwj_block;

/* An operand of the running call. ndim, dims, strides and data describe the caller's array. They
 * describe `scalar` if the operand is a Python number or a new 0-d output, which need no array. */
typedef struct cwj_state {
    PyArrayObject *array; /* borrowed; NULL: a scalar, or not known yet */
    PyObject *owned;      /* a reference to drop at the end, or NULL */
    PyObject *weak;       /* borrowed: a number that is not converted yet */
    int nextra;           /* number of broadcast dims; < 0: core dims are missing */
    int ndim;
    npy_intp *dims;    /* borrowed */
    npy_intp *strides; /* borrowed, bytes */
    npy_intp itemsize; /* bytes */
    char *data;
    _Alignas(CWJ_ALIGN) char scalar[CWJ_SCALAR_BYTES];
} cwj_state;

/* The unit of all datetimes of a call (units.c). */
typedef struct cwj_unit {
    PyArray_DatetimeMetaData meta;
    PyArray_Descr *descrs[2]; /* owned: datetime64 and timedelta64 of this unit; NULL without one */
    int mixed; /* arrays have different units, which convert to this one */
    int none; /* no array has a unit, or they have no common one */
} cwj_unit;

/* The array of an input that is a window. The operand's state describes all windows instead: how
 * many there are along each axis of the array, then the dims of one window. */
typedef struct cwj_view {
    const cwj_window *window; /* borrowed; NULL: the operand is not a window */
    int ndim; /* of the array */
    npy_intp *dims;
    npy_intp *strides;
    int *moves; /* [ndim] the core dim that moves along an axis, or -1 */
    npy_intp *direct; /* [ndim + ncore] strides of windows in the array itself */
    npy_intp *gathered; /* the same in the copy of windows that reach over the border */
} cwj_view;

/* The progress of a call that is not short (progress.c). */
typedef struct cwj_progress {
    PyObject *shown; /* owned: the object that shows it, or NULL */
    npy_intp before; /* slices of earlier runs of this call */
    npy_intp total; /* slices of the call */
    npy_intp told; /* slices done at the last report */
    unsigned long long began; /* ns, 0: not known yet */
    unsigned long long next; /* ns: the earliest time of the next report */
} cwj_progress;

typedef struct cwj_stage cwj_stage; /* stage.c */

/* The outputs that the caller gives, by position or by out=. */
typedef struct cwj_given {
    PyObject *const *outputs; /* [noutputs] borrowed; None: a new one. NULL: all are new */
    PyObject *whole; /* borrowed: a tuple or list that has all of them and is the result, or NULL */
} cwj_given;

typedef struct cwj_frame {
    cwj_call call; /* first: compiled code gets a pointer to it as ctx */
    cwj_runtime *runtime;
    const cwj_function_decl *decl;
    PyThreadState *released; /* not NULL: this call has released the GIL */

    PyObject *const *inputs; /* [ninputs] borrowed arguments */
    PyObject **slots; /* borrowed: inputs, out, extras; NULL: no extras given */
    cwj_given given;
    PyObject *held; /* owned: the items of a list given as out, or NULL; set only with slots */
    int noperands; /* inputs, then outputs */
    int owned_from, owned_to; /* operands whose state.owned is filled, the last excluded */
    cwj_state *states; /* [noperands] */
    cwj_operand *operands; /* [noperands] as snippets see them */
    int typeset_index; /* the one that matched; -1: none yet */
    cwj_unit unit; /* set only if runtime->has_units */

    npy_intp *named; /* [nnamed] lengths of named dims; -1: unknown */
    int *named_by; /* [nnamed] operands that set them; -1: computed */
    int nextra; /* number of broadcast dims, with those of given outputs */
    npy_intp *extra; /* [nextra] lengths; do not write: may be an operand's dims */
    npy_intp *result; /* [nextra] what the inputs alone broadcast to */

    cwj_view *views; /* [noperands], or NULL: no input is a window */
    cwj_stage *stage; /* NULL: no slices run on copies */
    int is_foreign; /* runtime->foreign makes the call */
    int at_border; /* the slices that run are not typical: their cost is not measured */
    cwj_progress progress; /* set only in calls that are not short, before their first slices */

    size_t used; /* bytes used of the arena */
    cwj_block *blocks;
    _Alignas(CWJ_ALIGN) char arena[CWJ_ARENA_BYTES];
} cwj_frame;

/* The call whose slices this thread runs without the GIL, or NULL. The entry points of snippet_api.c find the call
 * here, because they have no argument for it. It is set only while slices run and no Python code does, because
 * libraries that switch C stacks (greenlet) do so in Python code. */
static _Thread_local cwj_frame *cwj_running;

static CWJ_COLD void *
frame_alloc_block(cwj_frame *frame, size_t bytes)
{
    cwj_block *block = PyMem_Malloc(sizeof(cwj_block) + bytes);
    if (block == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    block->next = frame->blocks;
    frame->blocks = block;
    return block + 1;
}

/* Returns memory for count items of size bytes, not zeroed, aligned to CWJ_ALIGN. It lives as long as the frame. NULL
 * with MemoryError set. */
static inline void *
frame_alloc(cwj_frame *frame, size_t count, size_t size)
{
    if (CWJ_UNLIKELY(size != 0 && count > (PY_SSIZE_T_MAX / 2) / size)) {
        PyErr_NoMemory();
        return NULL;
    }
    size_t bytes = (count * size + CWJ_ALIGN - 1) / CWJ_ALIGN * CWJ_ALIGN;
    if (CWJ_UNLIKELY(bytes > CWJ_ARENA_BYTES - frame->used)) {
        return frame_alloc_block(frame, bytes);
    }
    void *memory = frame->arena + frame->used;
    frame->used += bytes;
    return memory;
}

static void *
frame_alloc_zeroed(cwj_frame *frame, size_t count, size_t size)
{
    void *memory = frame_alloc(frame, count, size);
    if (memory != NULL) {
        memset(memory, 0, count * size);
    }
    return memory;
}

/* Returns the dtypes of a type set, one per operand. */
static inline PyArray_Descr *const *
descrs_of(const cwj_runtime *runtime, int index)
{
    const cwj_function_decl *decl = runtime->decl;
    return runtime->descrs + (size_t)index * (size_t)(decl->ninputs + decl->noutputs);
}

/* Returns operand k's type in the call's type set. */
static inline const cwj_type *
type_of(const cwj_frame *frame, int k)
{
    return &frame->decl->typesets[frame->typeset_index].types[k];
}

/* Returns the length of operand k along a broadcast axis, 1 if it has no such axis. */
static inline npy_intp
dim_of(const cwj_frame *frame, int k, int axis)
{
    const cwj_state *state = &frame->states[k];
    int at = axis - frame->nextra + state->nextra;
    return at < 0 ? 1 : state->dims[at];
}

/* Returns operand k's step along a broadcast axis in bytes, 0 if its length there is 1. */
static inline npy_intp
step_of(const cwj_frame *frame, int k, int axis)
{
    const cwj_state *state = &frame->states[k];
    int at = axis - frame->nextra + state->nextra;
    return at < 0 || state->dims[at] == 1 ? 0 : state->strides[at];
}

/* True if the caller gives output k. */
static inline int
is_given(const cwj_frame *frame, int k)
{
    PyObject *const *outputs = frame->given.outputs;
    return outputs != NULL && outputs[k - frame->decl->ninputs] != Py_None;
}

/* Returns operand k's view if the operand is a window, otherwise NULL. */
static inline const cwj_view *
view_of(const cwj_frame *frame, int k)
{
    return frame->views != NULL && frame->views[k].window != NULL ? &frame->views[k] : NULL;
}

/* Marks all states as empty, so that frame_close() can read all of them. */
static void
clear_states(cwj_frame *frame)
{
    for (int k = 0; k < frame->noperands; k++) {
        memset(&frame->states[k], 0, offsetof(cwj_state, scalar));
    }
    frame->owned_to = frame->noperands;
}

/* Allocates states, operands and named dims in one piece. Returns 0, or -1 with MemoryError set. */
static inline int
frame_alloc_operands(cwj_frame *frame)
{
    size_t noperands = (size_t)frame->noperands;
    size_t nnamed = (size_t)frame->decl->nnamed;
    /* decl's counts are ints, so no product overflows. */
    char *memory = frame_alloc(frame, 1,
                               noperands * (sizeof(cwj_state) + sizeof(cwj_operand)) +
                                   nnamed * (sizeof(npy_intp) + sizeof(int)));
    if (CWJ_UNLIKELY(memory == NULL)) {
        return -1;
    }
    frame->states = (cwj_state *)memory;
    frame->operands = (cwj_operand *)(frame->states + noperands);
    frame->named = (npy_intp *)(frame->operands + noperands);
    frame->named_by = (int *)(frame->named + nnamed);
    return 0;
}

/* Creates the cookie, zeroed, and the extras, with their defaults. This happens before any argument is read, because
 * the cleanup snippet runs after any failure. */
static int
frame_alloc_user_data(cwj_frame *frame)
{
    const cwj_function_decl *decl = frame->decl;
    if (decl->cookie_size > 0) {
        frame->call.cookie = frame_alloc_zeroed(frame, 1, decl->cookie_size);
        if (frame->call.cookie == NULL) {
            return -1;
        }
    }
    if (decl->extras_size > 0) {
        frame->call.extras = frame_alloc_zeroed(frame, 1, decl->extras_size);
        if (frame->call.extras == NULL) {
            return -1;
        }
        decl->defaults(frame->call.extras);
    }
    return 0;
}

/* Describes an operand for snippets. */
static inline void
fill_operand(cwj_operand *operand, int ndim, int ncore, npy_intp *dims, npy_intp *strides,
             npy_intp itemsize, char *data)
{
    int first = ncore > 0 ? ndim - ncore : 0;
    operand->ndims_full = ndim;
    operand->dims_full = dims;
    operand->strides_full = strides;
    operand->ndims_slice = ncore;
    operand->dims_slice = dims + first;
    operand->strides_slice = strides + first;
    operand->sizeof_element = itemsize;
    operand->data = data;
}

/* Like fill_operand(), for an operand whose state is filled. */
static inline void
describe_operand(cwj_operand *operand, const cwj_state *state, int ncore)
{
    fill_operand(operand, state->ndim, ncore, state->dims, state->strides, state->itemsize,
                 state->data);
}

/* frame is uninitialised memory. frame_close() may be called whatever this returns. Members are set one by one, because
 * clearing the whole frame would take longer than many calls. Returns 0, or -1 with MemoryError set. */
static inline int
frame_open(cwj_frame *frame, cwj_runtime *runtime)
{
    frame->runtime = runtime;
    frame->decl = runtime->decl;
    frame->released = NULL;
    frame->inputs = NULL;
    frame->slots = NULL;
    frame->noperands = runtime->decl->ninputs + runtime->decl->noutputs;
    frame->owned_from = 0;
    frame->owned_to = 0;
    frame->typeset_index = -1;
    frame->nextra = 0;
    frame->extra = NULL;
    frame->result = NULL;
    frame->views = NULL;
    frame->stage = NULL;
    frame->is_foreign = 0;
    frame->at_border = 0;
    frame->used = 0;
    frame->blocks = NULL;
    frame->call.cookie = NULL;
    frame->call.extras = NULL;
    if (CWJ_UNLIKELY(runtime->has_units)) {
        memset(&frame->unit, 0, sizeof(frame->unit));
    }
    if (frame_alloc_operands(frame) < 0) {
        return -1;
    }
    frame->call.operands = frame->operands;
    return runtime->has_user_data ? frame_alloc_user_data(frame) : 0;
}

/* Frees the blocks that are newer than `oldest`. */
static inline void
frame_free_blocks(cwj_frame *frame, const cwj_block *oldest)
{
    while (CWJ_UNLIKELY(frame->blocks != oldest)) {
        cwj_block *next = frame->blocks->next;
        PyMem_Free(frame->blocks);
        frame->blocks = next;
    }
}

/* Frees what was allocated since frame->used and frame->blocks had these values. */
static void
frame_rewind(cwj_frame *frame, size_t used, const cwj_block *blocks)
{
    frame->used = used;
    frame_free_blocks(frame, blocks);
}

static inline void
frame_close(cwj_frame *frame)
{
    for (int k = frame->owned_from; k < frame->owned_to; k++) {
        Py_XDECREF(frame->states[k].owned);
    }
    if (CWJ_UNLIKELY(frame->slots != NULL)) {
        Py_XDECREF(frame->held);
    }
    if (CWJ_UNLIKELY(frame->runtime->has_units)) {
        Py_XDECREF(frame->unit.descrs[0]);
        Py_XDECREF(frame->unit.descrs[1]);
    }
    frame_free_blocks(frame, NULL);
}

int
cwj_typeset_index(const cwj_call *cwj)
{
    return ((const cwj_frame *)cwj)->typeset_index;
}
