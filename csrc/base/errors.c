/* errors.c: the one file that turns tinyjit's reports into exceptions.
 *
 * A compile error is a SyntaxError with all its fields, so that tracebacks and
 * notebooks show the C line with a caret. When several bodies are wrong, the
 * exception is that of the first; `errors` lists one for each fault, and from
 * Python 3.11 on the others are notes, which a plain traceback prints.
 */
#include "base/errors.h"

/* ---- the exception classes --------------------------------------------- */

PyDoc_STRVAR(
    compile_error_doc,
    "C text that does not compile.\n\n"
    "A SyntaxError: filename says which text of which function, lineno and offset count from 1\n"
    "within it. errors lists one CompileError for each fault, this one's included.");
PyDoc_STRVAR(
    compile_warning_doc,
    "What a C compiler says of C text that runs all the same.\n\n"
    "msg is what it says; filename, lineno and offset say where, as in a CompileError, and\n"
    "text is that line, where it is known.");
PyDoc_STRVAR(
    fault_doc,
    "Compiled code of debug=True did what ends a process otherwise, or damaged what is not its "
    "own.\n\n"
    "signal is a signal.Signals, or None for damage that was found after a call. address is what\n"
    "was accessed, or the instruction, where that is known. filename, lineno and text are the C\n"
    "line; None where that is not known.");

/* An exception class with attributes that are None until somebody sets them. */
static int
add_fault(PyObject *extension, cwj_module_state *state)
{
    PyObject *members = Py_BuildValue("{sOsOsOsOsO}", "signal", Py_None, "address", Py_None,
                                      "filename", Py_None, "lineno", Py_None, "text", Py_None);
    if (members == NULL) {
        return -1;
    }
    state->fault =
        PyErr_NewExceptionWithDoc("cwrapjit.Fault", fault_doc, PyExc_RuntimeError, members);
    Py_DECREF(members);
    return state->fault == NULL ? -1 : PyModule_AddObjectRef(extension, "Fault", state->fault);
}

int
cwj_add_errors(PyObject *extension, cwj_module_state *state)
{
    PyObject *members = Py_BuildValue("{s:()}", "errors");
    if (members == NULL) {
        return -1;
    }
    state->compile_error = PyErr_NewExceptionWithDoc("cwrapjit.CompileError", compile_error_doc,
                                                     PyExc_SyntaxError, members);
    Py_DECREF(members);
    members = Py_BuildValue("{s:s,s:O,s:O,s:O,s:O}", "msg", "", "filename", Py_None, "lineno",
                            Py_None, "offset", Py_None, "text", Py_None);
    if (members == NULL) {
        return -1;
    }
    state->compile_warning = PyErr_NewExceptionWithDoc(
        "cwrapjit.CompileWarning", compile_warning_doc, PyExc_UserWarning, members);
    Py_DECREF(members);
    if (state->compile_error == NULL || state->compile_warning == NULL ||
        PyModule_AddObjectRef(extension, "CompileError", state->compile_error) < 0 ||
        PyModule_AddObjectRef(extension, "CompileWarning", state->compile_warning) < 0) {
        return -1;
    }
    return add_fault(extension, state);
}

/* ---- one message ------------------------------------------------------- */

