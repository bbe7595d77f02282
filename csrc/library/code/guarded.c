/* guarded.c: see guarded.h. The call path knows nothing of it: the thunk that it calls is the
 * one here, which runs the function's own. */
#include "library/code/guarded.h"

#include <errno.h>

#include "base/errors.h"
#include "base/debug/fault.h"
#include "base/debug/zones.h"
#include "library/call/steps.h"
#include "library/code/unit.h"

typedef struct cwj_library_guard {
    cwj_guarded guarded;
    cwj_thunk *thunk; /* the function's own */
    PyObject *unit;   /* owned: the sources' lines */
    const tj_environment *environment; /* the unit's */
    const cwj_module_state *state;
} cwj_library_guard;

/* The function whose call is under way in this thread. */
static _Thread_local cwj_library_function *running;

/* ---- the thunk --------------------------------------------------------------------------- */

/* A line of the library's text, which is no file that could be read. */
static PyObject *
line_of_text(void *owner, const char *file, int line)
{
    const tj_environment *environment = ((cwj_library_guard *)owner)->environment;
    const char *text = tj_environment_text(environment);
    if (text == NULL || file[0] != '<') {
        Py_RETURN_NONE;
    }
    for (; line > 0; line--) { /* in front of the text there is one line more */
        text += strcspn(text, "\n");
        if (*text == '\0') {
            Py_RETURN_NONE;
        }
        text++;
    }
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strcspn(text, "\n"), "replace");
}

typedef struct run {
    cwj_slot *slots;
    int error; /* errno before and after: what guards is not to be seen there */
} run;

static void
run_thunk(void *argument)
{
    run *this = argument;
    errno = this->error;
    running->guard->thunk(this->slots);
    this->error = errno;
}

/* With or without the GIL. */
static void
thunk_guarded(cwj_slot *slots)
{
    cwj_library_function *function = running;
    struct cwj_library_guard *guard = function->guard;
    cwj_fault fault;
    run this = {slots, errno};
    if (!cwj_guard(&guard->guarded, run_thunk, &this, &fault)) {
        PyGILState_STATE state = PyGILState_Ensure();
        PyErr_Clear(); /* what the code may have set before */
        function->faulted = true;
        cwj_fault_raise(function->who, &guard->guarded, &fault, line_of_text, function->guard);
        PyGILState_Release(state);
    }
    errno = this.error;
}

/* ---- calls -------------------------------------------------------------------------------- */

/* Looks around an array that the call has made, or that is its base. Returns -1 with an
 * exception set. */
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
    cwj_library_function *self = (cwj_library_function *)op, *outer = running;
    PyObject *before = cwj_zones_enter();
    if (before == NULL) {
        return NULL;
    }
    Py_INCREF(op);
    cwj_guard_install();
    running = self;
    PyObject *result = cwj_library_call(op, args, nargsf, kwnames);
    running = outer;
    cwj_zones_leave(before);
    if (result != NULL && check_result(self, result) < 0) {
        Py_CLEAR(result);
    }
    Py_DECREF(op);
    return result;
}

/* ---- the life of a guard ---------------------------------------------------------------------- */

int
cwj_library_guard_init(cwj_library_function *self, const cwj_module_state *state, PyObject *unit)
{
    const cwj_library_unit *library;
    if (!cwj_to_unit(unit, &library)) {
        return -1;
    }
    struct cwj_library_guard *guard = PyMem_Calloc(1, sizeof(*guard));
    if (guard == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    const tj_lines *sources = tj_environment_lines(library->environment->tj);
    guard->guarded = (cwj_guarded){NULL, sources, self->keep_gil};
    guard->thunk = self->thunk;
    guard->unit = Py_NewRef(unit);
    guard->environment = library->environment->tj;
    guard->state = state;
    self->guard = guard;
    self->thunk = thunk_guarded;
    self->vectorcall = call_guarded;
    return 0;
}

void
cwj_library_guard_free(struct cwj_library_guard *guard)
{
    if (guard != NULL) {
        Py_DECREF(guard->unit);
        PyMem_Free(guard);
    }
}
