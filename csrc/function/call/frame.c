/* frame.c: the memory of one running call.
 *
 * A frame lives on the C stack. What a call needs in variable amounts (operands,
 * dims, steps, the cookie) is cut from an arena inside it; only calls with very
 * many operands or dims, or a large cookie, reach the heap.
 */

/* Calls of tens of nanoseconds: errors are kept out of their way. */
#define CWJ_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define CWJ_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define CWJ_COLD __attribute__((cold, noinline))
#define CWJ_APART __attribute__((noinline))
/* In the body of a loop over a few items: compilers leave such a loop as it is. To set up
 * vector code or to call memset() would take longer than the loop. */
#define CWJ_SHORT_LOOP() __asm__ volatile("")

enum {
    CWJ_ARENA_BYTES = 2560,
    CWJ_ALIGN = 16,
    CWJ_SCALAR_BYTES = 32
};

/* Memory for those who may have no GIL. Such blocks are counted. */
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
    _Alignas(CWJ_ALIGN) struct cwj_block *next; /* and so are the bytes behind it */
} cwj_block;

/* An operand of the running call. ndim, dims, strides, data describe the
 * caller's array, or `scalar`, where neither an array nor its heap memory is
 * needed: a Python number as input, a new 0-d output. */
typedef struct cwj_state {
    PyArrayObject *array; /* borrowed; NULL: a scalar, or not there yet */
    PyObject *owned;      /* a reference to drop at the end, or NULL */
    PyObject *weak;       /* borrowed: a number, not converted yet */
    int nextra;           /* broadcast dims; < 0 where core dims are implied */
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
    int mixed; /* arrays have different units, and convert to this one */
    int none; /* no array has a unit, or they convert to no common one */
} cwj_unit;

/* The array of an input that is a window. Its state describes windows in its place: as many as
 * there are along its axes, then those of one window. */
typedef struct cwj_view {
    const cwj_window *window; /* borrowed; NULL: the operand is none */
    int ndim; /* the array's own */
    npy_intp *dims;
    npy_intp *strides;
    int *moves; /* [ndim] the core dim that moves along an axis, or -1 */
    npy_intp *direct; /* [ndim + ncore] strides of windows in the array itself */
    npy_intp *gathered; /* the same where those are copied to that reach beyond it */
} cwj_view;

/* How far a call is that is not short (progress.c). */
typedef struct cwj_progress {
    PyObject *shown; /* owned: what shows it, or NULL */
    npy_intp before; /* slices of runs that are over */
    npy_intp total; /* slices of the call */
    npy_intp told; /* slices that were done at the last report */
    unsigned long long began; /* ns, 0: not known yet */
    unsigned long long next; /* no report before */
} cwj_progress;

typedef struct cwj_stage cwj_stage; /* stage.c */

typedef struct cwj_frame {
    cwj_call call; /* first: compiled code gets a pointer to it as ctx */
    cwj_runtime *runtime;
    const cwj_function_decl *decl;
    PyThreadState *released; /* not NULL: this call has released the GIL */

    PyObject *const *inputs; /* [ninputs] borrowed arguments */
    PyObject **slots; /* borrowed: inputs, out, extras; NULL: no extras given */
    PyObject *out; /* borrowed: the out argument, NULL when absent */
    int noperands; /* inputs, then outputs */
    int owned_from, owned_to; /* operands whose state.owned is filled, the last excluded */
    cwj_state *states; /* [noperands] */
    cwj_operand *operands; /* [noperands], what snippets see */
    int typeset_index; /* the one that matched */
    cwj_unit unit; /* only where runtime->has_units; else not set */

    npy_intp *named; /* [nnamed] values of named dims, -1: unknown */
    int *named_by; /* [nnamed] operand that set them */
    int nextra; /* broadcast dims of inputs and given outputs */
    npy_intp *extra; /* [nextra]; may be the dims of an operand: not written to then */
    npy_intp *result; /* [nextra] what the inputs alone broadcast to */

    cwj_view *views; /* [noperands], or NULL: no input is a window */
    cwj_stage *stage; /* NULL: all slices lie as C wants them */
    int is_foreign; /* an input takes NumPy's calls over: runtime->foreign makes the call */
    int at_border; /* the slices that run are not the ones that calls are known by */
    cwj_progress progress; /* not set before the first slices of a call that is not short */

    size_t used; /* bytes of the arena */
    cwj_block *blocks;
    _Alignas(CWJ_ALIGN) char arena[CWJ_ARENA_BYTES];
} cwj_frame;

