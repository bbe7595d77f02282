/* report.c: the wording of what is wrong with a call. */
#include "library/call/steps.h"

#include "base/errors.h"

int
cwj_library_refuse(const cwj_library_frame *frame, PyObject *type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int status = cwj_refuse_with(frame->function->who, type, format, arguments);
    va_end(arguments);
    return status;
}

PyObject *
cwj_library_name(const cwj_library_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    return parameter->argument >= 0 ? frame->function->arguments[parameter->argument].name
                                    : parameter->name;
}

int
cwj_library_refuse_type(const cwj_library_frame *frame, int k, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *got = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    if (got != NULL) {
        int argument = frame->function->parameters[k].argument;
        cwj_library_refuse(
            frame, PyExc_TypeError, "Expected an argument of type %U for argument %U, got %U",
            frame->function->arguments[argument].annotation, cwj_library_name(frame, k), got);
        Py_DECREF(got);
    }
    return -1;
}

int
cwj_library_refuse_number(const cwj_library_frame *frame, int k, cwj_fit fit, PyObject *number)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    int typenum = parameter->type->typenum;
    PyObject *fault = fit == CWJ_FIT_ERROR       ? NULL
                      : fit == CWJ_NO_SUCH_VALUE ? cwj_text_of_no_such_value(number, typenum)
                                                 : cwj_text_of_other_kind(number, typenum);
    if (fault == NULL) {
        return -1;
    }
    if (fit == CWJ_NO_SUCH_VALUE) {
        cwj_library_refuse(frame, PyExc_OverflowError, "argument %U: %U",
                           cwj_library_name(frame, k), fault);
    } else if (parameter->role == CWJ_ITEMS) {
        cwj_library_refuse_type(frame, k, "a %s with an item of type %U",
                                parameter->container->tp_name, fault);
    } else {
        cwj_library_refuse_type(frame, k, "%U", fault);
    }
    Py_DECREF(fault);
    return -1;
}
