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

/* What an operator makes of texts, of which it takes the references; NULL with an exception set. */
static PyObject *
text_of_operation(int op, PyObject *const *texts)
{
    int count = cwj_dim_operands(op);
    bool complete = true;
    for (int i = 0; i < count; i++) {
        complete &= texts[i] != NULL;
    }
    PyObject *text = NULL;
    if (complete && op == CWJ_DIM_CHOOSE) {
        text = PyUnicode_FromFormat("(%U ? %U : %U)", texts[0], texts[1], texts[2]);
    } else if (complete && op == CWJ_DIM_NOT) {
        text = PyUnicode_FromFormat("!%U", texts[0]);
    } else if (complete && (op == CWJ_DIM_MIN || op == CWJ_DIM_MAX)) {
        text = PyUnicode_FromFormat("%s(%U, %U)", op == CWJ_DIM_MIN ? "min" : "max", texts[0],
                                    texts[1]);
    } else if (complete) {
        text = PyUnicode_FromFormat("(%U %s %U)", texts[0], cwj_operator_word(op), texts[1]);
    }
    for (int i = 0; i < count; i++) {
        Py_XDECREF(texts[i]);
    }
    return text;
}

/* ", n is 3 by argument a" is appended to *sources, which becomes NULL where memory is short. */
static void
append_source(const cwj_library_frame *frame, int symbol, PyObject **sources)
{
    PyObject *name = PyTuple_GET_ITEM(frame->function->symbols, symbol);
    int source = frame->sources[symbol];
    long long value = frame->symbols[symbol];
    PyUnicode_AppendAndDel(sources,
                           source < 0 || source >= frame->function->nparameters
                               ? PyUnicode_FromFormat(", %U is %lld", name, value)
                               : PyUnicode_FromFormat(", %U is %lld by argument %U", name, value,
                                                      cwj_library_name(frame, source)));
}

PyObject *
cwj_library_text_of_dim(const cwj_library_frame *frame, const cwj_dim *dim)
{
    PyObject *stack[CWJ_MAX_DEPTH], *sources = PyUnicode_FromString(""), *named = PySet_New(NULL);
    int depth = 0;
    for (int i = 0; i < dim->count; i++) {
        const cwj_dim_step *step = &dim->steps[i];
        if (step->op == CWJ_DIM_NUMBER) {
            stack[depth++] = PyUnicode_FromFormat("%lld", (long long)step->value);
        } else if (step->op == CWJ_DIM_SYMBOL) {
            PyObject *name = PyTuple_GET_ITEM(frame->function->symbols, step->value);
            stack[depth++] = Py_NewRef(name);
            int known = named == NULL ? -1 : PySet_Contains(named, name);
            if (known == 0 && PySet_Add(named, name) == 0) {
                append_source(frame, (int)step->value, &sources);
            }
        } else {
            depth -= cwj_dim_operands(step->op) - 1;
            stack[depth - 1] = text_of_operation(step->op, &stack[depth - 1]);
        }
    }
    PyObject *text = depth == 1 ? stack[0] : PyUnicode_FromString("");
    Py_ssize_t length = text == NULL ? 0 : PyUnicode_GET_LENGTH(text);
    if (dim->count > 1 && length > 1 && PyUnicode_READ_CHAR(text, 0) == '(') {
        Py_SETREF(text, PyUnicode_Substring(text, 1, length - 1)); /* "(n + 1)" */
    }
    PyUnicode_AppendAndDel(&text, sources);
    Py_XDECREF(named);
    return text;
}
