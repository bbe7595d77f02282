/* call.c: calls a LibraryFunction, in these steps:
 *
 *     bind   finds arguments by position and name, adds defaults
 *     take   checks types and values of numbers, arrays, texts, and puts them into slots
 *     solve  computes symbols from shapes, checks all dims and that written memory does not overlap other memory
 *     fill   computes hidden integers and strides, allocates outputs
 *     run    runs the thunk, without the GIL, and checks the status
 *     pack   makes Python objects of results
 *
 * Functions of numbers and instances alone usually need no frame: see take_quick.c. */
#include "base/errors.h"
#include "base/leave.h"
#include "base/raised.h"
#include "library/callbacks/callback.h"
#include "library/objects/instance.h"
#include "library/objects/references.h"
#include "library/call/steps.h"

#include "os/clock.h"

#include <errno.h>

enum {
    FRAME_BYTES = 2048
};

/* ---- running ------------------------------------------------------------------- */

/* Other libraries keep locks and memory, so their code is not left unless the user has said so. */
static inline void
run_leavable(const cwj_library_function *function, cwj_slot *slots)
{
    if (function->leavable) {
        cwj_run_code((void (*)(void))function->thunk, slots, NULL, NULL, NULL);
        return;
    }
    void *exits = cwj_exits_shut();
    function->thunk(slots);
    cwj_exits_open(exits);
}

/* error: receives errno, which taking the GIL may change; or NULL. */
static inline void
run_code(const cwj_library_function *function, cwj_slot *slots, int *error)
{
    if (error == NULL) {
        run_leavable(function, slots);
        return;
    }
    errno = 0;
    run_leavable(function, slots);
    *error = errno;
}

/* Undoes what code that was left has done to the GIL. */
static inline void
settle(bool keep_gil)
{
    if (cwj_has_left()) {
        cwj_left_settle(keep_gil);
    }
}

/* Tells closures made for a call where exceptions go if C calls them on a thread without a call of its own. */
static void
tell_closures(const cwj_library_frame *frame, cwj_watch *watch)
{
    for (int k = 0; k < frame->function->nparameters; k++) {
        PyObject *made = frame->made[k];
        if (frame->function->parameters[k].role == CWJ_CALLBACK && made != NULL) {
            cwj_closure *closure = cwj_closure_of(PyTuple_GET_ITEM(made, 1));
            if (closure != NULL) {
                closure->watch = watch;
            }
        }
    }
}

/* Runs a thunk that may call Python callables. frame may be NULL. */
static void
run_watched(const cwj_library_function *function, cwj_slot *slots, bool keep_gil, int *error,
            const cwj_library_frame *frame)
{
    cwj_watch watch;
    cwj_watch_begin(&watch);
    if (frame != NULL) {
        tell_closures(frame, &watch);
    }
    cwj_deadline_look();
    if (!keep_gil) {
        watch.released = PyEval_SaveThread();
    }
    run_code(function, slots, error);
    settle(keep_gil);
    if (watch.released != NULL) {
        PyEval_RestoreThread(watch.released);
    }
    if (frame != NULL) {
        tell_closures(frame, NULL);
    }
    cwj_watch_end(&watch);
    if (cwj_has_left()) {
        cwj_library_raise_left(function);
    }
}

/* Afterwards an exception may be set, by a callback or by C code that calls PyErr_Format(). */
static inline void
run_thunk(const cwj_library_function *function, cwj_slot *slots, bool keep_gil, int *error,
          const cwj_library_frame *frame)
{
    if (cwj_has_closures) {
        run_watched(function, slots, keep_gil, error, frame);
        return;
    }
    cwj_deadline_look();
    PyThreadState *thread = keep_gil ? NULL : PyEval_SaveThread();
    run_code(function, slots, error);
    settle(keep_gil);
    if (thread != NULL) {
        PyEval_RestoreThread(thread);
    }
    if (cwj_has_left()) {
        cwj_library_raise_left(function);
    }
}

/* ---- the frame -------------------------------------------------------------------- */

/* The parts of a frame in the order of memory: largest alignments first, so that there are no gaps. */
#define FRAME_PARTS(PART, function)          \
    PART(slots, (function)->nparameters + 1) \
    PART(targets, (function)->nparameters)   \
    PART(views, (function)->nbuffers)        \
    PART(given, (function)->narguments)      \
    PART(made, (function)->nparameters + 1)  \
    PART(lengths, (function)->nlengths)      \
    PART(symbols, (function)->nsymbols)      \
    PART(sources, (function)->nsymbols)

