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

int
cwj_address_take(cwj_function_object *self)
{
    PyObject *name;
    if (self->spec->c_function == Py_None) {
        return 0;
    }
    if (!PyArg_ParseTuple(self->spec->c_function, "SU", &name, &self->address.signature)) {
        return -1;
    }
    Py_INCREF(self->address.signature);
    self->address.address = tj_unit_symbol(self->code.unit, PyBytes_AS_STRING(name));
    return 0;
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
