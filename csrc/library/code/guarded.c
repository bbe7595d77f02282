/* guarded.c: runs the thunks of library(debug=True) under a guard. It replaces a function's thunk and vectorcall, so
 * the steps of a call are unchanged. */
#include "library/code/unit.h"

#include <errno.h>

#include "base/choices.h"
#include "base/errors.h"
#include "base/debug/fault.h"
#include "base/leave.h"
#include "base/debug/fence.h"
#include "base/debug/zones.h"
#include "library/call/steps.h"

typedef struct cwj_library_guard {
    cwj_thunk *thunk; /* the function's own */
    const cwj_module_state *state;
    bool fences; /* C gets fenced copies of the arrays that it reads */
    bool beyond; /* see cwj_zones_enter() */
    int debug; /* a cwj_debug */
} cwj_library_guard;

static bool
is_read(const cwj_parameter *p)
{
    return p->role == CWJ_ARRAY && p->intent != CWJ_INTENT_OUT;
}

/* A running call. */
typedef struct call {
    struct call *outer;
    cwj_library_function *function;
    PyObject *const *args;
    Py_ssize_t nargs; /* with keyword arguments */
    cwj_fences fences; /* one per parameter */
} call;

static _Thread_local call *running;

/* ---- the thunk --------------------------------------------------------------------------- */

typedef struct run {
    cwj_slot *slots;
    int error; /* errno before and after the thunk, without the guard's changes */
} run;

/* The caller's array that begins at this address, the longest if there are several; NULL if there is none. */
static PyArrayObject *
find_array(const void *data)
{
    PyArrayObject *found = NULL;
    for (Py_ssize_t i = 0; i < running->nargs; i++) {
        PyArrayObject *array = (PyArrayObject *)running->args[i];
        if (PyArray_Check(array) && PyArray_DATA(array) == data && PyArray_ISONESEGMENT(array) &&
            (found == NULL || PyArray_NBYTES(array) > PyArray_NBYTES(found))) {
            found = array;
        }
    }
    return found;
}

static void
copy_arrays(cwj_slot *slots)
{
    const cwj_library_function *function = running->function;
    for (int k = 0; k < running->fences.count; k++) {
        PyArrayObject *array =
            is_read(&function->parameters[k]) ? find_array(slots[k + 1].p) : NULL;
        if (array != NULL) {
            slots[k + 1].p =
                cwj_fences_copy(&running->fences, k, slots[k + 1].p, (size_t)PyArray_NBYTES(array),
                                PyArray_TYPE(array), (size_t)PyArray_ITEMSIZE(array));
        }
    }
}

/* Copies arrays that C updates in place back to the caller's. */
static void
write_back(void)
{
    for (int k = 0; k < running->fences.count; k++) {
        if (running->function->parameters[k].intent == CWJ_INTENT_INOUT) {
            cwj_fences_write_back(&running->fences, k, (char *)running->fences.items[k].of);
        }
    }
}

static void
run_thunk(void *argument)
{
    run *this = argument;
    copy_arrays(this->slots);
    errno = this->error;
    if (running->function->leavable) {
        cwj_run_code((void (*)(void))running->function->guard->thunk, this->slots, NULL, NULL,
                     NULL);
    } else {
        running->function->guard->thunk(this->slots);
    }
    this->error = errno;
}

static void
raise_fault(cwj_fault *fault, const cwj_slot *slots)
{
    cwj_library_function *function = running->function;
    PyGILState_STATE state = PyGILState_Ensure();
    PyErr_Clear(); /* the code may have set one before the fault */
    function->faulted = true;
    int k = cwj_fences_find(&running->fences, fault->address);
    fault->fence = k >= 0 ? &running->fences.items[k] : cwj_zones_find(fault->address);
    int count = fault->fence == NULL ? 0 : function->nparameters;
    for (int i = 0; k < 0 && i < count; i++) {
        bool is_array = function->parameters[i].role == CWJ_ARRAY;
        k = is_array && slots[i + 1].p == fault->fence->data ? i : -1;
    }
    if (k >= 0) {
        fault->kind = is_read(&function->parameters[k]) ? "argument" : "output";
        fault->name = PyUnicode_AsUTF8(function->parameters[k].name);
    }
    cwj_fault_raise(function->who, fault, NULL);
    PyGILState_Release(state);
}

static void
raise_damage(int k, ptrdiff_t offset)
{
    cwj_library_function *function = running->function;
    PyGILState_STATE state = PyGILState_Ensure();
    if (!PyErr_Occurred()) {
        function->faulted = true;
        cwj_damage_around(function->guard->state, function->who,
                          PyUnicode_FromFormat("argument '%U'", function->parameters[k].name),
                          offset, running->fences.items[k].size);
    }
    PyGILState_Release(state);
}

