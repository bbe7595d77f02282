/* progress.c: how far a call is, for whoever watches.
 *
 * What watches is the value of a context variable, cwj_runtime.watcher, which is looked up
 * between chunks of calls that last, ten times a second: other calls know nothing of this. A
 * watcher gets name, slices that are done, their total, and seconds; what it returns, unless
 * that is None, shows the rest of the call: it is called with the slices that are done, and closed
 * with them at the end. An exception of either ends the call.
 */

enum {
    CWJ_TELL_NS = 100000000, /* between two reports */
    CWJ_TELL_SHARE = 10      /* who takes them slowly has a tenth of the time */
};

/* Before a call's first slices. */
static void
open_progress(cwj_frame *frame, npy_intp total)
{
    frame->progress = (cwj_progress){.total = total};
}

/* What shows the call, made by whoever watches; NULL where nobody does or it is too early, and
 * with an exception. */
static PyObject *
show_progress(const cwj_frame *frame, npy_intp done, unsigned long long now)
{
    const cwj_progress *progress = &frame->progress;
    PyObject *watcher = NULL, *shown = NULL;
    if (PyContextVar_Get(frame->runtime->watcher, Py_None, &watcher) == 0 && watcher != Py_None) {
        shown = PyObject_CallFunction(watcher, "snnd", frame->decl->name, (Py_ssize_t)done,
                                      (Py_ssize_t)progress->total,
                                      (double)(now - progress->began) * 1e-9);
    }
    Py_XDECREF(watcher);
    if (shown == Py_None) {
        Py_CLEAR(shown);
    }
    return shown;
}

/* With the GIL held and no exception set: so many slices of a run are done. Returns -1 with an
 * exception set to stop the call. */
static int
tell_progress(cwj_frame *frame, npy_intp done)
{
    cwj_progress *progress = &frame->progress;
    unsigned long long now = frame->runtime->watcher != NULL ? tj_clock_ns() : 0;
    if (frame->runtime->watcher == NULL || now < progress->next) {
        return 0;
    }
    progress->began = progress->began != 0 ? progress->began : now;
    done += progress->before;
    if (progress->shown == NULL) {
        progress->shown = show_progress(frame, done, now);
    } else {
        Py_XDECREF(PyObject_CallFunction(progress->shown, "n", (Py_ssize_t)done));
    }
    unsigned long long after = tj_clock_ns(), pause = (CWJ_TELL_SHARE - 1) * (after - now);
    progress->next = after + (pause > CWJ_TELL_NS ? pause : CWJ_TELL_NS);
    progress->told = done;
    return PyErr_Occurred() != NULL ? -1 : 0;
}

/* The call ends, with the GIL held: its own exception stays. */
static CWJ_COLD void
close_progress(cwj_frame *frame, int finished)
{
    cwj_progress *progress = &frame->progress;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    finished = finished && type == NULL;
    Py_ssize_t done = finished ? progress->total : progress->told;
    Py_XDECREF(PyObject_CallMethod(progress->shown, "close", "n", done));
    if (!finished) {
        if (PyErr_Occurred()) {
            PyErr_WriteUnraisable(progress->shown);
        }
        PyErr_Restore(type, value, traceback);
    }
    Py_CLEAR(progress->shown);
}
