/* frame.c: the memory of one running call.
 *
 * A frame lives on the C stack. What a call needs in variable amounts (operands,
 * dims, steps, the cookie) is cut from an arena inside it; only calls with very
 * many operands or dims, or a large cookie, reach the heap.
 */
enum {
    CWJ_ARENA_BYTES = 2560,
    CWJ_ALIGN = 16,
    CWJ_SCALAR_BYTES = 32
};

/* A heap block of the arena, freed with the frame. */
typedef struct cwj_block {
    struct cwj_block *next;
    size_t unused; /* keeps the bytes behind it aligned to CWJ_ALIGN */
} cwj_block;

/* An operand of the running call. ndim, dims, strides, data describe the
 * caller's array, or `scalar`, where neither an array nor its heap memory is
 * needed: a Python number as input, a new 0-d output. */
typedef struct cwj_state {
    PyArrayObject *array; /* borrowed; NULL: a scalar, or not there yet */
    PyObject *owned;      /* a reference to drop at the end, or NULL */
    PyObject *weak;       /* borrowed: a Python number, not converted yet */
    int given;            /* an output that the caller passed in */
    int nextra;           /* broadcast dims; < 0 where core dims are implied */
    int ndim;
    npy_intp *dims;    /* borrowed */
    npy_intp *strides; /* borrowed, bytes */
    npy_intp itemsize; /* bytes */
    char *data;
    _Alignas(CWJ_ALIGN) char scalar[CWJ_SCALAR_BYTES];
} cwj_state;

typedef struct cwj_frame {
    cwj_call call; /* first: compiled code gets a pointer to it as ctx */
    cwj_runtime *runtime;
    const cwj_function_decl *decl;
    struct cwj_frame *outer; /* what cwj_running was before the slices */
    PyThreadState *released; /* not NULL: this call has released the GIL */

    PyObject **slots;     /* borrowed arguments: inputs, out, extras */
    PyObject *out;        /* borrowed: the out argument, NULL when absent */
    int noperands;        /* inputs, then outputs */
    cwj_state *states;    /* [noperands] */
    cwj_operand *operands; /* [noperands], what snippets see */
    const cwj_typeset *typeset; /* the one that matched */
    int typeset_index;

    npy_intp *named;  /* [nnamed] values of named dims, -1: unknown */
    int *named_by;    /* [nnamed] operand that set them */
    int nextra;       /* broadcast dims of inputs and given outputs */
    npy_intp *extra;  /* [nextra] */
    npy_intp *result; /* [nextra] what the inputs alone broadcast to */

    size_t used; /* bytes of the arena */
    cwj_block *blocks;
    _Alignas(CWJ_ALIGN) char arena[CWJ_ARENA_BYTES];
} cwj_frame;

/* The call whose slices this thread runs without the GIL, or NULL, for the
 * entry points of snippet_api.c, which get no argument that would lead them to
 * it. It is set only while such slices run and no Python code does: libraries
 * that switch C stacks (greenlet) switch in Python code. */
static _Thread_local cwj_frame *cwj_running;

/* Memory for count items of size bytes, not zeroed, aligned to CWJ_ALIGN, that
 * lives as long as the frame. NULL with MemoryError. */
static void *
frame_alloc(cwj_frame *frame, size_t count, size_t size)
{
    if (size != 0 && count > (PY_SSIZE_T_MAX / 2) / size) {
        PyErr_NoMemory();
        return NULL;
    }
    size_t bytes = (count * size + CWJ_ALIGN - 1) / CWJ_ALIGN * CWJ_ALIGN;
    if (bytes <= CWJ_ARENA_BYTES - frame->used) {
        void *memory = frame->arena + frame->used;
        frame->used += bytes;
        return memory;
    }
    cwj_block *block = PyMem_Malloc(sizeof(cwj_block) + bytes);
    if (block == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    block->next = frame->blocks;
    frame->blocks = block;
    return block + 1;
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

static int
frame_alloc_operands(cwj_frame *frame)
{
    const cwj_function_decl *decl = frame->decl;
    frame->states = frame_alloc(frame, (size_t)frame->noperands, sizeof(cwj_state));
    if (frame->states == NULL) {
        return -1;
    }
    for (int k = 0; k < frame->noperands; k++) {
        memset(&frame->states[k], 0, offsetof(cwj_state, scalar));
    }
    frame->operands = frame_alloc(frame, (size_t)frame->noperands, sizeof(cwj_operand));
    frame->slots = frame_alloc_zeroed(frame, (size_t)frame->runtime->nnames, sizeof(PyObject *));
    frame->named = frame_alloc(frame, (size_t)decl->nnamed, sizeof(npy_intp));
    frame->named_by = frame_alloc(frame, (size_t)decl->nnamed, sizeof(int));
    if (frame->operands == NULL || frame->slots == NULL || frame->named == NULL ||
        frame->named_by == NULL) {
        return -1;
    }
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

/* frame is uninitialised memory; frame_close() is legal whatever this returns. */
static int
frame_open(cwj_frame *frame, cwj_runtime *runtime)
{
    memset(frame, 0, offsetof(cwj_frame, arena));
    frame->runtime = runtime;
    frame->decl = runtime->decl;
    frame->noperands = runtime->decl->ninputs + runtime->decl->noutputs;
    if (frame_alloc_operands(frame) < 0 || frame_alloc_user_data(frame) < 0) {
        return -1;
    }
    frame->call.operands = frame->operands;
    return 0;
}

static void
frame_close(cwj_frame *frame)
{
    if (frame->states != NULL) {
        for (int k = 0; k < frame->noperands; k++) {
            Py_XDECREF(frame->states[k].owned);
        }
    }
    while (frame->blocks != NULL) {
        cwj_block *next = frame->blocks->next;
        PyMem_Free(frame->blocks);
        frame->blocks = next;
    }
}