#define SIZE_OF_PART(part, count) +(size_t)(count) * sizeof(*((cwj_library_frame *)0)->part)
#define PLACE_PART(part, count)   \
    frame->part = (void *)memory; \
    memory += (size_t)(count) * sizeof(*frame->part);

size_t
cwj_library_frame_size(const cwj_library_function *function)
{
    _Static_assert(
        sizeof(cwj_slot) % _Alignof(Py_buffer) == 0 && sizeof(Py_buffer) % _Alignof(void *) == 0 &&
            sizeof(void *) % _Alignof(npy_intp) == 0 &&
            sizeof(npy_intp) % _Alignof(npy_int64) == 0 && sizeof(npy_int64) % _Alignof(int) == 0,
        "each part of a frame begins where the one before it ends");
    return 0 FRAME_PARTS(SIZE_OF_PART, function);
}

/* memory: function->frame_size bytes, zeroed and aligned for any type. */
static void
frame_open(cwj_library_frame *frame, cwj_library_function *function, char *memory)
{
    *frame = (cwj_library_frame){.function = function};
    FRAME_PARTS(PLACE_PART, function)
    for (int s = 0; s < function->nsymbols; s++) {
        frame->sources[s] = -1;
    }
}

/* Until frame_close() no instance among the arguments can be closed, and objects that get replaced stay alive. */
static bool
begin_call(cwj_library_frame *frame)
{
    frame->generation = cwj_call_begins();
    frame->begun = true;
    if (frame->function->has_instances) {
        cwj_library_use_instances(frame, 1);
    }
    return true;
}

static void
frame_close(cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
    if (frame->begun && function->has_instances) {
        cwj_library_use_instances(frame, -1);
    }
    if (frame->begun) {
        cwj_call_ends(frame->generation);
    }
    if (frame->called) {
        cwj_library_drop(frame);
    }
    for (int k = 0; k <= function->nparameters; k++) {
        Py_XDECREF(frame->made[k]);
    }
    for (int i = 0; i < frame->nviews; i++) {
        PyBuffer_Release(&frame->views[i]);
    }
}

/* ---- taking ------------------------------------------------------------------------ */

static int
take_one(cwj_library_frame *frame, int k)
{
    static cwj_library_take *const take[] = {
        [CWJ_VALUE] = cwj_library_take_value,
        [CWJ_ARRAY] = cwj_library_take_array,
        [CWJ_ITEMS] = cwj_library_take_items,
        [CWJ_STRING] = cwj_library_take_string,
        [CWJ_TEXTS] = cwj_library_take_texts,
        [CWJ_BUFFER] = cwj_library_take_buffer,
        [CWJ_HANDLE] = cwj_library_take_instance,
        [CWJ_STRUCT] = cwj_library_take_instance,
        [CWJ_CALLBACK] = cwj_library_take_callback,
        [CWJ_STREAM] = cwj_library_take_callback,
        [CWJ_ADDRESS] = cwj_library_take_address,
        [CWJ_HANDLES] = cwj_library_take_instances,
        [CWJ_NONE] = NULL,
    };
    PyObject *object = cwj_library_given(frame, k);
    cwj_role role = frame->function->parameters[k].role;
    int status = object == NULL || take[role] == NULL ? 0 : take[role](frame, k, object);
    if (status < 0) {
        cwj_raised_of("%U: argument %U", frame->function->who, cwj_library_name(frame, k));
    }
    return status;
}

/* True if taking the argument may run Python code. The members of a tuple, which becomes a struct, may do so. */
static bool
may_run_python(const cwj_library_frame *frame, int k)
{
    cwj_role role = frame->function->parameters[k].role;
    PyObject *given = cwj_library_given(frame, k);
    bool is_struct = role == CWJ_HANDLE || role == CWJ_STRUCT;
    return cwj_role_is(role, CWJ_PYTHON) || (is_struct && given != NULL && PyTuple_Check(given));
}

