/* report.c: the wording of what is wrong with a call. */
#include "wrap.h"

int
cwj_wrap_refuse(const cwj_wrap_frame *frame, PyObject *type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *text = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    if (text != NULL) {
        PyErr_Format(type, "%U: %U", frame->function->who, text);
        Py_DECREF(text);
    }
    return -1;
}

PyObject *
cwj_wrap_name(const cwj_wrap_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    return parameter->argument >= 0 ? frame->function->arguments[parameter->argument].name
                                    : parameter->name;
}

/* "float64[:,:]" */
static PyObject *
array_text(const cwj_parameter *parameter)
{
    PyObject *text = PyUnicode_FromString(parameter->type == NULL ? "any" : parameter->type->name);
    for (int d = 0; d < parameter->ndim && text != NULL; d++) {
        Py_SETREF(text, PyUnicode_FromFormat("%U%s", text, d == 0 ? "[:" : ",:"));
    }
    if (text != NULL && parameter->ndim > 0) {
        Py_SETREF(text, PyUnicode_FromFormat("%U]", text));
    }
    return text;
}

/* "tuple[int, ...]" */
static PyObject *
items_text(const cwj_parameter *parameter)
{
    const char *more = parameter->container == &PyTuple_Type ? ", ..." : "";
    PyObject *text = PyUnicode_FromString(parameter->type->python);
    for (int d = 0; d < parameter->ndim && text != NULL; d++) {
        Py_SETREF(text,
                  PyUnicode_FromFormat("%s[%U%s]", parameter->container->tp_name, text, more));
    }
    return text;
}

/* What the argument's annotation says, or would say. */
static PyObject *
wanted_text(const cwj_wrap_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    if (parameter->argument >= 0) {
        PyObject *annotation = frame->function->arguments[parameter->argument].annotation;
        if (PyUnicode_GET_LENGTH(annotation) > 0) {
            return Py_NewRef(annotation);
        }
    }
    switch (parameter->role) {
    case CWJ_ARRAY:
        return array_text(parameter);
    case CWJ_ITEMS:
        return items_text(parameter);
    case CWJ_STRING:
        return PyUnicode_FromString("str");
    case CWJ_BUFFER:
        return PyUnicode_FromString("bytes");
    case CWJ_HANDLE:
    case CWJ_STRUCT:
        return PyObject_GetAttrString(parameter->cls, "__name__");
    default:
        return PyUnicode_FromString(parameter->type == NULL ? "object" : parameter->type->python);
    }
}

int
cwj_wrap_refuse_type(const cwj_wrap_frame *frame, int k, PyObject *object, PyObject *detail)
{
    PyObject *wanted = wanted_text(frame, k);
    if (wanted == NULL) {
        return -1;
    }
    if (detail != NULL) {
        cwj_wrap_refuse(frame, PyExc_TypeError,
                        "Expected an argument of type %S for argument %U, %U", wanted,
                        cwj_wrap_name(frame, k), detail);
    } else {
        cwj_wrap_refuse(frame, PyExc_TypeError,
                        "Expected an argument of type %S for argument %U, got %s", wanted,
                        cwj_wrap_name(frame, k), Py_TYPE(object)->tp_name);
    }
    Py_DECREF(wanted);
    return -1;
}
