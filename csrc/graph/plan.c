/* plan.c: frees a plan with all that it owns. */
#include "graph/plan.h"

void
cwj_graph_plan_free(cwj_graph_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    cwj_graph_code_unref(plan->code);
    cwj_arena_clear(&plan->arena);
    Py_XDECREF(plan->said);
    PyMem_Free(plan);
}
