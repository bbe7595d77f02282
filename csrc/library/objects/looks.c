/* looks.c: records the arrays that look into an instance's memory, and behind it, into memory that its pointers lead
 * to. An array cannot be told that its memory is gone, so nothing may free that memory while the array lives. */
#include "library/objects/looks.h"

#include "base/tuples.h"
#include "library/objects/owners.h"

typedef struct cwj_look {
    PyObject *array; /* owned: a weak reference */
    const char *through; /* address of the struct with the pointer */
    bool behind;
} cwj_look;

static void
prune(cwj_instance *self)
{
    int left = 0;
    for (int k = 0; k < self->nlooks; k++) {
        PyObject *array = PyObject_CallNoArgs(self->looks[k].array);
        if (array == Py_None) { /* it is gone */
            Py_DECREF(self->looks[k].array);
        } else {
            self->looks[left++] = self->looks[k];
        }
        Py_XDECREF(array);
    }
    self->nlooks = left;
}

static int
add(cwj_instance *owner, PyObject *array, const cwj_instance *through, const char *data)
{
    const char *low = owner->pointer;
    bool inside = owner->listed && data >= low && data < low + owner->layout->size;
    if (owner->nlooks == owner->most_looks) {
        prune(owner); /* afterwards, half of the room is free */
        if (cwj_reserve(&owner->looks, 2 * owner->nlooks, &owner->most_looks,
                        sizeof(*owner->looks)) < 0) {
            return -1;
        }
    }
    PyObject *weak = PyWeakref_NewRef(array, NULL);
    if (weak == NULL) {
        return -1;
    }
    owner->looks[owner->nlooks++] = (cwj_look){weak, through->pointer, !inside};
    return 0;
}

/* Returns a new list of the instances to whose memory pointers of the owner may lead: see references.c. */
static PyObject *
led_to(const cwj_instance *owner)
{
    PyObject *list = PyList_New(0), *key, *entry;
    Py_ssize_t position = 0;
    while (list != NULL && owner->references != NULL &&
           PyDict_Next(owner->references, &position, &key, &entry)) {
        if (PyTuple_GET_ITEM(entry, 2) == Py_None) {
            cwj_list_add(&list, Py_NewRef(PyTuple_GET_ITEM(entry, 0)));
        }
    }
    return list;
}

/* Adds the array to the owners of a struct. led: also to the instances to whose memory their pointers may lead. The
 * references of an owner include those of such instances, so one level is enough. */
static int
add_to_owners(PyObject *array, cwj_instance *through, const void *data, bool led)
{
    PyObject *owners = cwj_owners_of(through, through->pointer);
    int status = owners == NULL ? -1 : 0;
    for (Py_ssize_t k = 0; status == 0 && k < PyList_GET_SIZE(owners); k++) {
        cwj_instance *owner = (cwj_instance *)PyList_GET_ITEM(owners, k);
        bool leads = led && owner->references != NULL;
        PyObject *more = leads ? led_to(owner) : NULL;
        status = leads && more == NULL ? -1 : add(owner, array, through, data);
        for (Py_ssize_t i = 0; status == 0 && more != NULL && i < PyList_GET_SIZE(more); i++) {
            status = add_to_owners(array, (cwj_instance *)PyList_GET_ITEM(more, i), data, false);
        }
        Py_XDECREF(more);
    }
    Py_XDECREF(owners);
    return status;
}

int
cwj_looks_add(PyObject *array, PyObject *base, PyObject *through, const void *data)
{
    int status = 0;
    if (PyTuple_CheckExact(base)) {
        for (Py_ssize_t k = 0; status == 0 && k < PyTuple_GET_SIZE(base); k++) {
            PyObject *each = PyTuple_GET_ITEM(base, k);
            status = cwj_looks_add(array, each, each, data);
        }
        return status;
    }
    return cwj_is_instance(base) ? add_to_owners(array, (cwj_instance *)through, data, true) : 0;
}

bool
cwj_looks_into(cwj_instance *owner)
{
    prune(owner);
    return owner->nlooks > 0;
}

/* C's memory may hold other objects, too, so an owner without memory of its own counts only arrays that were found
 * through the struct in [low, high). */
static bool
owner_looks_behind(cwj_instance *owner, const char *low, const char *high)
{
    prune(owner);
    for (Py_ssize_t k = 0; k < owner->nlooks; k++) {
        const cwj_look *look = &owner->looks[k];
        if (look->behind && (owner->listed || (look->through >= low && look->through < high))) {
            return true;
        }
    }
    return false;
}

int
cwj_looks_behind(cwj_instance *self)
{
    const char *low = self->pointer;
    const char *high = low + (self->layout->size > 0 ? self->layout->size : 1);
    bool found = false;
    if (self->listed) { /* the usual case */
        return self->nlooks > 0 && owner_looks_behind(self, low, high);
    }
    PyObject *owners = cwj_owners_of(self, self->pointer);
    if (owners == NULL) {
        return -1;
    }
    for (Py_ssize_t k = 0; !found && k < PyList_GET_SIZE(owners); k++) {
        found = owner_looks_behind((cwj_instance *)PyList_GET_ITEM(owners, k), low, high);
    }
    Py_DECREF(owners);
    return found;
}

void
cwj_looks_clear(cwj_instance *self)
{
    for (Py_ssize_t k = 0; k < self->nlooks; k++) {
        Py_DECREF(self->looks[k].array);
    }
    PyMem_Free(self->looks);
    self->looks = NULL;
    self->nlooks = self->most_looks = 0;
}
