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
cwj_library_refuse_value(const cwj_library_frame *frame, int k, PyObject *number)
{
    int typenum = frame->function->parameters[k].type->typenum;
    PyObject *fault = cwj_text_of_no_such_value(number, typenum);
    if (fault != NULL) {
        cwj_library_refuse(frame, PyExc_OverflowError, "argument %U: %U",
                           cwj_library_name(frame, k), fault);
        Py_DECREF(fault);
    }
    return -1;
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
cwj_library_refuse_kind(const cwj_library_frame *frame, int k, PyObject *number)
{
    int typenum = frame->function->parameters[k].type->typenum;
    PyObject *came = cwj_text_of_other_kind(number, typenum);
    if (came != NULL) {
        cwj_library_refuse_type(frame, k, "%U", came);
        Py_DECREF(came);
    }
    return -1;
}
