/* looks.h: which arrays look into an instance's memory, and behind it. */
#pragma once

#include "library/objects/instance.h"

/* The array lies at `data`, which was found through an instance; base keeps it: an instance,
 * or a tuple of what the data may belong to. What is none of these is left alone. */
int cwj_looks_add(PyObject *array, PyObject *base, PyObject *through, const void *data);
/* True while an array looks into the owner's memory or behind it. */
bool cwj_looks_into(cwj_instance *owner);
/* 1 while an array looks into memory that pointers of the instance lead to, and that C
 * could move or free when it has the instance. 0, or -1 with an exception set. */
int cwj_looks_behind(cwj_instance *self);
void cwj_looks_clear(cwj_instance *self);
