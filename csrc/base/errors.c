/* errors.c: turns tinyjit's reports into exceptions; no other file does.
 *
 * A compile error is a SyntaxError with all its fields, so tracebacks and notebooks show the C line with a caret. If
 * several bodies are wrong, the exception is that of the first; `errors` lists all faults. Since Python 3.11 the others
 * are also notes, which a plain traceback prints. cwrapjit/_errors.py creates the exceptions. */
#include "base/errors.h"
#include "base/tuples.h"
#include "os/address_space.h"

int
cwj_add_errors(PyObject *extension, cwj_module_state *state)
{
    static const char *const names[] = {"CompileError", "CompileWarning", "Fault"};
    PyObject *errors = PyImport_ImportModule("cwrapjit._errors");
    int status = errors == NULL ? -1 : 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && status == 0; i++) {
        Py_XSETREF(state->fault, PyObject_GetAttrString(errors, names[i])); /* keeps the last one */
        status =
            state->fault == NULL ? -1 : PyModule_AddObjectRef(extension, names[i], state->fault);
    }
    Py_XDECREF(errors);
    return status;
}

/* ---- compilers' messages --------------------------------------------------- */

enum {
    WARNINGS = 1,
    ERRORS = 2
};

/* Returns messages as cwrapjit/_errors.py takes them: a new reference, or NULL with an exception set. */
static PyObject *
list_of(const tj_messages *messages, int kinds)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; i < messages->count && list != NULL; i++) {
        const tj_message *one = &messages->items[i];
        if (!(kinds & (one->is_error ? ERRORS : WARNINGS))) {
            continue;
        }
        cwj_list_add(&list, Py_BuildValue("(yyiyii)", one->text, one->file, one->line, one->source,
                                          one->column, one->end_column));
    }
    return list;
}

/* Calls a function of that file with these messages. A new reference, or NULL with an exception set. */
static PyObject *
make_of(const tj_messages *messages, int kinds, const char *function)
{
    return cwj_ask_python("cwrapjit._errors", function, "(N)", list_of(messages, kinds));
}

PyObject *
cwj_compile_error(const tj_messages *messages, PyObject *read)
{
    return cwj_ask_python("cwrapjit._errors", "compile_error", "(NO)", list_of(messages, ERRORS),
                          read == NULL ? Py_None : read);
}

PyObject *
cwj_compile_warnings(const tj_messages *messages)
{
    return make_of(messages, WARNINGS | ERRORS, "compile_warnings");
}

int
cwj_warn(const tj_messages *messages)
{
    PyObject *done =
        messages->count == 0 ? Py_NewRef(Py_None) : make_of(messages, WARNINGS, "warn");
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

int
cwj_warn_errors(const tj_messages *messages)
{
    PyObject *done = make_of(messages, ERRORS, "warn_of_errors");
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

void
cwj_raise_text(const char *file, const char *message)
{
    tj_message one = {.is_error = true, .file = (char *)file, .text = (char *)message};
    cwj_raise_object(cwj_compile_error(&(tj_messages){.items = &one, .count = 1}, NULL));
}

/* ---- by status --------------------------------------------------------- */

void
cwj_raise(const char *who, const tj_error *error, const tj_messages *messages)
{
    const char *text = error->text != NULL ? error->text : error->brief;
    if (text == NULL) {
        text = "failed for an unknown reason";
    }
    size_t most = error->status == TJ_NO_MEMORY ? tj_mappings_used_up() : 0;
    switch (error->status) {
    case TJ_NO_MEMORY:
        if (most == 0) {
            PyErr_NoMemory();
            return;
        }
        cwj_refuse(who, PyExc_MemoryError,
                   "this process has as many memory mappings as the system allows "
                   "(vm.max_map_count is %zu)",
                   most);
        return;
    case TJ_TOO_LARGE:
        cwj_refuse(who, PyExc_MemoryError,
                   "%s (cwrapjit.config.compile_memory, $CWRAPJIT_COMPILE_MEMORY)", text);
        return;
    case TJ_COMPILE_FAILED:
    case TJ_NO_SYMBOL:
        if (messages != NULL && tj_messages_have_error(messages)) {
            cwj_raise_object(cwj_compile_error(messages, NULL));
        } else {
            PyObject *whole = PyUnicode_FromFormat("%s: %s", who, text);
            const char *utf8 = whole == NULL ? NULL : PyUnicode_AsUTF8(whole);
            if (utf8 != NULL) {
                cwj_raise_text("", utf8);
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
        break;
    }
    cwj_refuse(who, PyExc_ValueError, "%s", text);
}

int
cwj_report(const char *who, tj_status status, tj_messages *messages, tj_error *error)
{
    int result = -1;
    if (status != TJ_OK) {
        cwj_raise(who, error, messages);
    } else {
        result = cwj_warn(messages);
    }
    tj_messages_clear(messages);
    tj_error_clear(error);
    return result;
}

/* Returns a new exception; clears one that is set. NULL with another one set. Pass the text `who` or the str `by`. */
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
