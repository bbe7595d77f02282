/* bind.c: finds the object for each argument among vectorcall's arguments, by Python's rules. */
#include "library/call/steps.h"

#include "base/bind.h"

static void
refuse_arguments(const void *frame, PyObject *text)
{
    cwj_library_refuse(frame, PyExc_TypeError, "%U", text);
}

/* None stands for the default of an argument that has one; a default of None makes it absent. */
int
cwj_library_bind(cwj_library_frame *frame, PyObject *const *args, Py_ssize_t nargs,
                 PyObject *kwnames)
{
    const cwj_library_function *function = frame->function;
    const cwj_argument *arguments = function->arguments;
    cwj_signature_names names = {&arguments->name,
                                 sizeof(*arguments),
                                 function->narguments,
                                 function->nonly_positional,
                                 function->npositional,
                                 refuse_arguments,
                                 frame,
                                 0};
    if (cwj_bind(&names, args, nargs, kwnames, frame->given) < 0) {
        return -1;
    }
    for (int i = 0; i < function->narguments; i++) {
        PyObject *preset = arguments[i].preset;
        if (frame->given[i] != NULL && frame->given[i] != Py_None) {
            continue;
        }
        if (preset != NULL) {
            frame->given[i] = preset == Py_None ? NULL : preset;
        } else if (frame->given[i] == NULL) {
            return cwj_refuse_missing(&names, i, arguments[i].name);
        }
    }
    return 0;
}
