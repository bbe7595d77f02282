/* overwrite.h: inputs that a run may change. */
#pragma once

#include "graph/plan.h"

/* Objects that never change: nobody minds who else has one. */
bool cwj_never_changes(PyObject *object);

/* Before a run: may what it overwrites be written to, and has nobody else its memory?
 * Returns 0, or -1 with ValueError. */
int cwj_check_overwritten(const cwj_graph_plan *plan, PyObject *const *storages);
