/* call.c: a call of a LibraryFunction.
 *
 *     bind   arguments by position and name, defaults
 *     take   numbers, arrays, texts: types and values
 *     solve  symbols from shapes; all dims checked
 *     fill   hidden integers, strides, new outputs
 *     run    the thunk, without the GIL; the status
 *     pack   results
 *
 * Functions of numbers alone have a way of their own, without a frame. It gives up
 * without a trace, so that the long way words all faults.
 */
#include "instance.h"
#include "wrap.h"

enum {
    MOST_SIMPLE = 8,
    FRAME_BYTES = 2048
};

/* ---- running ------------------------------------------------------------------- */

static inline void
run_thunk(const cwj_wrapped *function, cwj_slot *slots)
{
    if (function->keep_gil) {
        function->thunk(slots);
        return;
    }
    PyThreadState *thread = PyEval_SaveThread();
    function->thunk(slots);
    PyEval_RestoreThread(thread);
}

/* ---- numbers alone ---------------------------------------------------------------- */

/* Returns 0 where the long way has to look. */
static inline int
take_simple(const cwj_parameter *parameter, PyObject *object, cwj_slot *slot)
{
    if (PyFloat_CheckExact(object) && parameter->type->id == CWJ_FLOAT64) {
        slot->d = PyFloat_AS_DOUBLE(object);
        return 1;
    }
    if (object == Py_None ||
        cwj_scalar_take(parameter->type, parameter->strict, object, slot) != CWJ_TAKEN) {
        PyErr_Clear();
        return 0;
    }
    return 1;
}

/* Returns 0 where the long way has to look. */
static int
take_all_simple(const cwj_wrapped *self, PyObject *const *args, cwj_slot *slots)
{
    for (int k = 0; k < self->nparameters; k++) {
        if (!take_simple(&self->parameters[k], args[k], &slots[k + 1])) {
            return 0;
        }
    }
    return 1;
}

static PyObject *
call_simple(const cwj_wrapped *self, cwj_slot *slots)
{
    run_thunk(self, slots);
    if (PyErr_Occurred()) { /* of code that calls PyErr_Format */
        return NULL;
    }
    return self->result.role == CWJ_NONE ? Py_NewRef(Py_None)
                                         : cwj_scalar_object(self->result.type, &slots[0]);
}

/* ---- the frame -------------------------------------------------------------------- */

static void *
carve(char **memory, size_t size)
{
    void *piece = *memory;
    *memory += size;
    return piece;
}

/* memory is aligned and zeroed, of function->frame_size bytes; largest alignments first. */
static void
frame_open(cwj_wrap_frame *frame, cwj_wrapped *function, char *memory)
{
    size_t n = (size_t)function->nparameters;
    *frame = (cwj_wrap_frame){.function = function};
    frame->slots = carve(&memory, (n + 1) * sizeof(cwj_slot));
    frame->targets = carve(&memory, n * sizeof(cwj_slot));
    frame->views = carve(&memory, (size_t)function->nbuffers * sizeof(Py_buffer));
    frame->given = carve(&memory, (size_t)function->narguments * sizeof(PyObject *));
    frame->made = carve(&memory, (n + 1) * sizeof(PyObject *));
    frame->memory = carve(&memory, (n + 1) * sizeof(void *));
    frame->lengths = carve(&memory, (size_t)function->nlengths * sizeof(npy_intp));
    frame->symbols = carve(&memory, (size_t)function->nsymbols * sizeof(npy_int64));
    frame->sources = carve(&memory, (size_t)function->nsymbols * sizeof(int));
    for (int s = 0; s < function->nsymbols; s++) {
        frame->sources[s] = -1;
    }
}

