/* tokens.c: offers tinyjit's lexer to Python code (tokens.h). */
#include "base/tokens.h"

typedef struct reading {
    PyObject *list;    /* borrowed; of tuples */
    const char *bytes; /* borrowed from the text */
    size_t byte;       /* bytes so far ... */
    Py_ssize_t at;     /* ... and their number of characters */
} reading;

static Py_ssize_t
advance(reading *this, size_t byte)
{
    for (; this->byte < byte; this->byte++) {
        this->at += (this->bytes[this->byte] & 0xC0) != 0x80; /* count only the first byte of
                                                                 each UTF-8 character */
    }
    return this->at;
}

static bool
take_token(void *ctx, const char *kind, const char *spelled, size_t length, size_t start,
           size_t end)
{
    reading *this = ctx;
    Py_ssize_t first = advance(this, start), last = advance(this, end);
    PyObject *text = PyUnicode_DecodeUTF8(spelled, (Py_ssize_t)length, "surrogatepass");
    PyObject *token = Py_BuildValue("(sNnn)", kind, text, first, last);
    bool taken = token != NULL && PyList_Append(this->list, token) == 0;
    Py_XDECREF(token);
    return taken;
}

PyObject *
cwj_tokens(PyObject *Py_UNUSED(extension), PyObject *text)
{
    /* The compiler of the text reports lone surrogates. */
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    PyObject *list = bytes == NULL ? NULL : PyList_New(0);
    if (list != NULL) {
        reading state = {.list = list, .bytes = PyBytes_AS_STRING(bytes)};
        if (!tj_read_tokens(state.bytes, (size_t)PyBytes_GET_SIZE(bytes), take_token, &state)) {
            Py_CLEAR(list);
            (void)(PyErr_Occurred() || PyErr_NoMemory());
        }
    }
    Py_XDECREF(bytes);
    return list;
}
