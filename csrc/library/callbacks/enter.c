/* enter.c: enters Python from C on any thread, calls a closure and returns. */
#include "library/callbacks/callback.h"

#include "base/leave.h"
#include "base/compat.h"
#include "base/raised.h"

#include <errno.h>

/* ---- what is wrong --------------------------------------------------------------- */

/* Moves the current exception to the call that runs C; without one, or if that has one already, passes it to
 * sys.unraisablehook. */
static void
report(cwj_watch *watch, PyObject *who)
{
    if (watch == NULL || watch->failed) {
        PyErr_WriteUnraisable(who);
        return;
    }
    PyErr_Fetch(&watch->type, &watch->value, &watch->traceback);
    watch->failed = true;
}

/* ---- a call ------------------------------------------------------------------------ */

static npy_int64
value_of(const cwj_passed *passed, const cwj_slot *slot)
{
    npy_int64 value = 0;
    cwj_slot number = *slot;
    if (passed->crossing == CWJ_CROSS_REFERENCE && slot->p != NULL) {
        cwj_scalar_load(passed->type, slot->p, &number);
    } else if (passed->crossing == CWJ_CROSS_REFERENCE) {
        return 0;
    }
    return cwj_scalar_count(passed->type, &number, &value) ? value : NPY_MAX_INT64;
}

/* Calls the callable and puts its result into slots[0]. Returns 0, or -1 with an exception set. */
static int
call(cwj_closure *closure, cwj_slot *slots)
{
    const cwj_callback_kind *kind = closure->kind;
    PyObject *args[CWJ_MOST_PASSED + 1], *roots[CWJ_MOST_PASSED];
    const cwj_passed *given[CWJ_MOST_PASSED];
    npy_int64 symbols[CWJ_MOST_PASSED];
    PyObject *result = NULL, *keeper = NULL;
    int count = 0, status = 0;
    for (int k = 0; kind->nsymbols > 0 && k < kind->count; k++) {
        if (kind->passed[k].symbol >= 0) {
            symbols[kind->passed[k].symbol] = value_of(&kind->passed[k], &slots[k + 1]);
        }
    }
    for (int k = 0; k < kind->count && status == 0; k++) {
        const cwj_passed *passed = &kind->passed[k];
        if (passed->hidden) {
            continue;
        }
        roots[count] = NULL;
        args[count + 1] = cwj_cross_in(kind, passed, symbols, &slots[k + 1], &roots[count]);
        if (args[count + 1] == NULL) {
            cwj_raised_of("%U: parameter %U", kind->who, passed->name);
            status = -1;
        }
        given[count] = passed;
        count += status == 0;
    }
    if (status == 0) {
        result = PyObject_Vectorcall(closure->callable, args + 1,
                                     (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        status = result == NULL ? -1 : cwj_cross_out(kind, result, &slots[0], &keeper);
        Py_XSETREF(closure->returned, keeper);
    }
    for (int i = 0; i < count; i++) {
        if (kind->has_memory) {
            status |= cwj_cross_end(kind, given[i], args[i + 1], roots[i]);
        } else {
            Py_DECREF(args[i + 1]);
        }
    }
    Py_XDECREF(result);
    return status;
}

/* Needs the GIL. watch: this thread's, or NULL. */
static void
enter(cwj_place *place, cwj_slot *slots, cwj_watch *watch)
{
    cwj_closure *closure = place->closure;
    if (closure == NULL || closure->callable == NULL) {
        PyErr_Format(
            PyExc_RuntimeError,
            "%U: C called this callback after its lifetime: keeps= says what has it longer",
            place->who);
        report(watch, place->who);
        return;
    }
    watch = watch == NULL ? closure->watch : watch;
    if (watch != NULL && watch->failed) {
        return;
    }
    Py_INCREF(closure);
    cwj_watch *own = cwj_watching;
    bool inside = own != NULL && own->inside;
    if (own != NULL) {
        own->inside = true;
    }
    int status = call(closure, slots);
    if (own != NULL) {
        own->inside = inside;
    }
    if (status < 0) {
        memset(&slots[0], 0, sizeof(slots[0]));
        report(watch == NULL ? closure->watch : watch, closure->callable);
    }
    Py_DECREF(closure);
}

void
cwj_callback_enter(cwj_place *place, cwj_slot *slots)
{
    cwj_watch *watch = cwj_watching;
    int error = errno; /* C may read it after the callback */
    watch = watch != NULL && watch->inside ? NULL : watch; /* a callback of it runs Python code */
    if ((watch != NULL && watch->failed) || !Py_IsInitialized() || cwj_is_finalizing()) {
        return;
    }
    void *exits = cwj_exits_shut();
    if (PyGILState_Check()) {
        enter(place, slots, watch);
        cwj_exits_open(exits);
    } else if (watch != NULL && watch->released != NULL) { /* the thread of the call */
        PyEval_RestoreThread(watch->released);
        enter(place, slots, watch);
        PyEval_SaveThread();
        cwj_exits_open_or_leave(exits);
    } else {
        PyGILState_STATE state = PyGILState_Ensure();
        enter(place, slots, watch);
        PyGILState_Release(state);
        cwj_exits_open(exits);
    }
    errno = error;
}