/* Text from outside: a compiler cuts it at a byte, not at a character. */
static PyObject *
decode(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* The 1-based character that starts at a 1-based byte column of a line. */
static Py_ssize_t
character_of(const char *line, int column)
{
    size_t bytes = (size_t)column - 1, length = strlen(line);
    Py_ssize_t characters = 1;
    for (size_t i = 0; i < bytes && i < length; i++) {
        characters += ((unsigned char)line[i] & 0xC0) != 0x80;
    }
    return characters;
}

/* Where the caret begins and ends; the whole line where nobody knows. */
static void
find_span(const tj_message *message, Py_ssize_t *offset, Py_ssize_t *end_offset)
{
    const char *line = message->source;
    int length = (int)strlen(line);
    int column = message->column, end_column = message->end_column;
    if (column <= 0) {
        column = 1 + (int)strspn(line, " \t\f\v");
        end_column = length + 1;
    }
    if (end_column <= column) {
        end_column = column + 1;
    }
    *offset = character_of(line, column);
    *end_offset = character_of(line, end_column);
    if (*end_offset <= *offset) {
        *end_offset = *offset + 1;
    }
}

/* (filename, lineno, offset, text, end_lineno, end_offset), as SyntaxError
 * takes it. */
static PyObject *
place_of(const tj_message *message)
{
    PyObject *place = NULL;
    PyObject *file = decode(message->file);
    if (file == NULL) {
        return NULL;
    }
    if (message->line <= 0) {
        place = Py_BuildValue("(OOOOOO)", file, Py_None, Py_None, Py_None, Py_None, Py_None);
    } else if (message->source == NULL) {
        place = Py_BuildValue("(OiOOiO)", file, message->line, Py_None, Py_None, message->line,
                              Py_None);
    } else {
        Py_ssize_t offset, end_offset;
        find_span(message, &offset, &end_offset);
        place = Py_BuildValue("(OinNin)", file, message->line, offset, decode(message->source),
                              message->line, end_offset);
    }
    Py_DECREF(file);
    return place;
}

/* A CompileError for message; text replaces its text when not NULL. */
static PyObject *
error_of(const cwj_module_state *state, const tj_message *message, PyObject *text)
{
    PyObject *error = NULL, *own = NULL, *place = NULL;
    own = text != NULL ? Py_NewRef(text) : decode(message->text);
    if (own == NULL) {
        goto done;
    }
    if (message->file == NULL || message->file[0] == '\0') {
        error = PyObject_CallFunctionObjArgs(state->compile_error, own, NULL);
        goto done;
    }
    place = place_of(message);
    if (place != NULL) {
        error = PyObject_CallFunctionObjArgs(state->compile_error, own, place, NULL);
    }
done:
    Py_XDECREF(own);
    Py_XDECREF(place);
    return error;
}

/* ---- all of them ------------------------------------------------------- */

/* A list of CompileErrors, one per error message. */
static PyObject *
list_errors(const cwj_module_state *state, const tj_messages *messages)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; i < messages->count && list != NULL; i++) {
        if (!messages->items[i].is_error) {
            continue;
        }
        PyObject *error = error_of(state, &messages->items[i], NULL);
        if (error == NULL || PyList_Append(list, error) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(error);
    }
    return list;
}

/* Adds the other errors as notes, drawn as a traceback draws the first. Older
 * interpreters have no notes. */
static int
add_notes(PyObject *error, PyObject *others)
{
#if PY_VERSION_HEX >= 0x030B0000
    PyObject *draw = NULL, *lines = NULL, *note = NULL, *done = NULL;
    PyObject *traceback = cwj_import("traceback");
    PyObject *newline = PyUnicode_FromString("");
    int status = -1;
    if (traceback == NULL || newline == NULL) {
        goto done;
    }
    draw = PyObject_GetAttrString(traceback, "format_exception_only");
    for (Py_ssize_t i = 1; draw != NULL && i < PyList_GET_SIZE(others); i++) {
        PyObject *other = PyList_GET_ITEM(others, i);
        Py_XSETREF(lines,
                   PyObject_CallFunctionObjArgs(draw, (PyObject *)Py_TYPE(other), other, NULL));
        Py_XSETREF(note, lines == NULL ? NULL : PyUnicode_Join(newline, lines));
        if (note != NULL) {
            Py_XSETREF(note, PyObject_CallMethod(note, "rstrip", NULL));
        }
        Py_XSETREF(done, note == NULL ? NULL : PyObject_CallMethod(error, "add_note", "O", note));
        if (done == NULL) {
            goto done;
        }
    }
    status = draw != NULL ? 0 : -1;
done:
    Py_XDECREF(traceback);
    Py_XDECREF(newline);
    Py_XDECREF(draw);
    Py_XDECREF(lines);
    Py_XDECREF(note);
    Py_XDECREF(done);
    return status;
#else
    (void)error;
    (void)others;
    return 0;
#endif
}

/* "text (and 2 more errors: see .errors)" */
static PyObject *
text_with_count(const tj_message *message, Py_ssize_t others)
{
    PyObject *text = decode(message->text);
    if (text != NULL && others > 0) {
        Py_SETREF(text, PyUnicode_FromFormat("%U (and %zd more error%s: see .errors)", text, others,
                                             others == 1 ? "" : "s"));
    }
    return text;
}

PyObject *
cwj_compile_error(const cwj_module_state *state, const tj_messages *messages)
{
    PyObject *text = NULL, *error = NULL;
    PyObject *list = list_errors(state, messages);
    const tj_message *first = messages->items;
    if (list == NULL) {
        return NULL;
    }
    while (!first->is_error) { /* the caller knows that there is one */
        first++;
    }
    text = text_with_count(first, PyList_GET_SIZE(list) - 1);
    if (text == NULL) {
        goto done;
    }
    error = error_of(state, first, text);
    if (error != NULL && (PyObject_SetAttrString(error, "errors", list) < 0 ||
                          (PyList_GET_SIZE(list) > 1 && add_notes(error, list) < 0))) {
        Py_CLEAR(error);
    }
done:
    Py_DECREF(list);
    Py_XDECREF(text);
    return error;
}

