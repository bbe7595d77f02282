/* owners.h: finds the instance that owns the memory at an address. All functions need the GIL. */
#pragma once

#include "library/objects/instance.h"

/* Add and remove an instance that owns its memory. Adding may fail without an error; cwj_owner_at() then does not find
 * the instance. */
void cwj_owners_add(cwj_instance *self);
void cwj_owners_remove(cwj_instance *self);
/* Replaces `from`, which is listed, by `to`, which is not. */
void cwj_owners_move(cwj_instance *from, cwj_instance *to);
/* Returns the owner of the memory at an address, borrowed; NULL if no instance is known to own it. */
cwj_instance *cwj_owner_at(const void *address);

/* Returns the objects that an instance may lie in if there are several; borrowed. */
static inline PyObject *const *
cwj_bases_of(const cwj_instance *self, Py_ssize_t *count)
{
    bool several = self->base != NULL && PyTuple_CheckExact(self->base);
    *count = several ? PyTuple_GET_SIZE(self->base) : 0;
    return several ? &PyTuple_GET_ITEM(self->base, 0) : NULL;
}

/* Returns what keeps the memory of an instance: its base if that is an instance, or itself. Borrowed. */
PyObject *cwj_anchor_of(PyObject *instance);
/* False if the instance, or one that it lies in, was closed. */
bool cwj_is_alive(cwj_instance *self);
/* Returns a new list of the instances that own, or may own, an address that was reached through self. */
PyObject *cwj_owners_of(cwj_instance *self, const void *address);
