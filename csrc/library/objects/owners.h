/* owners.h: which instance owns the memory at an address. All of it needs the GIL. */
#pragma once

#include "library/objects/instance.h"

/* An instance that owns what it points to, as long as it does. Adding fails in silence, and
 * then cwj_owner_at() does not know it. */
void cwj_owners_add(cwj_instance *self);
void cwj_owners_remove(cwj_instance *self);
/* `to`, which is not listed, takes the place of `from`, which is. */
void cwj_owners_move(cwj_instance *from, cwj_instance *to);
/* The owner of the memory there, borrowed; NULL: C, as far as is known. */
cwj_instance *cwj_owner_at(const void *address);

/* What the memory of an instance may lie in, where that is several things. Borrowed. */
static inline PyObject *const *
cwj_bases_of(const cwj_instance *self, Py_ssize_t *count)
{
    bool several = self->base != NULL && PyTuple_CheckExact(self->base);
    *count = several ? PyTuple_GET_SIZE(self->base) : 0;
    return several ? &PyTuple_GET_ITEM(self->base, 0) : NULL;
}

/* What keeps the memory behind an instance: its base, when that is an instance, or itself. Borrowed. */
PyObject *cwj_anchor_of(PyObject *instance);
/* False: it was closed, or what it lies in was. */
bool cwj_is_alive(cwj_instance *self);
/* The instances that own, or may own, an address that was reached through self: a new list. */
PyObject *cwj_owners_of(cwj_instance *self, const void *address);
