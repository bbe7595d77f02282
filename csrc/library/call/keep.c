/* keep.c: keeps memory alive that results lie in or point to. */
#include "base/errors.h"
#include "library/call/steps.h"
#include "library/objects/looks.h"
#include "library/objects/owners.h"
#include "library/objects/references.h"

/* An object that keeps an argument's memory in place; new reference. For a bytearray or similar it is a memoryview,
 * inside a capsule so that Python code cannot release it. */
static PyObject *
pin(PyObject *given)
{
    if (PyArray_Check(given) || PyBytes_Check(given) || cwj_is_instance(given) ||
        !PyObject_CheckBuffer(given)) {
        return Py_NewRef(given);
    }
    PyObject *view = PyMemoryView_FromObject(given);
    PyObject *capsule = view == NULL ? NULL : cwj_capsule_with(view, "cwrapjit.view", view);
    Py_XDECREF(view);
    return capsule;
}

/* Appends what has the memory of an argument: the argument itself, or the bases of an instance that lies in others. */
static int
append_base(PyObject *list, PyObject *given)
{
    bool lies = cwj_is_instance(given) && ((cwj_instance *)given)->base != NULL;
    PyObject *base = lies ? Py_NewRef(((cwj_instance *)given)->base) : pin(given);
    int status = base == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; status == 0 && PyTuple_Check(base) && i < PyTuple_GET_SIZE(base); i++) {
        status = append_base(list, PyTuple_GET_ITEM(base, i));
    }
    if (status == 0 && !PyTuple_Check(base)) {
        status = cwj_append_once(list, base);
    }
    Py_XDECREF(base);
    return status;
}

static bool
is_memory(const cwj_parameter *p)
{
    return p->argument >= 0 && cwj_role_is(p->role, CWJ_MEMORY);
}

bool
cwj_library_gets_memory(const cwj_library_function *function)
{
    bool found = false;
    for (int k = 0; k < function->nparameters; k++) {
        found |= is_memory(&function->parameters[k]);
    }
    return found;
}

/* A new list of what has the memory of the arguments that a result is said to point into, or else of all arguments;
 * NULL with an exception set. */
