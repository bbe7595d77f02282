/* plan.c: frees a plan with all that it owns. */
#include "graph/plan.h"

void
cwj_graph_plan_free(cwj_graph_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    for (int i = 0; i < plan->nnodes; i++) {
        PyMem_Free(plan->nodes[i].inputs);
    }
    cwj_graph_code_unref(plan->code);
    PyMem_Free(plan->variables);
    PyMem_Free(plan->nodes);
    PyMem_Free(plan->steps);
    PyMem_Free(plan->outputs);
    Py_XDECREF(plan->said);
    PyMem_Free(plan);
}