/* The call whose slices this thread runs without the GIL, or NULL, for the
 * entry points of snippet_api.c, which get no argument that would lead them to
 * it. It is set only while such slices run and no Python code does: libraries
 * that switch C stacks (greenlet) switch in Python code. */
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

/* Memory for count items of size bytes, not zeroed, aligned to CWJ_ALIGN, that
 * lives as long as the frame. NULL with MemoryError. */
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

/* The dtypes of a type set, one per operand. */
static inline PyArray_Descr *const *
descrs_of(const cwj_runtime *runtime, int index)
{
    const cwj_function_decl *decl = runtime->decl;
    return runtime->descrs + (size_t)index * (size_t)(decl->ninputs + decl->noutputs);
}

/* The type that the type set of the call has for operand k. */
static inline const cwj_type *
type_of(const cwj_frame *frame, int k)
{
    return &frame->decl->typesets[frame->typeset_index].types[k];
}

/* The length of operand k along a broadcast axis: 1 where it has none. */
static inline npy_intp
dim_of(const cwj_frame *frame, int k, int axis)
{
    const cwj_state *state = &frame->states[k];
    int at = axis - frame->nextra + state->nextra;
    return at < 0 ? 1 : state->dims[at];
}

/* How far apart two of its elements along that axis are, in bytes; 0: it has one alone. */
static inline npy_intp
step_of(const cwj_frame *frame, int k, int axis)
{
    const cwj_state *state = &frame->states[k];
    int at = axis - frame->nextra + state->nextra;
    return at < 0 || state->dims[at] == 1 ? 0 : state->strides[at];
}

/* Operand k's array when the operand is a window, else NULL. */
static inline const cwj_view *
view_of(const cwj_frame *frame, int k)
{
    return frame->views != NULL && frame->views[k].window != NULL ? &frame->views[k] : NULL;
}

/* Operands that nothing is known about yet. */
static void
clear_states(cwj_frame *frame)
{
    for (int k = 0; k < frame->noperands; k++) {
        memset(&frame->states[k], 0, offsetof(cwj_state, scalar));
    }
    frame->owned_to = frame->noperands;
}

/* One piece for all of these. */
static inline int
frame_alloc_operands(cwj_frame *frame)
{
    size_t noperands = (size_t)frame->noperands;
    size_t nnamed = (size_t)frame->decl->nnamed;
    /* decl's counts are ints: no product of them overflows. */
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

/* The cookie and the extras exist, zeroed and with their defaults, before any
 * argument is looked at: the cleanup snippet runs after any failure. */
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

/* What snippets see of an operand. */
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

/* As fill_operand(), when the state is filled. */
static inline void
describe_operand(cwj_operand *operand, const cwj_state *state, int ncore)
{
    fill_operand(operand, state->ndim, ncore, state->dims, state->strides, state->itemsize,
                 state->data);
}

/* frame is uninitialised memory; frame_close() may be called whatever this returns.
 * Members are set one by one: to clear the whole frame would take longer than many calls. */
static inline int
frame_open(cwj_frame *frame, cwj_runtime *runtime)
{
    frame->runtime = runtime;
    frame->decl = runtime->decl;
    frame->released = NULL;
    frame->inputs = NULL;
    frame->slots = NULL;
    frame->out = NULL;
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

/* Frees what was allocated since `oldest` was the newest block. */
static inline void
frame_free_blocks(cwj_frame *frame, const cwj_block *oldest)
{
    while (CWJ_UNLIKELY(frame->blocks != oldest)) {
        cwj_block *next = frame->blocks->next;
        PyMem_Free(frame->blocks);
        frame->blocks = next;
    }
}

/* Frees what was allocated since the frame had used so much, and these blocks. */
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
