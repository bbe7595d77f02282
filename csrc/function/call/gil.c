/* gil.c: releases the GIL while slices run, and takes it back.
 *
 * A call releases the GIL around its slices if that pays off. Functions of Python that snippets
 * call (snippet_api.c) run between enter_python() and leave_python(). C's PyErr_Format has no
 * parameter for the call, so these two find the kind of thread in thread locals:
 *
 *     cwj_running         the call that released the GIL on this thread
 *     cwj_helping         this thread is one of the pool's, and helps a call
 *     cwj_in_numpy_loop   NumPy's loop runs slices on this thread, with or without the GIL (numpy_loop.c)
 *
 * If none is set, the slices run with the GIL, or on a thread that the snippet started. */

enum cwj_gil {
    CWJ_GIL_HELD,
    CWJ_GIL_TAKEN_BACK,
    CWJ_GIL_HELPER,
    CWJ_GIL_ENSURED
};

/* The Python side of a pool thread that helps a call. The thread has its own thread state for
 * errors, so that PyErr_Occurred() tells of its own slices only. */
typedef struct cwj_helper {
    PyInterpreterState *interpreter; /* the call's; a process may have several */
    PyThreadState *state;            /* owned; NULL until a snippet needs Python */
} cwj_helper;

static _Thread_local cwj_helper *cwj_helping;

static _Thread_local int cwj_in_numpy_loop;

/* The number of entry points that this thread is inside: Python frames may be on its stack. */
static _Thread_local int cwj_entered;
/* How often this thread has entered one. */
static _Thread_local unsigned cwj_entries;

const int *
cwj_entered_python(void)
{
    return &cwj_entered;
}

typedef struct cwj_entry {
    enum cwj_gil how;
    PyGILState_STATE state;
    cwj_frame *frame; /* the call that must release the GIL again */
    void *exits; /* see leave.c */
} cwj_entry;

static void
release_gil(cwj_frame *frame)
{
    cwj_deadline_look();
    cwj_running = frame;
    frame->released = PyEval_SaveThread();
}

static void
take_gil(cwj_frame *frame)
{
    PyEval_RestoreThread(frame->released);
    frame->released = NULL;
    cwj_running = NULL;
}

/* True if this thread holds the GIL. PyGILState_Check() is always true after a subinterpreter was made. */
static int
holds_gil(void)
{
    if (cwj_running != NULL) {
        return cwj_current_state() == cwj_running->released;
    }
    if (cwj_helping != NULL) {
        PyThreadState *state = cwj_current_state();
        return state != NULL &&
               (state == cwj_helping->state || state == PyGILState_GetThisThreadState());
    }
    if (cwj_in_numpy_loop) {
        PyThreadState *state = cwj_current_state();
        return state != NULL && state == PyGILState_GetThisThreadState();
    }
    return PyGILState_Check();
}

/* Takes the GIL for a helper. Returns 0 if there is no memory for a thread state. */
static int
helper_take_gil(cwj_helper *helper)
{
    if (helper->state == NULL) {
        helper->state = PyThreadState_New(helper->interpreter);
    }
    if (helper->state == NULL) {
        return 0;
    }
    PyEval_RestoreThread(helper->state);
    return 1;
}

static cwj_entry
enter_python(void)
{
    cwj_entry entry = {CWJ_GIL_HELD, PyGILState_UNLOCKED, cwj_running, cwj_exits_shut()};
    cwj_entered++;
    cwj_entries++;
    if (holds_gil()) {
        return entry; /* the call has not released it, or the snippet took it back */
    }
    if (entry.frame != NULL) {
        take_gil(entry.frame);
        entry.how = CWJ_GIL_TAKEN_BACK;
    } else if (cwj_helping != NULL && helper_take_gil(cwj_helping)) {
        entry.how = CWJ_GIL_HELPER;
    } else {
        entry.state = PyGILState_Ensure(); /* a thread that the snippet started */
        entry.how = CWJ_GIL_ENSURED;
    }
    return entry;
}

static void
leave_python(cwj_entry entry)
{
    if (entry.how == CWJ_GIL_TAKEN_BACK) {
        release_gil(entry.frame);
    } else if (entry.how == CWJ_GIL_HELPER) {
        PyEval_SaveThread();
    } else if (entry.how == CWJ_GIL_ENSURED) {
        PyGILState_Release(entry.state);
    }
    cwj_entered--;
    cwj_exits_open(entry.exits);
}

void
cwj_in_python(void (*task)(void *), void *argument)
{
    cwj_entry entry = enter_python();
    task(argument);
    leave_python(entry);
}
