/* snippets.c: runs the snippets that run once per call, and interprets what snippets return. */

#define CWJ_SLICE_CODE "the slice code (Ccode_slice_eval)"

/* Checks a snippet's answer. Returns 0, or -1 with an exception set: the snippet's own, which it may set even if it
 * accepts, or RuntimeError. */
static int
check_answer(const cwj_frame *frame, int accepted, const char *what)
{
    if (CWJ_UNLIKELY(!accepted && cwj_has_left())) {
        frame->runtime->left(frame->runtime);
    } else if (!accepted && !PyErr_Occurred()) {
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
    return check_answer(frame, run_snippet((void (*)(void))frame->decl->validate, &frame->call),
                        "Ccode_validate");
}

/* Runs the cleanup snippet after any outcome. An exception that is already set stays. */
static int
cleanup_cookie(cwj_frame *frame)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    run_snippet((void (*)(void))frame->decl->cleanup, &frame->call);
    if (CWJ_UNLIKELY(cwj_has_left())) {
        frame->runtime->left(frame->runtime);
    }
    if (type == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    PyErr_Restore(type, value, traceback);
    return 0;
}
