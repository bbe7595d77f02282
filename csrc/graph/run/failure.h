/* failure.h: which block failed, in words. */
#pragma once

#include "graph/plan.h"

/* Behind a failed run or begin: leaves an exception set, whatever the code did, with a note
 * that says which block it was. checked: the label of a node whose check failed, not its code; or NULL. */
void cwj_blame_block(const cwj_graph_plan *plan, int block, PyObject *checked);
