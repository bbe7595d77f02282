/* overwrite.h: checks inputs that a run may change. */
#pragma once

#include "graph/plan.h"

/* True for numbers, text and similar: C copies their value and cannot change the object, so others may hold it. */
bool cwj_never_changes(PyObject *object);

/* Call before a run: checks that overwritten inputs are writeable and share no memory with other values. Returns 0, or
 * -1 with ValueError set. */
int cwj_check_overwritten(const cwj_graph_plan *plan, PyObject *const *storages);
