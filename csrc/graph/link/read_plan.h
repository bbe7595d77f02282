/* read_plan.h: what cwrapjit/graph/linking.py finds out of a graph, as C has it. */
#pragma once

#include "base/arena.h"
#include "graph/plan.h"

/* What is compiled. */
typedef struct cwj_unit_of_graph {
    cwj_arena arena; /* all arrays; texts belong to Python's objects */
    tj_graph graph;
    tj_environment_options environment;
    cwj_graph_request request; /* of these two */
} cwj_unit_of_graph;

/* said: what read_graph() returned, which lives as long as the unit. Returns 0, or -1 with an
 * exception. */
int cwj_read_plan(cwj_graph_plan *plan, cwj_unit_of_graph *unit, PyObject *said);