/* Takes pointers last: taking other arguments may run Python code, which may resize an array or free a C object. */
static int
take_all(cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
    for (int last = 0; last < 2; last++) {
        for (int k = 0; k < function->nparameters; k++) {
            if (may_run_python(frame, k) != last && take_one(frame, k) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

static int
run(cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
    if (function->has_instances && cwj_library_refuse_looks(frame) < 0) {
        return -1;
    }
    uint64_t begun = frame->warms ? tj_clock_ns() : 0;
    run_thunk(function, frame->slots, function->keep_gil || frame->moves,
              function->reads_errno ? &frame->error : NULL, frame);
    uint64_t ran = frame->warms ? tj_clock_ns() - begun : 0;
    if ((function->has_streams && cwj_library_end_streams(frame) < 0) || PyErr_Occurred() ||
        cwj_library_check_status(frame) < 0) {
        return -1;
    }
    frame->called = true;
    return frame->warms ? cwj_library_warm(frame, ran) : 0;
}

/* ---- a call -------------------------------------------------------------------------------- */

static PyObject *
call_long(cwj_library_frame *frame, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    bool runs = cwj_library_bind(frame, args, nargs, kwnames) == 0 && take_all(frame) == 0 &&
                begin_call(frame) && cwj_library_solve(frame) == 0 &&
                (!frame->function->has_written || cwj_library_check_overlap(frame) == 0) &&
                cwj_library_fill(frame) == 0 && run(frame) == 0;
    return runs ? cwj_library_pack(frame) : NULL;
}

/* Marks arguments whose type does not fit, for an interface. Other errors are left for the call to raise. */
static int
judge(cwj_library_frame *frame, PyObject *verdict)
{
    for (int k = 0; k < frame->function->nparameters; k++) {
        int argument = frame->function->parameters[k].argument;
        if (take_one(frame, k) == 0) {
            continue;
        }
        bool wrong_type = PyErr_ExceptionMatches(PyExc_TypeError);
        if (!cwj_clear_expected(PyExc_TypeError, PyExc_ValueError, NULL)) {
            return -1;
        }
        if (wrong_type && argument >= 0) {
            Py_SETREF(PyTuple_GET_ITEM(verdict, argument), Py_NewRef(Py_False));
        }
    }
    return 0;
}

static PyObject *
find_fits(cwj_library_frame *frame, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    frame->strict = true;
    if (cwj_library_bind(frame, args, nargs, kwnames) < 0) {
        return cwj_clear_expected(PyExc_TypeError, NULL) ? Py_NewRef(Py_None) : NULL;
    }
    PyObject *verdict = PyTuple_New(frame->function->narguments);
    for (int i = 0; verdict != NULL && i < frame->function->narguments; i++) {
        PyTuple_SET_ITEM(verdict, i, Py_NewRef(Py_True));
    }
    if (verdict != NULL && judge(frame, verdict) < 0) {
        Py_CLEAR(verdict);
    }
    return verdict;
}

static PyObject *
in_frame(PyObject *(*steps)(cwj_library_frame *, PyObject *const *, Py_ssize_t, PyObject *),
         cwj_library_function *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    _Alignas(max_align_t) char usual[FRAME_BYTES];
    cwj_library_frame frame;
    char *memory = self->frame_size <= FRAME_BYTES ? memset(usual, 0, self->frame_size)
                                                   : cwj_allocate(1, self->frame_size);
    if (memory == NULL) {
        return NULL;
    }
    frame_open(&frame, self, memory);
    PyObject *result = steps(&frame, args, nargs, kwnames);
    frame_close(&frame);
    if (memory != usual) {
        PyMem_Free(memory);
    }
    return result;
}

/* Counts the call on the instances that were taken: change is 1 or -1. */
static inline void
use_quick(const cwj_quick *quick, Py_ssize_t change)
{
    for (int i = 0; i < quick->nused; i++) {
        cwj_root_use(quick->used[i], change);
    }
}

/* Makes a call whose slots cwj_library_take_quick() has filled. */
static PyObject *
call_quick(cwj_library_function *self, PyObject *const *args, cwj_quick *quick)
{
    bool makes = self->result.role == CWJ_STRUCT;
    quick->made = makes ? cwj_instance_empty(self->result.layout, &quick->slots[0].p) : NULL;
    if (makes && quick->made == NULL) {
        return NULL;
    }
    int generation = cwj_call_begins();
    use_quick(quick, 1);
    run_thunk(self, quick->slots, self->keep_gil || quick->moves, NULL, NULL);
    PyObject *result = PyErr_Occurred() ? NULL /* see run_thunk() */
                                        : cwj_library_pack_quick(self, args, quick);
    use_quick(quick, -1);
    cwj_call_ends(generation);
    Py_XDECREF(quick->made);
    return result;
}

PyObject *
cwj_library_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    cwj_library_function *self = (cwj_library_function *)op;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (self->simple && kwnames == NULL && nargs == self->nparameters) {
        cwj_quick quick;
        quick.moves = false;
        int taken = cwj_library_take_quick(self, args, &quick);
        if (taken != 0) {
            return taken < 0 ? NULL : call_quick(self, args, &quick);
        }
    }
    return in_frame(call_long, self, args, nargs, kwnames);
}

PyObject *
cwj_library_fits(PyObject *op, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return in_frame(find_fits, (cwj_library_function *)op, args, nargs, kwnames);
}