static PyObject *
list_memory(const cwj_library_frame *frame, const cwj_parameter *result)
{
    const cwj_library_function *function = frame->function;
    bool is_said = result->owner == CWJ_OWNER_ARGUMENT;
    PyObject *list = PyList_New(0);
    for (int i = 0; i < (is_said ? result->nbases : function->nparameters) && list != NULL; i++) {
        PyObject *given = is_said                               ? frame->given[result->bases[i]]
                          : is_memory(&function->parameters[i]) ? cwj_library_given(frame, i)
                                                                : NULL;
        if (given != NULL && append_base(list, given) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

PyObject *
cwj_library_base(const cwj_library_frame *frame, const cwj_parameter *result)
{
    if (result->owner != CWJ_OWNER_ARGUMENT) {
        return Py_NewRef(frame->function->owner); /* the library's memory */
    }
    PyObject *list = list_memory(frame, result);
    PyObject *base = list == NULL                 ? NULL
                     : PyList_GET_SIZE(list) == 1 ? Py_NewRef(PyList_GET_ITEM(list, 0))
                                                  : PyList_AsTuple(list);
    Py_XDECREF(list);
    return base;
}

int
cwj_library_keep_arguments(const cwj_library_frame *frame, PyObject *made)
{
    const cwj_library_function *function = frame->function;
    cwj_instance *self = (cwj_instance *)made;
    if (self->layout->has_pointers && cwj_references_put_parked(self) < 0) {
        return -1;
    }
    for (int k = 0; self->layout->has_pointers && k < function->nparameters; k++) {
        const cwj_parameter *p = &function->parameters[k];
        bool may_be_kept = cwj_role_is(p->role, CWJ_MEMORY) || p->role == CWJ_BUFFER ||
                           p->role == CWJ_STRING || p->role == CWJ_TEXTS;
        PyObject *given = may_be_kept ? cwj_library_given(frame, k) : NULL;
        PyObject *kept = given == NULL ? NULL : pin(given);
        bool is_instance = kept != NULL && cwj_is_instance(kept);
        int status = given == NULL  ? 0
                     : kept == NULL ? -1
                     : is_instance && self->owned
                         ? 0 /* as for handles that C gives away */
                         : cwj_references_put(self, self->pointer, kept, kept);
        if (status == 0 && is_instance) {
            cwj_sharing sharing = self->owned   ? CWJ_SHARES_NOTHING
                                  : p->is_model ? CWJ_IS_A_COPY
                                                : CWJ_LEADS_THERE;
            status = cwj_references_copy(self, self->pointer, kept, frame->slots[k + 1].p,
                                         ((cwj_instance *)kept)->layout->size, true, sharing);
        }
        Py_XDECREF(kept);
        if (status < 0) {
            return -1;
        }
    }
    return 0;
}

/* For a property's setter: the new value (NULL: none) takes the place of the old one. If arrays look into what the old
 * one leads to, both are kept. */
static int
keep_in_place(cwj_instance *self, const cwj_keep *place, PyObject *kept)
{
    int behind = cwj_looks_behind(self);
    return behind < 0     ? -1
           : behind == 0  ? cwj_references_put(self, self->pointer, place, kept)
           : kept == NULL ? 0
                          : cwj_references_put(self, self->pointer, kept, kept);
}

/* Has `self` keep the argument of keep->kept, as C points to it from now on. */
static int
keep_one(const cwj_library_frame *frame, cwj_instance *self, const cwj_keep *keep)
{
    int k = keep->kept;
    bool replaces = frame->function->replaces;
    PyObject *given = cwj_library_given(frame, k);
    if (given == NULL || frame->slots[k + 1].p == NULL) {
        return replaces ? keep_in_place(self, keep, NULL) : 0;
    }
    cwj_role role = frame->function->parameters[k].role;
    bool is_made = role == CWJ_CALLBACK || role == CWJ_STREAM;
    PyObject *kept = is_made ? Py_NewRef(PyTuple_GET_ITEM(frame->made[k], 1)) : pin(given);
    int status = kept == NULL ? -1
                 : replaces   ? keep_in_place(self, keep, kept)
                              : cwj_references_put(self, self->pointer, kept, kept);
    if (status == 0 && cwj_is_instance(kept) &&
        role == CWJ_STRUCT) { /* by value: C keeps a copy of its pointers */
        status = cwj_references_copy(self, self->pointer, kept, frame->slots[k + 1].p,
                                     ((cwj_instance *)kept)->layout->size, true, CWJ_IS_A_COPY);
    }
    Py_XDECREF(kept);
    return status;
}

int
cwj_library_keep(const cwj_library_frame *frame, int k, PyObject *instance)
{
    const cwj_library_function *function = frame->function;
    for (int i = 0; i < function->nkeeps; i++) {
        const cwj_keep *keep = &function->keeps[i];
        if (keep->keeper == k && instance != NULL && cwj_is_instance(instance) &&
            keep_one(frame, (cwj_instance *)instance, keep) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Returns 1, 0, or -1 with an exception set. */
static int
has_writeable_memory(PyObject *given)
{
    Py_buffer view;
    if (PyArray_Check(given)) {
        return PyArray_ISWRITEABLE((PyArrayObject *)given);
    }
    if (cwj_is_instance(given) || !PyObject_CheckBuffer(given)) {
        return !PyUnicode_Check(given);
    }
    if (PyObject_GetBuffer(given, &view, PyBUF_WRITABLE) < 0) {
        return cwj_clear_expected(PyExc_BufferError, PyExc_ValueError, NULL) ? 0 : -1;
    }
    PyBuffer_Release(&view);
    return 1;
}

int
cwj_library_may_write(const cwj_library_frame *frame, const cwj_parameter *result)
{
    int writeable = !result->readonly;
    for (int i = 0; writeable > 0 && i < result->nbases && result->owner == CWJ_OWNER_ARGUMENT;
         i++) {
        PyObject *given = frame->given[result->bases[i]];
        writeable = given == NULL ? 1 : has_writeable_memory(given);
    }
    return writeable;
}

/* The keeper of the memory that a pointer into arguments leads to: a tuple, or the library. owner: the instance that
 * owns this memory, or NULL. The usual cases come first. */
static PyObject *
keepers_among_arguments(const cwj_library_frame *frame, const cwj_parameter *result,
                        PyObject *owner)
{
    bool is_said = result->owner == CWJ_OWNER_ARGUMENT;
    PyObject *only = is_said && result->nbases == 1 ? frame->given[result->bases[0]] : NULL;
    if (only != NULL && cwj_is_instance(only) && ((cwj_instance *)only)->base != NULL) {
        only = ((cwj_instance *)only)->base;
    }
    if (only != NULL && owner == NULL && only == result->library) {
        return Py_NewRef(only);
    }
    if (only != NULL && (owner == NULL || owner == only) && cwj_is_instance(only)) {
        return PyTuple_Pack(1, only);
    }
    PyObject *list = list_memory(frame, result), *tuple = NULL;
    bool has_instance = false;
    for (Py_ssize_t i = 0; list != NULL && i < PyList_GET_SIZE(list); i++) {
        has_instance |= cwj_is_instance(PyList_GET_ITEM(list, i));
    }
    /* If there is no instance, the library keeps the objects that pointers in this memory point to. */
    bool needs_library = !has_instance && result->library != NULL;
    if (list != NULL && (!needs_library || PyList_Append(list, result->library) == 0) &&
        (owner == NULL || cwj_append_once(list, owner) == 0)) {
        tuple = PyList_AsTuple(list);
    }
    Py_XDECREF(list);
    return tuple;
}

PyObject *
cwj_library_keeper(const cwj_library_frame *frame, const cwj_parameter *result, const void *pointer)
{
    bool is_output = result != &frame->function->result;
    if (result->owner == CWJ_OWNER_CALLEE && !is_output) {
        return NULL;
    }
    PyObject *owner = (PyObject *)cwj_owner_at(pointer);
    if (result->owner == CWJ_OWNER_ARGUMENT || is_output) {
        return keepers_among_arguments(frame, result, owner);
    }
    return Py_XNewRef(owner != NULL ? owner : result->library);
}
