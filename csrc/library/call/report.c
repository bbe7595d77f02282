/* report.c: words the errors of a call. */
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
        const cwj_parameter *parameter = &frame->function->parameters[k];
        bool is_null = parameter->type == NULL && frame->given[parameter->argument] == Py_None;
        cwj_library_refuse(
            frame, PyExc_TypeError, "Expected an argument of type %U for argument %U, got %U%s",
            frame->function->arguments[parameter->argument].annotation, cwj_library_name(frame, k),
            got, is_null ? ": None is NULL where optional= names the argument" : "");
        Py_DECREF(got);
    }
    return -1;
}

int
cwj_library_refuse_number(const cwj_library_frame *frame, int k, cwj_fit fit, PyObject *number)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    PyObject *fault = cwj_scalar_fault(fit, parameter->type, number);
    if (fault == NULL) {
        return -1;
    }
    if (fit == CWJ_NO_SUCH_VALUE) {
        cwj_library_refuse(frame, cwj_scalar_error(parameter->type), "argument %U: %U",
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

PyObject *
cwj_library_text_of_dim(const cwj_library_frame *frame, const cwj_dim *dim)
{
    const cwj_library_function *function = frame->function;
    PyObject *values = PyList_New(0);
    for (int s = 0; s < function->nsymbols; s++) {
        int k = frame->sources[s];
        bool has_source = k >= 0 && k < function->nparameters;
        cwj_list_add(&values, Py_BuildValue("(LO)", (long long)frame->symbols[s],
                                            has_source ? cwj_library_name(frame, k) : Py_None));
    }
    return cwj_ask_python("cwrapjit.library.expressions", "explained", "(OON)", dim->given,
                          function->symbols, values);
}
