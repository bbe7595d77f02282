/* take_texts.c: takes texts, lists of texts and buffers of bytes as arguments. */
#include "base/errors.h"
#include "library/call/steps.h"

/* A str keeps its UTF-8, and bytes their content, in the object, which outlives the call. */
static const char *
bytes_of(PyObject *object, Py_ssize_t *length)
{
    if (PyUnicode_Check(object)) {
        return PyUnicode_AsUTF8AndSize(object, length);
    }
    *length = PyBytes_GET_SIZE(object);
    return PyBytes_AS_STRING(object);
}

/* Encodes a text with the parameter's encoding: new bytes, or NULL with an exception set. */
static PyObject *
encode(const cwj_parameter *parameter, PyObject *text)
{
    if (parameter->encoding == NULL) {
        return PyUnicode_AsUTF8String(text);
    }
    const char *encoding = PyUnicode_AsUTF8(parameter->encoding);
    if (encoding == NULL) {
        return NULL;
    }
    return strcmp(encoding, "fs") == 0 ? PyUnicode_EncodeFSDefault(text)
                                       : PyUnicode_AsEncodedString(text, encoding, NULL);
}

/* Converts a str, bytes, or a path (as os.fsencode() does) to bytes; new reference, or NULL with an exception set. */
static PyObject *
converted(const cwj_library_frame *frame, int k, PyObject *object)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    if (PyBytes_Check(object)) {
        return Py_NewRef(object);
    }
    if (PyUnicode_Check(object)) {
        return encode(parameter, object);
    }
    if (!PyObject_HasAttrString((PyObject *)Py_TYPE(object), "__fspath__")) {
        cwj_library_refuse_type(
            frame, k, parameter->role == CWJ_TEXTS ? "a list with an item of type %s" : "%s",
            Py_TYPE(object)->tp_name);
        return NULL;
    }
    PyObject *path = PyOS_FSPath(object);
    if (path != NULL && PyUnicode_Check(path)) {
        Py_SETREF(path, PyUnicode_EncodeFSDefault(path));
    }
    return path;
}

/* text: `length` bytes and a NUL, or NULL after an error. Refuses a text with another NUL in it. */
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

/* The bytes that C gets replace the argument in frame->given, as C may keep them and results may point into them. */
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

/* ---- lists of texts ------------------------------------------------------------------------ */

/* One text of a list as bytes, or None, which stands for NULL; new reference. */
static PyObject *
take_item(const cwj_library_frame *frame, int k, PyObject *item, Py_ssize_t place)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    if (item == Py_None && parameter->ndim == 1 && parameter->optional) {
        return Py_NewRef(item);
    }
    PyObject *bytes = converted(frame, k, item);
    if (bytes != NULL && strlen(PyBytes_AS_STRING(bytes)) != (size_t)PyBytes_GET_SIZE(bytes)) {
        cwj_library_refuse(frame, PyExc_ValueError,
                           "argument %U: text %zd holds a NUL, where C's text ends",
                           cwj_library_name(frame, k), place);
        Py_CLEAR(bytes);
    }
    return bytes;
}

/* Bytes of a text with its NUL; 0 for None. */
static Py_ssize_t
room_of(PyObject *text)
{
    return text == Py_None ? 0 : PyBytes_GET_SIZE(text) + 1;
}

/* Copies texts into one new bytes object, which C may write: pointers, a NULL, the texts. */
static PyObject *
in_one_piece(PyObject *texts)
{
    Py_ssize_t count = PyTuple_GET_SIZE(texts), size = (count + 1) * (Py_ssize_t)sizeof(char *);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (__builtin_add_overflow(size, room_of(PyTuple_GET_ITEM(texts, i)), &size)) {
            return PyErr_NoMemory();
        }
    }
    PyObject *memory = PyBytes_FromStringAndSize(NULL, size);
    if (memory == NULL) {
        return NULL;
    }
    char **pointers = (char **)(void *)PyBytes_AS_STRING(memory),
         *next = (char *)&pointers[count + 1];
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *text = PyTuple_GET_ITEM(texts, i);
        size_t room = (size_t)room_of(text);
        pointers[i] = room == 0 ? NULL : next;
        if (room > 0) {
            memcpy(next, PyBytes_AS_STRING(text), room);
        }
        next += room;
    }
    pointers[count] = NULL;
    return memory;
}

/* The memory that C gets replaces the argument in frame->given, as in take_converted(). */
int
cwj_library_take_texts(cwj_library_frame *frame, int k, PyObject *object)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    if (object == Py_None && parameter->ndim == 0) {
        return 0; /* the slot is NULL */
    }
    if (!PyList_Check(object) && !PyTuple_Check(object)) {
        return cwj_library_refuse_type(frame, k, "%s", Py_TYPE(object)->tp_name);
    }
    PyObject *items = PySequence_Tuple(object); /* Python code cannot change this one */
    Py_ssize_t count = items == NULL ? 0 : PyTuple_GET_SIZE(items);
    PyObject *texts = items == NULL ? NULL : PyTuple_New(count);
    for (Py_ssize_t i = 0; texts != NULL && i < count; i++) {
        cwj_tuple_fill(&texts, i, take_item(frame, k, PyTuple_GET_ITEM(items, i), i));
    }
    PyObject *memory = texts == NULL ? NULL : in_one_piece(texts);
    CWJ_RELEASE(items, texts);
    if (memory == NULL) {
        return -1;
    }
    frame->made[k] = frame->given[parameter->argument] = memory;
    frame->slots[k + 1].p = PyBytes_AS_STRING(memory);
    if (parameter->ndim == 1) {
        frame->lengths[parameter->lengths_at] = count;
    }
    return 0;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* True for buffers of Python objects, which are refused: C must not overwrite references. */
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
    if (parameter->ndim == 2) { /* items of any type: C gets their number and their size */
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
