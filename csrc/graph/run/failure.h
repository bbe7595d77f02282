/* failure.h: which block failed, in words. */
#ifndef CWJ_GRAPH_RUN_FAILURE_H
#define CWJ_GRAPH_RUN_FAILURE_H

#include "graph/plan.h"

/* "c_code of Add(x, y)"; "" for numbers that no block has. A new reference, or NULL. */
PyObject *cwj_block_text(const cwj_graph_plan *plan, int block);

/* Behind a failed run or begin: leaves an exception set, whatever the code did, with a note
 * that says which block it was. method: instead of the block's own; NULL: its own. */
void cwj_blame_block(const cwj_graph_plan *plan, int block, const char *method);

#endif
