/* address.c: see address.h.
 *
 * Other code cannot call a loop directly, because a loop needs a running call and is replaced when the function gets
 * hot. Such code gets a small C function instead. It is compiled on first use, knows its function, and runs the
 * current loop (call/entry.c).
 */
#include "function/address.h"

#include <stdint.h>
#include <string.h>

#include "base/config.h"
#include "base/errors.h"
#include "function/function.h"

static const char SYMBOL[] = "cwj_loop_entry";

/* Returns the reason why a loop cannot run without a call, or NULL if it can. */
static const char *
find_reason(const cwj_function_object *self)
{
    const cwj_function_decl *decl = self->runtime.decl;
    if (self->checked != NULL) {
        return "debug=True watches over calls, which other code does not make";
    }
    if (decl->validate != NULL) {
        return "Ccode_validate runs in calls, which other code does not make";
    }
    if (decl->cookie_size > 0 || decl->cleanup != NULL) {
        return "slices share a cookie struct, which only a call has";
    }
    if (decl->ntypesets != 1) {
        return "there are several type sets; an address is of one: define the function with it "
               "alone";
    }
    return NULL;
}

/* ---- a function of the header ----------------------------------------------------- */

static bool
is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns the offset of the function's name in a declaration, or 0 if the text does not declare a function. *length:
 * that of the name; *before: the end of the result type. */
static size_t
find_name(const char *text, size_t *length, size_t *before)
{
    const char *open = strchr(text, '(');
    size_t end = open == NULL ? 0 : (size_t)(open - text), whole = strlen(text);
    while (end > 0 && text[end - 1] == ' ') {
        end--;
    }
    size_t begin = end;
    while (begin > 0 && is_word(text[begin - 1])) {
        begin--;
    }
    *length = end - begin;
    *before = begin;
    while (*before > 0 && text[*before - 1] == ' ') {
        *before -= 1;
    }
    bool named = *length > 0 && !(text[begin] >= '0' && text[begin] <= '9');
    return named && *before > 0 && text[whole - 1] == ')' ? begin : 0;
}

int
cwj_address_take(cwj_function_object *self, PyObject *given)
{
    tj_text name = {0};
    size_t length, before;
    if (given == NULL || given == Py_None) {
        return 0;
    }
    if (!PyUnicode_Check(given)) {
        return cwj_refuse_type(self->spec->who, "c_function", "a str such as 'double f(double)'",
                               given);
    }
    const char *text = PyUnicode_AsUTF8(given);
    if (text == NULL) {
        return -1;
    }
    size_t begin = find_name(text, &length, &before);
    if (begin == 0 || strlen(text) != (size_t)PyUnicode_GET_LENGTH(given)) {
        return cwj_refuse(self->spec->who, PyExc_ValueError,
                          "c_function %R is no declaration such as 'double f(double, int)'", given);
    }
    tj_text_add(&name, text + begin, length);
    if (name.failed) {
        PyErr_NoMemory();
        return -1;
    }
    self->address.address = tj_unit_symbol(self->code.unit, name.data);
    tj_text_clear(&name);
    PyObject *result = PyUnicode_FromStringAndSize(text, (Py_ssize_t)before);
    self->address.signature =
        result == NULL ? NULL : PyUnicode_FromFormat("%U %s", result, strchr(text, '('));
    Py_XDECREF(result);
    return self->address.signature == NULL ? -1 : 0;
}

/* ---- the loop ------------------------------------------------------------------------ */

static bool
emit_entry(const cwj_loop_entry *entry, tj_text *text)
{
    int (*run)(const cwj_loop_entry *, char **, const npy_intp *, const npy_intp *, void *) =
        cwj_loop_entry_run;
    tj_text_printf(text,
                   "int %s(char **data, const npy_intp *dims, const npy_intp *steps,\n"
                   "    void *extras)\n"
                   "{\n"
                   "    return ((int (*)(const void *, char **, const npy_intp *,\n"
                   "        const npy_intp *, void *))%zuull)((const void *)%zuull, data, dims,\n"
                   "        steps, extras);\n"
                   "}\n",
                   SYMBOL, (size_t)(uintptr_t)run, (size_t)(uintptr_t)entry);
    return !text->failed;
}

/* Compiles the C function. Keeps the GIL, so that two threads get the same address. Returns 0, or -1 with an
 * exception set. */
static int
compile_entry(cwj_function_object *self, cwj_address *made)
{
    tj_text text = {0};
    tj_messages messages = {0};
    tj_error error;
    tj_status status = TJ_NO_MEMORY;
    if (cwj_config_limit(cwj_state_of((PyObject *)self)->config) < 0) {
        return -1;
    }
    tj_error_init(&error);
    if (emit_entry(made->entry, &text)) {
        status = tj_compile(NULL, text.data, NULL, &made->unit, &messages, &error);
    } else {
        tj_fail(&error, TJ_NO_MEMORY, "out of memory");
    }
    if (status == TJ_OK) {
        made->address = tj_unit_symbol(made->unit, SYMBOL);
    }
    tj_text_clear(&text);
    return cwj_report(self->spec->who, status, &messages, &error);
}

/* Returns the address, or NULL with an exception set. */
static void *
address_of(cwj_function_object *self)
{
    const char *reason = self->address.signature == NULL ? find_reason(self)
                         : self->address.address == NULL
                             ? "the header has no such function that is not static"
                             : NULL;
    cwj_address made = {0};
    if (reason != NULL) {
        cwj_refuse(self->spec->who, PyExc_AttributeError, "there is no address: %s", reason);
        return NULL;
    }
    if (self->address.address != NULL) {
        return self->address.address;
    }
    made.entry = cwj_loop_entry_new(&self->runtime, 0, tj_unit_speaks(self->code.unit));
    if (made.entry == NULL || compile_entry(self, &made) < 0) {
        cwj_address_clear(&made);
        return NULL;
    }
    if (self->address.address != NULL) {
        cwj_address_clear(&made); /* a warnings filter has called this function */
    } else {
        self->address = made; /* there is no signature to keep */
    }
    return self->address.address;
}

PyObject *
cwj_address_number(cwj_function_object *self)
{
    void *address = address_of(self);
    return address == NULL ? NULL : PyLong_FromVoidPtr(address);
}

PyObject *
cwj_address_capsule(cwj_function_object *self)
{
    void *address = address_of(self);
    PyObject *signature = self->address.signature;
    const char *name = signature == NULL ? CWJ_LOOP_SIGNATURE : PyUnicode_AsUTF8(signature);
    return address == NULL || name == NULL ? NULL
                                           : cwj_capsule_with(address, name, (PyObject *)self);
}

void
cwj_address_clear(cwj_address *address)
{
    tj_unit_free(address->unit);
    PyMem_Free(address->entry);
    Py_XDECREF(address->signature);
    *address = (cwj_address){0};
}
