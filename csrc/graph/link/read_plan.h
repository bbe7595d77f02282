/* read_plan.h: reads what cwrapjit/graph/linking.py finds in a graph into C data. */
#pragma once

#include "graph/plan.h"

/* The description of the C unit to compile. */
typedef struct cwj_unit_of_graph {
    cwj_arena arena; /* owns its arrays; texts belong to Python objects */
    tj_graph graph;
    tj_environment_options environment;
    cwj_graph_request request; /* refers to these two */
} cwj_unit_of_graph;

/* said: the result of read_graph(), which must outlive the unit. Returns 0, or -1 with an exception set. */
int cwj_read_plan(cwj_graph_plan *plan, cwj_unit_of_graph *unit, PyObject *said);