void
cwj_raise_text(const cwj_module_state *state, const char *file, const char *message)
{
    tj_message one = {.is_error = true, .file = (char *)file, .text = (char *)message};
    cwj_raise_object(cwj_compile_error(state, &(tj_messages){.items = &one, .count = 1}));
}

static void
raise_no_memory(const char *who)
{
    size_t most = tj_mappings_used_up();
    if (most != 0) {
        cwj_refuse(who, PyExc_MemoryError,
                   "this process has as many memory mappings as the system allows "
                   "(vm.max_map_count is %zu)",
                   most);
    } else {
        PyErr_NoMemory();
    }
}

/* ---- by status --------------------------------------------------------- */

void
cwj_raise(const cwj_module_state *state, const char *who, const tj_error *error,
          const tj_messages *messages)
{
    const char *text = error->text != NULL ? error->text : error->brief;
    if (text == NULL) {
        text = "failed for an unknown reason";
    }
    switch (error->status) {
    case TJ_NO_MEMORY:
        raise_no_memory(who);
        return;
    case TJ_TOO_LARGE:
        cwj_refuse(who, PyExc_MemoryError,
                   "%s (cwrapjit.config.compile_memory, $CWRAPJIT_COMPILE_MEMORY)", text);
        return;
    case TJ_COMPILE_FAILED:
    case TJ_NO_SYMBOL:
        if (messages != NULL && tj_messages_have_error(messages)) {
            cwj_raise_object(cwj_compile_error(state, messages));
        } else {
            PyObject *whole = PyUnicode_FromFormat("%s: %s", who, text);
            const char *utf8 = whole == NULL ? NULL : PyUnicode_AsUTF8(whole);
            if (utf8 != NULL) {
                cwj_raise_text(state, "", utf8);
            }
            Py_XDECREF(whole);
        }
        return;
    case TJ_NO_LIBRARY:
        cwj_refuse(who, PyExc_OSError, "%s", text);
        return;
    case TJ_NO_EXEC:
        cwj_refuse(who, PyExc_PermissionError, "%s", text);
        return;
    case TJ_NO_BACKEND:
        PyErr_Format(PyExc_ImportError, "%s", text);
        return;
    case TJ_OK:
    case TJ_BAD_SPEC:
    case TJ_BAD_SIGNATURE:
        break;
    }
    cwj_refuse(who, PyExc_ValueError, "%s", text);
}

void
cwj_raise_signature(const char *who, const tj_error *error, PyObject *signature)
{
    const char *text = error->text != NULL ? error->text : error->brief;
    const char *utf8 = PyUnicode_AsUTF8(signature);
    if (error->status == TJ_NO_MEMORY) {
        PyErr_NoMemory();
    } else if (utf8 == NULL) {
        return;
    } else if (error->position < 0) {
        cwj_refuse(who, PyExc_ValueError, "signature: %s", text);
    } else {
        Py_ssize_t position = character_of(utf8, (int)error->position + 1) - 1;
        PyObject *space = PyUnicode_FromString(" ");
        PyObject *indent = space == NULL ? NULL : PySequence_Repeat(space, position);
        if (indent != NULL) {
            cwj_refuse(who, PyExc_ValueError, "signature: %s at position %zd\n    %U\n    %U^",
                       text, position, signature, indent);
        }
        Py_XDECREF(space);
        Py_XDECREF(indent);
    }
}

/* A new exception, in the place of any that is set; NULL with another one set. `who` is a text,
 * or by is a str. */
static PyObject *
new_refusal(const char *who, PyObject *by, PyObject *type, const char *format, va_list arguments)
{
    PyErr_Clear();
    PyObject *text = PyUnicode_FromFormatV(format, arguments);
    PyObject *whole = text == NULL ? NULL : PyUnicode_FromFormat("%V: %U", by, who, text);
    PyObject *error = whole == NULL ? NULL : PyObject_CallOneArg(type, whole);
    Py_XDECREF(text);
    Py_XDECREF(whole);
    return error;
}

int
cwj_raise_object(PyObject *exception)
{
    if (exception != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        Py_DECREF(exception);
    }
    return -1;
}

