/* address.c: see address.h.
 *
 * A loop wants a running call, and is replaced when the function gets hot. So other code gets
 * neither: it gets a C function of a few instructions, compiled when it is first asked for,
 * that knows which function it belongs to and runs what loop there is (call/entry.c).
 */
#include "function/address.h"

#include <stdint.h>

#include "base/config.h"
#include "base/errors.h"
#include "function/function.h"

static const char SYMBOL[] = "cwj_loop_entry";

/* Why a loop cannot run without a call; NULL: it can. */
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

/* Returns 0, or -1 with an exception set. The GIL stays: two threads make one address. */
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

/* Returns NULL with an exception set. */
static void *
address_of(cwj_function_object *self)
{
    const char *reason = find_reason(self);
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
        cwj_address_clear(&made); /* a warning's filter has asked, too */
    } else {
        self->address = made;
    }
    return self->address.address;
}

PyObject *
cwj_address_number(cwj_function_object *self)
{
    void *address = address_of(self);
    return address == NULL ? NULL : PyLong_FromVoidPtr(address);
}

/* The capsule's context is the function. */
static void
end_capsule(PyObject *capsule)
{
    Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

PyObject *
cwj_address_capsule(cwj_function_object *self)
{
    void *address = address_of(self);
    PyObject *capsule =
        address == NULL ? NULL : PyCapsule_New(address, CWJ_LOOP_SIGNATURE, end_capsule);
    if (capsule != NULL) {
        PyCapsule_SetContext(capsule, Py_NewRef((PyObject *)self)); /* never fails here */
    }
    return capsule;
}

void
cwj_address_clear(cwj_address *address)
{
    tj_unit_free(address->unit);
    PyMem_Free(address->entry);
    *address = (cwj_address){0};
}
