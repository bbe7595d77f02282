/* take_instances.c: takes structs and handles as arguments, and protects them while C uses them. */
#include "base/raised.h"
#include "library/call/steps.h"
#include "library/objects/looks.h"
#include "library/objects/owners.h"
#include "library/objects/references.h"

static bool
ends_type(const cwj_library_function *function, const cwj_struct_layout *layout)
{
    if (layout->free == NULL) {
        return false;
    }
    return (void *)layout->free == function->address ||
           (layout->free_name == function->c_name && PyUnicode_GET_LENGTH(layout->free_name) > 0);
}

bool
cwj_library_ends(const cwj_library_function *function, const cwj_instance *self,
                 const cwj_instance *owner)
{
    return ends_type(function, self->layout) ||
           (owner != NULL && ends_type(function, owner->layout));
}

bool
cwj_library_is_destructor(const cwj_library_function *function, PyObject *object)
{
    const cwj_instance *self = (cwj_instance *)object;
    return cwj_is_instance(object) &&
           cwj_library_ends(function, self, self->listed ? self : cwj_owner_at(self->pointer));
}

int
cwj_library_refuse_end(cwj_library_frame *frame, int k, const cwj_instance *self)
{
    return cwj_library_refuse(frame, PyExc_TypeError,
                              "it ends the %U of argument %U, which Python owns: call close()",
                              self->layout->name, cwj_library_name(frame, k));
}

/* Takes a record or a tuple of members: an instance made of it replaces the argument in frame->given. Returns 0 if
 * there is one now. */
static int
replace_record(cwj_library_frame *frame, int k, PyObject *object)
{
    const cwj_parameter *p = &frame->function->parameters[k];
    PyObject *fault = NULL, *made = NULL;
    if (!frame->strict || !PyTuple_Check(object)) {
        made = cwj_instance_of_record(p->layout, object, cwj_is_written_memory(p), &fault);
    }
    if (made == NULL && fault != NULL) {
        cwj_library_refuse_type(frame, k, "%U", fault);
    } else if (made == NULL && !PyErr_Occurred()) {
        cwj_library_refuse_type(frame, k, "%s", Py_TYPE(object)->tp_name);
    } else if (made == NULL) { /* a member's fault */
        cwj_raised_again(cwj_raised_take(),
                         PyUnicode_FromFormat("%U: argument %U", frame->function->who,
                                              cwj_library_name(frame, k)));
    }
    Py_XDECREF(fault);
    if (made != NULL) {
        frame->made[k] = frame->given[p->argument] = made;
    }
    return made == NULL ? -1 : 0;
}

int
cwj_library_take_instance(cwj_library_frame *frame, int k, PyObject *object)
{
    cwj_struct_layout *layout = frame->function->parameters[k].layout;
    void *pointer = NULL;
    int fits = cwj_instance_pointer(layout, object, &pointer);
    if (fits == 0) {
        if (replace_record(frame, k, object) < 0) {
            return -1;
        }
        object = frame->made[k];
        fits = cwj_instance_pointer(layout, object, &pointer);
    }
    if (fits > 0 && cwj_library_is_destructor(frame->function, object)) {
        return cwj_library_refuse_end(frame, k, (cwj_instance *)object);
    }
    frame->slots[k + 1].p = pointer;
    return fits < 0 ? -1 : 0;
}

/* Copies a list, a tuple or an array of objects to a new tuple; NULL with an exception set. */
static PyObject *
items_of(cwj_library_frame *frame, int k, PyObject *object)
{
    if (PyList_Check(object)) {
        return PyList_AsTuple(object);
    }
    if (PyTuple_Check(object)) {
        return PyTuple_GetSlice(object, 0, PyTuple_GET_SIZE(object));
    }
    if (PyArray_CheckExact(object) && PyArray_TYPE((PyArrayObject *)object) == NPY_OBJECT &&
        PyArray_NDIM((PyArrayObject *)object) == 1) {
        return PySequence_Tuple(object);
    }
    cwj_library_refuse_type(frame, k, "%s", Py_TYPE(object)->tp_name);
    return NULL;
}

