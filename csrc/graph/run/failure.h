/* failure.h: adds to an exception which block of a graph has failed. */
#pragma once

#include "graph/plan.h"

/* Call after a failed run or begin. Adds a note with the block to the current exception, or sets RuntimeError if there
 * is none. checked: the label of the node if check=True failed, not its code; or NULL. */
void cwj_blame_block(const cwj_graph_plan *plan, int block, PyObject *checked);
