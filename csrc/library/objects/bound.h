/* bound.h: what a destructor wants besides the object that it ends: GEOSGeom_destroy_r(context, self). */
#pragma once

#include "library/tables/slots.h"

/* What was given to the call that made the object. */
typedef struct cwj_bound {
    PyObject *
        owners; /* owned list: what the pointers among the values need; no instance of it ends before */
    int count;
    cwj_slot values[CWJ_MOST_BOUND];
} cwj_bound;

/* Empty; NULL with MemoryError set. */
cwj_bound *cwj_bound_new(void);
/* Adds a value, as C had it. given: the object that it came from, borrowed. Returns 0, or -1 with an
 * exception set. */
int cwj_bound_add(cwj_bound *self, const cwj_slot *value, PyObject *given);
/* NULL is taken. What it kept may end now. */
void cwj_bound_free(cwj_bound *self);