static int
take_pointers(cwj_library_frame *frame, int k, PyObject *items, void **pointers)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        int fits = cwj_instance_pointer(frame->function->parameters[k].layout, item, &pointers[i]);
        if (fits <= 0) {
            return fits < 0 ? -1
                            : cwj_library_refuse_type(frame, k, "a list with an item of type %s",
                                                      Py_TYPE(item)->tp_name);
        }
    }
    return 0;
}

/* Makes an array of pointers with a NULL at the end. The tuple of items replaces the argument in frame->given, so that
 * no item can be removed during the call. */
int
cwj_library_take_instances(cwj_library_frame *frame, int k, PyObject *object)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    PyObject *items = items_of(frame, k, object);
    if (items == NULL) {
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(items), size = (count + 1) * (Py_ssize_t)sizeof(void *);
    PyObject *memory = PyBytes_FromStringAndSize(NULL, size);
    frame->made[k] = Py_BuildValue("(NN)", items, memory);
    if (frame->made[k] == NULL) {
        return -1;
    }
    if (parameter->ndim == 1) {
        frame->lengths[parameter->lengths_at] = count;
    }
    frame->given[parameter->argument] = items;
    frame->slots[k + 1].p = memset(PyBytes_AS_STRING(memory), 0, (size_t)size);
    return take_pointers(frame, k, items, frame->slots[k + 1].p);
}

/* ---- while C has them --------------------------------------------------------------- */

/* C works on these objects without the GIL, so nothing may free them. */
void
cwj_library_use_instances(const cwj_library_frame *frame, Py_ssize_t change)
{
    const cwj_library_function *function = frame->function;
    for (int k = 0; k < function->nparameters; k++) {
        cwj_role role = function->parameters[k].role;
        bool instance = role != CWJ_ARRAY && cwj_role_is(role, CWJ_MEMORY);
        PyObject *given = instance ? cwj_library_given(frame, k) : NULL;
        PyObject *several = role == CWJ_HANDLES ? cwj_library_given(frame, k) : NULL;
        if (given != NULL) {
            cwj_instance_use(given, change);
        }
        for (Py_ssize_t i = 0; several != NULL && i < PyTuple_GET_SIZE(several); i++) {
            cwj_instance_use(PyTuple_GET_ITEM(several, i), change);
        }
    }
}

/* Refuses if C could move or free memory that arrays look into; if others could begin to, the call keeps the GIL. */
int
cwj_library_refuse_looks(cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
    for (int k = 0; k < function->nparameters && !function->stable; k++) {
        const cwj_parameter *parameter = &function->parameters[k];
        bool written = (parameter->role == CWJ_HANDLE || parameter->role == CWJ_ADDRESS) &&
                       parameter->intent == CWJ_INTENT_INOUT;
        PyObject *given = written ? cwj_library_given(frame, k) : NULL;
        if (given == NULL || !cwj_is_instance(given)) {
            continue;
        }
        frame->moves |= cwj_may_be_read((const cwj_instance *)given);
        int behind = cwj_looks_behind((cwj_instance *)given);
        if (behind < 0) {
            return -1;
        }
        if (behind) {
            return cwj_library_refuse(
                frame, PyExc_BufferError,
                "an array looks into memory of argument %U, which C could move "
                "or free (stable=True says that it does not)",
                cwj_library_name(frame, k));
        }
        if (cwj_is_shared((cwj_instance *)given)) {
            return cwj_library_refuse(frame, PyExc_BufferError,
                                      "argument %U and a copy of it have memory in common, which C "
                                      "could move or free (stable=True says that it does not)",
                                      cwj_library_name(frame, k));
        }
    }
    return 0;
}