static void
frame_close(cwj_wrap_frame *frame)
{
    const cwj_wrapped *function = frame->function;
    for (int k = 0; k <= function->nparameters; k++) {
        Py_XDECREF(frame->made[k]);
        PyMem_Free(frame->memory[k]);
    }
    for (int i = 0; i < frame->nviews; i++) {
        PyBuffer_Release(&frame->views[i]);
    }
    /* What the callee allocated, and nobody came to own. */
    for (int k = 0; k < function->nparameters && frame->called; k++) {
        const cwj_parameter *parameter = &function->parameters[k];
        if (parameter->role == CWJ_DATA && parameter->free != NULL && frame->targets[k].p != NULL) {
            parameter->free(frame->targets[k].p);
        }
    }
}

/* ---- taking ------------------------------------------------------------------------ */

static int
take_instance(cwj_wrap_frame *frame, int k, PyObject *object)
{
    void *pointer = NULL;
    frame->slots[k + 1].p = NULL;
    if (object == NULL) {
        return 0;
    }
    int fits = cwj_instance_pointer(frame->function->parameters[k].cls, object, &pointer);
    if (fits == 0) {
        return cwj_wrap_refuse_type(frame, k, object, NULL);
    }
    frame->slots[k + 1].p = pointer;
    return fits < 0 ? -1 : 0;
}

static int
take_one(cwj_wrap_frame *frame, int k)
{
    PyObject *object = cwj_wrap_given(frame, k);
    switch (frame->function->parameters[k].role) {
    case CWJ_VALUE:
        return cwj_wrap_take_value(frame, k, object);
    case CWJ_ARRAY:
        return cwj_wrap_take_array(frame, k, object);
    case CWJ_ITEMS:
        return cwj_wrap_take_items(frame, k, object);
    case CWJ_STRING:
        return cwj_wrap_take_string(frame, k, object);
    case CWJ_BUFFER:
        return cwj_wrap_take_buffer(frame, k, object);
    case CWJ_HANDLE:
    case CWJ_STRUCT:
        return take_instance(frame, k, object);
    default:
        return 0;
    }
}

/* True when Python code may run while it is taken: __index__, __iter__, __buffer__. */
static inline bool
may_run_python(cwj_role role)
{
    return role == CWJ_VALUE || role == CWJ_ITEMS || role == CWJ_BUFFER;
}