/* Replaces the function's thunk. Runs with or without the GIL. */
static void
thunk_guarded(cwj_slot *slots)
{
    cwj_fault fault;
    run this = {slots, errno};
    bool hosted = running->function->keep_gil;
    bool done = cwj_guard(hosted, run_thunk, &this, &fault);
    if (!done && cwj_fences_give_up(&running->fences)) {
        done = cwj_guard(hosted, run_thunk, &this, &fault);
    }
    write_back();
    ptrdiff_t offset;
    int k = done ? cwj_fences_damaged(&running->fences, &offset) : -1;
    if (!done) {
        raise_fault(&fault, slots);
    } else if (k >= 0) {
        raise_damage(k, offset);
    }
    errno = this.error;
}

/* ---- calls -------------------------------------------------------------------------------- */

/* Checks the bytes around an array that the call has made, or its base. Returns 0, or -1 with an exception set. */
static int
check_array(cwj_library_function *self, PyObject *object, Py_ssize_t place)
{
    ptrdiff_t offset;
    if (!PyArray_Check(object)) {
        return 0;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    PyObject *base = PyArray_BASE(array);
    if (!cwj_zones_have(array)) {
        return base == NULL ? 0 : check_array(self, base, place);
    }
    if (!cwj_zones_damaged(PyArray_DATA(array), &offset)) {
        return 0;
    }
    self->faulted = true;
    return cwj_damage_around(self->guard->state, self->who,
                             PyUnicode_FromFormat("result %zd", place), offset,
                             (size_t)PyArray_NBYTES(array));
}

static int
check_result(cwj_library_function *self, PyObject *result)
{
    if (!PyTuple_CheckExact(result)) {
        return check_array(self, result, 1);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); i++) {
        if (check_array(self, PyTuple_GET_ITEM(result, i), i + 1) < 0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *
call_guarded(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    cwj_library_function *self = (cwj_library_function *)op;
    call this = {
        .outer = running, .function = self, .args = args, .nargs = PyVectorcall_NARGS(nargsf)};
    this.nargs += kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    PyObject *before = cwj_zones_enter(self->guard->beyond);
    if (before == NULL) {
        return NULL;
    }
    Py_INCREF(op);
    cwj_guard_install();
    running = &this;
    bool fails = self->guard->fences && cwj_fences_new(&this.fences, self->nparameters,
                                                       self->guard->debug == CWJ_DEBUG_LEFT) < 0;
    PyObject *result = fails ? NULL : cwj_library_call(op, args, nargsf, kwnames);
    running = this.outer;
    cwj_fences_free(&this.fences);
    cwj_zones_leave(before);
    if (result != NULL && check_result(self, result) < 0) {
        Py_CLEAR(result);
    }
    Py_DECREF(op);
    return result;
}

/* ---- what C may keep ------------------------------------------------------------------------- */

/* Returns true if the code reads an array and cannot keep its address: it has no writable data to store it in, takes
 * only numbers and arrays (without keeps= and overlap="allow"), and returns no address. */
static bool
keeps_nothing(const cwj_library_function *self, const tj_environment *environment)
{
    cwj_role made = self->result.role;
    bool nothing = !tj_environment_may_keep(environment) && self->nkeeps == 0 &&
                   !self->may_overlap &&
                   (made == CWJ_VALUE || made == CWJ_STATUS || made == CWJ_NONE);
    bool reads = false;
    for (int k = 0; k < self->nparameters; k++) {
        const cwj_parameter *p = &self->parameters[k];
        nothing &= p->role == CWJ_VALUE || p->role == CWJ_ARRAY || p->role == CWJ_HIDDEN ||
                   p->role == CWJ_STRIDE || p->role == CWJ_LENGTH || p->role == CWJ_STATUS;
        reads |= is_read(p);
    }
    return nothing && reads;
}

/* True if libtcc may read beyond the items of an array: see cwj_zones_enter(). */
static bool
reads_beyond(const cwj_library_function *self)
{
    bool beyond = false;
    for (int k = 0; k < self->nparameters; k++) {
        PyArray_Descr *descr = self->parameters[k].descr;
        beyond |= descr != NULL &&
                  cwj_bytes_read_beyond(descr->type_num, (size_t)PyDataType_ELSIZE(descr)) > 0;
    }
    return beyond;
}

/* ---- the life of a guard ---------------------------------------------------------------------- */

int
cwj_library_guard_init(cwj_library_function *self, const cwj_module_state *state, PyObject *unit)
{
    const cwj_library_unit *library;
    if (!cwj_to_unit(unit, &library)) {
        return -1;
    }
    struct cwj_library_guard *guard = cwj_allocate(1, sizeof(*guard));
    if (guard == NULL) {
        return -1;
    }
    guard->thunk = self->thunk;
    guard->state = state;
    guard->fences = keeps_nothing(self, library->environment->tj);
    guard->beyond = reads_beyond(self);
    guard->debug = library->debug;
    self->guard = guard;
    self->thunk = thunk_guarded;
    self->vectorcall = call_guarded;
    return 0;
}
