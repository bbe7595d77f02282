/* gil.c: giving the GIL away for the time of the slices, and getting it back.
 *
 * A call releases the GIL around its slices where that pays. What snippets call
 * of Python's (snippet_api.c) goes through enter_python() and leave_python(),
 * which find out on which kind of thread they are by thread locals, as C's
 * PyErr_Format has no parameter for it:
 *
 *     cwj_running   the call that released the GIL on this thread
 *     cwj_helping   this thread is one of the pool's, and helps a call
 *
 *     cwj_in_numpy_loop   NumPy's loop runs slices on this thread, with or without the GIL (numpy_loop.c)
 *
 * Where none is set, the slices run with the GIL, or on a thread that the snippet started.
 */

enum cwj_gil {
    CWJ_GIL_HELD,
    CWJ_GIL_TAKEN_BACK,
    CWJ_GIL_HELPER,
    CWJ_GIL_ENSURED
};

/* What a thread of the pool is to Python while it helps a call. Its errors live
 * in a thread state of its own, so that PyErr_Occurred() is about its slices. */
typedef struct cwj_helper {
    PyInterpreterState *interpreter; /* the call's: there may be several */
    PyThreadState *state;            /* owned; NULL until a snippet needs Python */
} cwj_helper;

static _Thread_local cwj_helper *cwj_helping;

static _Thread_local int cwj_in_numpy_loop;

/* How many of the entry points this thread is in: frames of Python's may be on its stack. */
static _Thread_local int cwj_entered;
/* How often it was. */
static _Thread_local unsigned cwj_entries;

const int *
cwj_entered_python(void)
{
    return &cwj_entered;
}

typedef struct cwj_entry {
    enum cwj_gil how;
    PyGILState_STATE state;
    cwj_frame *frame; /* the call that has to release it again */
} cwj_entry;

static void
release_gil(cwj_frame *frame)
{
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

/* True when this thread holds the GIL. PyGILState_Check() alone will not do: it
 * says yes to everything once the process has had a subinterpreter. */
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

/* Returns 0 when there is no memory for a thread state. */
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
    cwj_entry entry = {CWJ_GIL_HELD, PyGILState_UNLOCKED, cwj_running};
    cwj_entered++;
    cwj_entries++;
    if (holds_gil()) {
        return entry; /* never released, or the snippet took it itself */
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
}

void
cwj_in_python(void (*task)(void *), void *argument)
{
    cwj_entry entry = enter_python();
    task(argument);
    leave_python(entry);
}
