/* take_texts.c: texts and buffers of bytes as arguments. */
#include "base/errors.h"
#include "library/call/steps.h"

/* The UTF-8 of a str lives in the str, that of bytes in the bytes; both outlive the call. */
static const char *
bytes_of(PyObject *object, Py_ssize_t *length)
{
    if (PyUnicode_Check(object)) {
        return PyUnicode_AsUTF8AndSize(object, length);
    }
    *length = PyBytes_GET_SIZE(object);
    return PyBytes_AS_STRING(object);
}

static bool
has_path(PyObject *object)
{
    return PyObject_HasAttrString((PyObject *)Py_TYPE(object), "__fspath__");
}

/* The bytes of a text in the encoding that is said, or NULL with an exception set. */
static PyObject *
encode(const cwj_parameter *parameter, PyObject *text)
{
    const char *encoding = PyUnicode_AsUTF8(parameter->encoding);
    if (encoding == NULL) {
        return NULL;
    }
    return strcmp(encoding, "fs") == 0 ? PyUnicode_EncodeFSDefault(text)
                                       : PyUnicode_AsEncodedString(text, encoding, NULL);
}

/* From a path, as os.fsencode() has it, or a str with an encoding of its own: bytes, new reference. */
static PyObject *
converted(const cwj_library_frame *frame, int k, PyObject *object)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    if (PyUnicode_Check(object)) {
        return encode(parameter, object);
    }
    if (!has_path(object)) {
        cwj_library_refuse_type(frame, k, "%s", Py_TYPE(object)->tp_name);
        return NULL;
    }
    PyObject *path = PyOS_FSPath(object);
    if (path != NULL && PyUnicode_Check(path)) {
        Py_SETREF(path, PyUnicode_EncodeFSDefault(path));
    }
    return path;
}

/* Of length bytes, which end at the NUL behind them. */
static int
put_text(cwj_library_frame *frame, int k, const char *text, Py_ssize_t length)
{
    if (text == NULL) {
        return -1;
    }
    if (strlen(text) != (size_t)length) {
        return cwj_library_refuse(frame, PyExc_ValueError,
                                  "argument %U holds a NUL, where C's text ends: only texts with a "
                                  "length, as in %U[n], may",
                                  cwj_library_name(frame, k), frame->function->parameters[k].name);
    }
    frame->slots[k + 1].p = (void *)text;
    return 0;
}

/* What is kept, and what results point into, is what C has got: it takes the argument's place. */
static __attribute__((noinline)) int
take_converted(cwj_library_frame *frame, int k, PyObject *object)
{
    PyObject *bytes = frame->made[k] = converted(frame, k, object);
    if (bytes == NULL) {
        return -1;
    }
    frame->given[frame->function->parameters[k].argument] = bytes;
    return put_text(frame, k, PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes));
}

int
cwj_library_take_string(cwj_library_frame *frame, int k, PyObject *object)
{
    bool is_str = PyUnicode_Check(object);
    if (is_str ? frame->function->parameters[k].encoding != NULL : !PyBytes_Check(object)) {
        return take_converted(frame, k, object);
    }
    Py_ssize_t length;
    const char *text = bytes_of(object, &length);
    return put_text(frame, k, text, length);
}

/* C must not write over references. */
static bool
holds_objects(PyObject *object)
{
    if (PyArray_Check(object)) {
        return PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)object));
    }
    const char *format =
        PyMemoryView_Check(object) ? PyMemoryView_GET_BUFFER(object)->format : NULL;
    return format != NULL && strchr(format, 'O') != NULL;
}

static int
take_view(cwj_library_frame *frame, int k, PyObject *object)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    Py_buffer *view = &frame->views[frame->nviews];
    int flags = parameter->intent == CWJ_INTENT_IN ? PyBUF_SIMPLE : PyBUF_WRITABLE;
    if (parameter->ndim == 2) { /* items of any type: their number, and their size */
        flags |= PyBUF_ND;
    }
    if (PyObject_GetBuffer(object, view, flags) < 0) {
        if (cwj_clear_expected(PyExc_BufferError, PyExc_ValueError, NULL)) {
            cwj_library_refuse(frame, PyExc_ValueError, "argument %U must be contiguous%s",
                               cwj_library_name(frame, k),
                               parameter->intent == CWJ_INTENT_IN ? "" : " and writeable");
        }
        return -1;
    }
    frame->nviews++;
    frame->lengths[parameter->lengths_at] = view->len;
    if (parameter->ndim == 2) {
        npy_intp size = view->itemsize > 0 ? view->itemsize : 1;
        frame->lengths[parameter->lengths_at] = view->len / size;
        frame->lengths[parameter->lengths_at + 1] = size;
    }
    frame->slots[k + 1].p = view->buf != NULL ? view->buf : (void *)&frame->targets[k];
    return 0;
}

int
cwj_library_take_buffer(cwj_library_frame *frame, int k, PyObject *object)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    Py_ssize_t length;
    if (PyUnicode_Check(object) && parameter->intent == CWJ_INTENT_IN && parameter->ndim == 1) {
        const char *text = bytes_of(object, &length);
        frame->slots[k + 1].p = (void *)text;
        frame->lengths[parameter->lengths_at] = text == NULL ? 0 : length;
        return text == NULL ? -1 : 0;
    }
    if (!PyObject_CheckBuffer(object) || holds_objects(object)) {
        return cwj_library_refuse_type(frame, k, "%s", Py_TYPE(object)->tp_name);
    }
    return take_view(frame, k, object);
}
