/* looks.h: records the arrays that look into an instance's memory, and behind it (where its pointers lead). */
#pragma once

#include "library/objects/instance.h"

/* Records an array at `data`, which was found through an instance. base keeps it: an instance, or a tuple of objects
 * that may own the data. Ignores objects that are no instances. Returns 0, or -1 with an exception set. */
int cwj_looks_add(PyObject *array, PyObject *base, PyObject *through, const void *data);
/* True if an array looks into the owner's memory or behind it. */
bool cwj_looks_into(cwj_instance *owner);
/* Returns 1 if an array looks into memory that pointers of the instance lead to, which C could move or free if it gets
 * the instance; 0 if not; -1 with an exception set. */
int cwj_looks_behind(cwj_instance *self);
void cwj_looks_clear(cwj_instance *self);
