/* snippet_api.c: replaces functions of CPython and libc that raise errors and print; checks contiguity for snippets.
 *
 * A call may run its slices without the GIL, on threads that Python does not know. These entry points make that safe
 * for code that only raises errors and prints: each takes the GIL while it needs it (gil.c). */

/* ---- errors ------------------------------------------------------------ */

void
cwj_PyErr_SetString(PyObject *type, const char *text)
{
    cwj_entry entry = enter_python();
    PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    if (message != NULL) { /* PyErr_SetString would lose text that is not UTF-8 */
        PyErr_SetObject(type, message);
        Py_DECREF(message);
    }
    leave_python(entry);
}

PyObject *
cwj_PyErr_Format(PyObject *type, const char *format, ...)
{
    cwj_entry entry = enter_python();
    va_list arguments;
    va_start(arguments, format);
    PyErr_FormatV(type, format, arguments);
    va_end(arguments);
    leave_python(entry);
    return NULL;
}

PyObject *
cwj_PyErr_Occurred(void)
{
    if (holds_gil()) {
        return PyErr_Occurred(); /* fast, as graphs ask after each block */
    }
    cwj_entry entry = enter_python();
    PyObject *type = PyErr_Occurred();
    leave_python(entry);
    return type;
}

#define CWJ_WITH_GIL(type, name, parameters, call, result) \
    type name parameters                                   \
    {                                                      \
        cwj_entry entry = enter_python();                  \
        call;                                              \
        leave_python(entry);                               \
        return result;                                     \
    }
CWJ_WITH_GIL(PyObject *, cwj_PyErr_NoMemory, (void), PyErr_NoMemory(), NULL)
CWJ_WITH_GIL(void, cwj_PyErr_Clear, (void), PyErr_Clear(), )
CWJ_WITH_GIL(void, cwj_PyErr_SetNone, (PyObject * type), PyErr_SetNone(type), )
CWJ_WITH_GIL(void, cwj_PyErr_SetObject, (PyObject * type, PyObject *value),
             PyErr_SetObject(type, value), )

/* ---- output ------------------------------------------------------------ */

/* An incomplete UTF-8 sequence at the end of what snippets have written so far; one for each of
 * Python's streams. The GIL guards it. */
typedef struct cwj_tail {
    size_t length;
    char bytes[4];
} cwj_tail;

static cwj_tail cwj_tails[2];

/* Decodes the tail and these bytes; an incomplete end is the new tail. Returns a new str; NULL on an exception. */
static PyObject *
decode_output(cwj_tail *tail, const char *bytes, size_t length)
{
    PyObject *text = NULL;
    Py_ssize_t used = 0;
    char *joined = PyMem_Malloc(tail->length + length + 1);
    if (joined == NULL) {
        return PyErr_NoMemory();
    }
    memcpy(joined, tail->bytes, tail->length);
    memcpy(joined + tail->length, bytes, length);
    length += tail->length;
    text = PyUnicode_DecodeUTF8Stateful(joined, (Py_ssize_t)length, "replace", &used);
    tail->length = text == NULL ? 0 : length - (size_t)used; /* at most 3 bytes */
    memcpy(tail->bytes, joined + used, tail->length);
    PyMem_Free(joined);
    return text;
}

/* True for exceptions that a stream raises if it is closed, full, or not a stream. */
static int
is_of_the_stream(void)
{
    return PyErr_ExceptionMatches(PyExc_OSError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
           PyErr_ExceptionMatches(PyExc_AttributeError) || PyErr_ExceptionMatches(PyExc_TypeError);
}

/* Calls a method of the current sys.stdout or sys.stderr, with the text, or without arguments if bytes is NULL.
 * Exceptions of the stream are reported as unraisable, because C's printf cannot raise. Any other exception, above all
 * Ctrl-C, becomes the call's, as if the snippet had set it, unless one is set already. Returns 0, or -1. */
static int
call_stream(const char *stream, const char *method, const char *bytes, size_t length)
{
    cwj_entry entry = enter_python();
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *text = NULL, *result = NULL;
    int failed = 0;
    PyObject *file = PySys_GetObject(stream); /* borrowed */
    if (file != NULL && file != Py_None) {
        Py_INCREF(file);
        if (bytes != NULL) {
            text = decode_output(&cwj_tails[strcmp(stream, "stderr") == 0], bytes, length);
            result = text == NULL ? NULL : PyObject_CallMethod(file, method, "O", text);
        } else {
            result = PyObject_CallMethod(file, method, NULL);
        }
        if (result == NULL) {
            failed = 1;
            if (type != NULL || entry.how == CWJ_GIL_ENSURED || is_of_the_stream()) {
                PyErr_WriteUnraisable(file);
            }
        }
        Py_DECREF(file);
    }
    Py_XDECREF(text);
    Py_XDECREF(result);
    if (type != NULL) {
        PyErr_Restore(type, value, traceback);
    }
    leave_python(entry);
    return failed ? -1 : 0;
}

/* Returns the name of Python's stream for a FILE, or NULL if the snippet opened it itself. */
static const char *
stream_of(FILE *file)
{
    return file == stdout ? "stdout" : file == stderr ? "stderr" : NULL;
}

int
cwj_vfprintf(FILE *file, const char *format, va_list arguments)
{
    const char *stream = stream_of(file);
    if (stream == NULL) {
        return vfprintf(file, format, arguments);
    }
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) {
        return length;
    }
    char *text = hold_block((size_t)length + 1);
    if (text == NULL) {
        return -1;
    }
    vsnprintf(text, (size_t)length + 1, format, arguments);
    int status = call_stream(stream, "write", text, (size_t)length);
    drop_block(text);
    return status < 0 ? -1 : length;
}

