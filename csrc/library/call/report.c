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

/* Appends ", n is 3 by argument a" to *text, which becomes NULL if this fails. */
static void
append_source(const cwj_library_frame *frame, int symbol, PyObject **text)
{
    PyObject *name = PyTuple_GET_ITEM(frame->function->symbols, symbol);
    int source = frame->sources[symbol];
    long long value = frame->symbols[symbol];
    PyUnicode_AppendAndDel(text,
                           source < 0 || source >= frame->function->nparameters
                               ? PyUnicode_FromFormat(", %U is %lld", name, value)
                               : PyUnicode_FromFormat(", %U is %lld by argument %U", name, value,
                                                      cwj_library_name(frame, source)));
}

PyObject *
cwj_library_text_of_dim(const cwj_library_frame *frame, const cwj_dim *dim)
{
    PyObject *text = cwj_ask_python("cwrapjit.library.expressions", "shown", "(O)", dim->given);
    for (int i = 0; text != NULL && i < dim->count; i++) {
        const cwj_dim_step *step = &dim->steps[i];
        bool known = step->op != CWJ_DIM_SYMBOL;
        for (int k = 0; k < i; k++) {
            known |= dim->steps[k].op == CWJ_DIM_SYMBOL && dim->steps[k].value == step->value;
        }
        if (!known) {
            append_source(frame, (int)step->value, &text);
        }
    }
    return text;
}