/* Pointers last: Python code may resize an array, or free a C object, but not from there on. */
static int
take_all(cwj_wrap_frame *frame)
{
    const cwj_wrapped *function = frame->function;
    for (int last = 0; last < 2; last++) {
        for (int k = 0; k < function->nparameters; k++) {
            bool late = !may_run_python(function->parameters[k].role);
            if (late == last && take_one(frame, k) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* ---- the status ------------------------------------------------------------------------ */

static int
check_status(cwj_wrap_frame *frame)
{
    const cwj_wrapped *function = frame->function;
    PyObject *status = NULL;
    if (function->check == NULL) {
        return 0;
    }
    if (function->result.role == CWJ_STATUS) {
        status = cwj_scalar_object(function->result.type, &frame->slots[0]);
    } else {
        const cwj_parameter *given = NULL;
        cwj_slot slot;
        for (int k = 0; k < function->nparameters && given == NULL; k++) {
            if (function->parameters[k].role == CWJ_STATUS) {
                given = &function->parameters[k];
                cwj_scalar_load(given->type, &frame->targets[k], &slot);
            }
        }
        status = given == NULL ? Py_NewRef(Py_None) : cwj_scalar_object(given->type, &slot);
    }
    PyObject *result =
        status == NULL ? NULL : PyObject_CallFunctionObjArgs(function->check, status, NULL);
    Py_XDECREF(status);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Nobody may free what C works on without the GIL. */
static void
hold_instances(const cwj_wrap_frame *frame, void (*change)(PyObject *))
{
    const cwj_wrapped *function = frame->function;
    for (int k = 0; k < function->nparameters; k++) {
        cwj_role role = function->parameters[k].role;
        bool instance = role == CWJ_HANDLE || role == CWJ_STRUCT;
        PyObject *given = instance ? cwj_wrap_given(frame, k) : NULL;
        if (given != NULL) {
            change(given);
        }
    }
}

static int
run(cwj_wrap_frame *frame)
{
    const cwj_wrapped *function = frame->function;
    if (function->result.role == CWJ_STRUCT) {
        PyObject **made = &frame->made[function->nparameters];
        *made = cwj_instance_empty(function->result.cls, &frame->slots[0].p);
        if (*made == NULL) {
            return -1;
        }
    }
    if (function->has_instances) {
        hold_instances(frame, cwj_instance_hold);
    }
    run_thunk(function, frame->slots);
    if (function->has_instances) {
        hold_instances(frame, cwj_instance_release);
    }
    if (PyErr_Occurred() || check_status(frame) < 0) {
        return -1;
    }
    frame->called = true;
    return 0;
}

/* ---- a call -------------------------------------------------------------------------------- */

static PyObject *
call_long(cwj_wrapped *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
          char *memory)
{
    cwj_wrap_frame frame;
    PyObject *result = NULL;
    frame_open(&frame, self, memory);
    if (cwj_wrap_bind(&frame, args, nargs, kwnames) == 0 && take_all(&frame) == 0 &&
        cwj_wrap_solve(&frame) == 0 && cwj_wrap_fill(&frame) == 0 && run(&frame) == 0) {
        result = cwj_wrap_pack(&frame);
    }
    frame_close(&frame);
    return result;
}

PyObject *
cwj_wrapped_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    cwj_wrapped *self = (cwj_wrapped *)op;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (self->simple && kwnames == NULL && nargs == self->nparameters) {
        cwj_slot slots[MOST_SIMPLE + 1];
        if (take_all_simple(self, args, slots)) {
            return call_simple(self, slots);
        }
    }
    if (self->frame_size <= FRAME_BYTES) {
        _Alignas(max_align_t) char memory[FRAME_BYTES];
        memset(memory, 0, self->frame_size);
        return call_long(self, args, nargs, kwnames, memory);
    }
    char *memory = PyMem_Calloc(1, self->frame_size);
    if (memory == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *result = call_long(self, args, nargs, kwnames, memory);
    PyMem_Free(memory);
    return result;
}

/* ---- for interfaces --------------------------------------------------------------------------- */

/* Marks arguments whose type does not fit; other faults are for a call to raise. */
static int
judge(cwj_wrap_frame *frame, PyObject *verdict)
{
    for (int k = 0; k < frame->function->nparameters; k++) {
        int argument = frame->function->parameters[k].argument;
        if (take_one(frame, k) == 0) {
            continue;
        }
        bool wrong_type = PyErr_ExceptionMatches(PyExc_TypeError);
        if (!wrong_type && !PyErr_ExceptionMatches(PyExc_ValueError)) {
            return -1;
        }
        PyErr_Clear();
        if (wrong_type && argument >= 0) {
            Py_SETREF(PyTuple_GET_ITEM(verdict, argument), Py_NewRef(Py_False));
        }
    }
    return 0;
}

static PyObject *
fits(cwj_wrapped *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, char *memory)
{
    cwj_wrap_frame frame;
    PyObject *verdict = NULL;
    frame_open(&frame, self, memory);
    frame.strict = true;
    if (cwj_wrap_bind(&frame, args, nargs, kwnames) < 0) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            verdict = Py_NewRef(Py_None);
        }
    } else {
        verdict = PyTuple_New(self->narguments);
        for (int i = 0; verdict != NULL && i < self->narguments; i++) {
            PyTuple_SET_ITEM(verdict, i, Py_NewRef(Py_True));
        }
        if (verdict != NULL && judge(&frame, verdict) < 0) {
            Py_CLEAR(verdict);
        }
    }
    frame_close(&frame);
    return verdict;
}

PyObject *
cwj_wrapped_fits(cwj_wrapped *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    char *memory = PyMem_Calloc(1, self->frame_size);
    if (memory == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *verdict = fits(self, args, nargs, kwnames, memory);
    PyMem_Free(memory);
    return verdict;
}
