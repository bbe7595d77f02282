/* bound.c: keeps the values that a destructor needs besides its object. */
#include "library/objects/bound.h"

#include "library/objects/owners.h"
#include "library/objects/references.h"

cwj_bound *
cwj_bound_new(void)
{
    cwj_bound *self = cwj_allocate(1, sizeof(*self));
    if (self == NULL || (self->owners = PyList_New(0)) == NULL) {
        PyMem_Free(self);
        return NULL;
    }
    /* Instances visit its items. If the collector saw the list, it would keep cycles through it forever. */
    PyObject_GC_UnTrack(self->owners);
    return self;
}

/* Appends an object. An instance counts how often it is in such lists. */
static int
add_owner(cwj_bound *self, PyObject *object)
{
    if (PyList_Append(self->owners, object) < 0) {
        return -1;
    }
    if (cwj_is_instance(object)) {
        ((cwj_instance *)object)->binders++;
    }
    return 0;
}

int
cwj_bound_add(cwj_bound *self, const cwj_slot *value, PyObject *given)
{
    bool is_instance = cwj_is_instance(given);
    PyObject *owners = is_instance ? cwj_owners_of((cwj_instance *)given, value->p) : PyList_New(0);
    int status = owners == NULL ? -1 : add_owner(self, given);
    for (Py_ssize_t k = 0; status == 0 && k < PyList_GET_SIZE(owners); k++) {
        status = add_owner(self, PyList_GET_ITEM(owners, k));
    }
    self->values[self->count++] = *value;
    Py_XDECREF(owners);
    return status;
}

void
cwj_bound_free(cwj_bound *self)
{
    if (self == NULL) {
        return;
    }
    PyObject *owners = self->owners;
    PyMem_Free(self);
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(owners); k++) {
        PyObject *object = PyList_GET_ITEM(owners, k);
        if (cwj_is_instance(object)) {
            ((cwj_instance *)object)->binders--;
        }
    }
    Py_DECREF(owners);
}
