/* bind.c: from vectorcall's arguments to one object per argument, as Python binds them. */
#include "wrap.h"

static int
refuse_count(const cwj_wrap_frame *frame, Py_ssize_t nargs)
{
    int most = frame->function->npositional;
    return cwj_wrap_refuse(frame, PyExc_TypeError, "takes %s%d positional argument%s, got %zd",
                           most > 0 ? "at most " : "", most, most == 1 ? "" : "s", nargs);
}

/* The index of an argument by its name; -1: there is none, -2: an exception is set. */
static int
find_argument(const cwj_wrapped *function, PyObject *name)
{
    for (int i = 0; i < function->narguments; i++) {
        if (function->arguments[i].name == name) {
            return i;
        }
    }
    for (int i = 0; i < function->narguments; i++) {
        int same = PyObject_RichCompareBool(function->arguments[i].name, name, Py_EQ);
        if (same != 0) {
            return same < 0 ? -2 : i;
        }
    }
    return -1;
}

static int
bind_keyword(cwj_wrap_frame *frame, PyObject *name, PyObject *value)
{
    int i = find_argument(frame->function, name);
    if (i == -2) {
        return -1;
    }
    if (i < 0) {
        return cwj_wrap_refuse(frame, PyExc_TypeError, "unexpected keyword argument %R", name);
    }
    if (frame->function->arguments[i].kind == CWJ_POSITIONAL) {
        return cwj_wrap_refuse(frame, PyExc_TypeError,
                               "argument %U is positional-only, but was given by keyword", name);
    }
    if (frame->given[i] != NULL) {
        return cwj_wrap_refuse(frame, PyExc_TypeError, "argument %U was given twice", name);
    }
    frame->given[i] = value;
    return 0;
}

/* None for an argument that may be absent is the same as absent; a default that is None
 * means NULL. */
static int
fill_defaults(cwj_wrap_frame *frame)
{
    const cwj_wrapped *function = frame->function;
    for (int i = 0; i < function->narguments; i++) {
        const cwj_argument *argument = &function->arguments[i];
        if (frame->given[i] != NULL && frame->given[i] != Py_None) {
            continue;
        }
        if (argument->preset != NULL) {
            frame->given[i] = argument->preset == Py_None ? NULL : argument->preset;
        } else if (frame->given[i] == NULL) {
            return cwj_wrap_refuse(frame, PyExc_TypeError, "missing argument %U", argument->name);
        }
    }
    return 0;
}

int
cwj_wrap_bind(cwj_wrap_frame *frame, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    if (nargs > frame->function->npositional) {
        return refuse_count(frame, nargs);
    }
    for (Py_ssize_t i = 0; i < nargs; i++) {
        frame->given[i] = args[i];
    }
    Py_ssize_t nkeywords = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t i = 0; i < nkeywords; i++) {
        if (bind_keyword(frame, PyTuple_GET_ITEM(kwnames, i), args[nargs + i]) < 0) {
            return -1;
        }
    }
    return fill_defaults(frame);
}