int
cwj_refuse(const char *who, PyObject *type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *error = new_refusal(who, NULL, type, format, arguments);
    va_end(arguments);
    return cwj_raise_object(error);
}

int
cwj_refuse_type(const char *who, const char *what, const char *wanted, PyObject *given)
{
    return cwj_refuse(who, PyExc_TypeError, "%s must be %s, not %s", what, wanted,
                      Py_TYPE(given)->tp_name);
}

int
cwj_refuse_with(PyObject *who, PyObject *type, const char *format, va_list arguments)
{
    return cwj_raise_object(new_refusal(NULL, who, type, format, arguments));
}

int
cwj_refuse_by(PyObject *who, PyObject *type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int status = cwj_refuse_with(who, type, format, arguments);
    va_end(arguments);
    return status;
}

PyObject *
cwj_refusal(const char *who, PyObject *type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *error = new_refusal(who, NULL, type, format, arguments);
    va_end(arguments);
    return error;
}

bool
cwj_clear_expected(PyObject *type, ...)
{
    bool expected = false;
    va_list types;
    va_start(types, type);
    for (; type != NULL && !expected; type = va_arg(types, PyObject *)) {
        expected = PyErr_ExceptionMatches(type);
    }
    va_end(types);
    if (expected) {
        PyErr_Clear();
    }
    return expected;
}

PyObject *
cwj_refuse_pickle(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyErr_Format(PyExc_TypeError, "cannot pickle '%s' object", Py_TYPE(self)->tp_name);
    return NULL;
}

/* ---- warnings ---------------------------------------------------------- */

/* Sets an attribute; steals value, which may be NULL. */
static int
set_attribute(PyObject *object, const char *name, PyObject *value)
{
    int status = value == NULL ? -1 : PyObject_SetAttrString(object, name, value);
    Py_XDECREF(value);
    return status;
}

/* Where the message stands, as far as that is known. */
static int
set_place(PyObject *warning, const tj_message *message)
{
    Py_ssize_t offset, end_offset;
    if (message->file[0] == '\0') {
        return 0;
    }
    if (set_attribute(warning, "filename", decode(message->file)) < 0 ||
        (message->line > 0 &&
         set_attribute(warning, "lineno", PyLong_FromLong(message->line)) < 0)) {
        return -1;
    }
    if (message->line <= 0 || message->source == NULL) {
        return 0;
    }
    find_span(message, &offset, &end_offset);
    return set_attribute(warning, "offset", PyLong_FromSsize_t(offset)) < 0
               ? -1
               : set_attribute(warning, "text", decode(message->source));
}

PyObject *
cwj_compile_warning(const cwj_module_state *state, const tj_message *message, const char *behind)
{
    PyObject *text = decode(message->text), *whole = NULL, *warning = NULL;
    whole = text == NULL ? NULL : PyUnicode_FromFormat("%U%s", text, behind);
    warning = whole == NULL ? NULL : PyObject_CallOneArg(state->compile_warning, whole);
    if (warning != NULL &&
        (PyObject_SetAttrString(warning, "msg", text) < 0 || set_place(warning, message) < 0)) {
        Py_CLEAR(warning);
    }
    Py_XDECREF(text);
    Py_XDECREF(whole);
    return warning;
}

/* Returns 0, or -1 with an exception set: that warning, where a filter says so. */
static int
warn_of(const cwj_module_state *state, const tj_message *message, const char *behind)
{
    PyObject *warning = cwj_compile_warning(state, message, behind);
    PyObject *file = decode(message->file);
    PyObject *module = PyUnicode_FromString("cwrapjit");
    int status = -1;
    if (warning != NULL && file != NULL && module != NULL) {
        status = PyErr_WarnExplicitObject(state->compile_warning, warning, file, message->line,
                                          module, NULL);
    }
    Py_XDECREF(warning);
    Py_XDECREF(file);
    Py_XDECREF(module);
    return status;
}

int
cwj_warn(const cwj_module_state *state, const tj_messages *messages)
{
    int status = 0;
    for (size_t i = 0; i < messages->count && status == 0; i++) {
        if (!messages->items[i].is_error) {
            status = warn_of(state, &messages->items[i], "");
        }
    }
    return status;
}

int
cwj_warn_errors(const cwj_module_state *state, const tj_messages *messages)
{
    int status = 0;
    for (size_t i = 0; i < messages->count && status == 0; i++) {
        if (messages->items[i].is_error) {
            status = warn_of(state, &messages->items[i],
                             " (an error to the optimizing compiler; libtcc took it, and what it "
                             "made of it runs)");
        }
    }
    return status;
}
