/* progress.c: reports the progress of calls to watchers.
 *
 * The watcher is the value of a context variable, cwj_runtime.watcher. Long calls look it up
 * between chunks, ten times a second; other calls never do. A watcher gets the call's name, the
 * slices done, their total, and the seconds so far. If it returns an object, not None, that object
 * shows the rest of the call: it is called with the slices done, and its close() with them at the
 * end. An exception of either ends the call. */

enum {
    CWJ_TELL_NS = 100000000, /* between two reports */
    CWJ_TELL_SHARE = 10      /* slow watchers take at most a tenth of the time */
};

/* Called before a call's first slices. */
static void
open_progress(cwj_frame *frame, npy_intp total)
{
    frame->progress = (cwj_progress){.total = total};
}

/* Asks the watcher for an object that shows the call. Returns a new reference; NULL if there is no watcher, if it
 * returns None, or with an exception set. */
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

/* Tells the watcher that `done` slices of this run are done. Needs the GIL and no exception set. Returns 0, or -1 with
 * an exception set to stop the call. */
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

/* Ends the reports of a call, with the GIL held. The call's own exception stays set. */
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
