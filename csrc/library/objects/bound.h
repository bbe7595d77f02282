/* bound.h: keeps the values that a destructor needs besides its object: GEOSGeom_destroy_r(context, self). */
#pragma once

#include "library/tables/slots.h"

/* Arguments of the call that made the object. Instances in owners end after the object. */
typedef struct cwj_bound {
    PyObject *owners; /* owned list: objects that the pointers among the values need */
    int count;
    cwj_slot values[CWJ_MOST_BOUND];
} cwj_bound;

/* Returns an empty cwj_bound; NULL with MemoryError set. */
cwj_bound *cwj_bound_new(void);
/* Adds a value as C got it, made from the object `given` (borrowed). Returns 0, or -1 with an exception set. */
int cwj_bound_add(cwj_bound *self, const cwj_slot *value, PyObject *given);
/* Accepts NULL. Objects that it kept may end now. */
void cwj_bound_free(cwj_bound *self);