int
cwj_fprintf(FILE *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = cwj_vfprintf(file, format, arguments);
    va_end(arguments);
    return length;
}

int
cwj_vprintf(const char *format, va_list arguments)
{
    return cwj_vfprintf(stdout, format, arguments);
}

int
cwj_printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = cwj_vfprintf(stdout, format, arguments);
    va_end(arguments);
    return length;
}

int
cwj_fputs(const char *text, FILE *file)
{
    const char *stream = stream_of(file);
    return stream == NULL ? fputs(text, file) : call_stream(stream, "write", text, strlen(text));
}

int
cwj_puts(const char *text)
{
    return cwj_fprintf(stdout, "%s\n", text) < 0 ? EOF : 0;
}

int
cwj_fputc(int byte, FILE *file)
{
    const char *stream = stream_of(file);
    char text[1] = {(char)byte};
    if (stream == NULL) {
        return fputc(byte, file);
    }
    return call_stream(stream, "write", text, 1) < 0 ? EOF : (unsigned char)byte;
}

int
cwj_putchar(int byte)
{
    return cwj_fputc(byte, stdout);
}

size_t
cwj_fwrite(const void *bytes, size_t size, size_t count, FILE *file)
{
    const char *stream = stream_of(file);
    if (stream == NULL || size == 0 || count == 0) {
        return stream == NULL ? fwrite(bytes, size, count, file) : 0;
    }
    if (count > (size_t)PY_SSIZE_T_MAX / size) {
        return 0;
    }
    return call_stream(stream, "write", bytes, size * count) < 0 ? 0 : count;
}

int
cwj_fflush(FILE *file)
{
    const char *stream = file == NULL ? NULL : stream_of(file);
    return stream == NULL ? fflush(file) : call_stream(stream, "flush", NULL, 0);
}

/* ---- contiguity -------------------------------------------------------- */

/* Returns the last axis whose stride is not that of a C-contiguous slice, counted from the end (-1, -2, ...), or 0;
 * *wanted is then the stride that it should have. Dims of length 1 may have any stride, and an array without elements
 * is contiguous, as in NumPy. */
static npy_intp
find_gap(const cwj_operand *operand, npy_intp *wanted)
{
    for (npy_intp i = 0; i < operand->ndims_full; i++) {
        if (operand->dims_full[i] == 0) {
            return 0;
        }
    }
    *wanted = operand->sizeof_element;
    for (npy_intp i = operand->ndims_slice - 1; i >= 0; i--) {
        npy_intp dim = operand->dims_slice[i];
        if (dim != 1 && operand->strides_slice[i] != *wanted) {
            return i - operand->ndims_slice;
        }
        *wanted *= dim;
    }
    return 0;
}

bool
cwj_contiguous(const cwj_call *cwj, int operand)
{
    npy_intp wanted;
    return find_gap(&cwj->operands[operand], &wanted) == 0;
}

bool
cwj_contiguous_or_error(const cwj_call *cwj, int operand)
{
    npy_intp wanted;
    npy_intp gap = find_gap(&cwj->operands[operand], &wanted);
    if (gap == 0) {
        return true;
    }
    const cwj_operand *got = &cwj->operands[operand];
    cwj_entry entry = enter_python();
    raise_about((const cwj_frame *)cwj, operand, PyExc_ValueError,
                " must be contiguous in each slice: wanted a stride of %zd bytes along axis %zd, "
                "got %zd",
                (Py_ssize_t)wanted, (Py_ssize_t)gap,
                (Py_ssize_t)got->strides_slice[got->ndims_slice + gap]);
    leave_python(entry);
    return false;
}

bool
cwj_contiguous_all(const cwj_call *cwj)
{
    const cwj_frame *frame = (const cwj_frame *)cwj;
    for (int k = 0; k < frame->noperands; k++) {
        if (!cwj_contiguous(cwj, k)) {
            return false;
        }
    }
    return true;
}

bool
cwj_contiguous_all_or_error(const cwj_call *cwj)
{
    const cwj_frame *frame = (const cwj_frame *)cwj;
    for (int k = 0; k < frame->noperands; k++) {
        if (!cwj_contiguous_or_error(cwj, k)) {
            return false;
        }
    }
    return true;
}
