/* snippets.c: the snippets that run once per call, and what a snippet's answer
 * means. */

#define CWJ_SLICE_CODE "the slice code (Ccode_slice_eval)"

/* A snippet's answer, and the exception that it may have set in either case. */
static int
check_answer(const cwj_frame *frame, int accepted, const char *what)
{
    if (!accepted && !PyErr_Occurred()) {
        raise_in_call(frame, PyExc_RuntimeError, "%s returned false", what);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int
validate(cwj_frame *frame)
{
    if (frame->decl->validate == NULL) {
        return 0;
    }
    return check_answer(frame, frame->decl->validate(&frame->call), "Ccode_validate");
}

/* Runs whatever happened; an exception that is already set stays. */
static int
cleanup_cookie(cwj_frame *frame)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    frame->decl->cleanup(&frame->call);
    if (type == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    PyErr_Restore(type, value, traceback);
    return 0;
}
