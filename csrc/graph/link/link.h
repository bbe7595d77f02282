/* link.h: the function link(), and the plan behind it. */
#ifndef CWJ_GRAPH_LINK_LINK_H
#define CWJ_GRAPH_LINK_LINK_H

#include "graph/link/linking.h"
#include "graph/plan.h"

/* Adds link(), and what its halves in Python call, to the extension module. Returns 0, or -1. */
int cwj_add_link(PyObject *extension);

/* Walks, asks, describes, compiles (make_plan.c). NULL with an exception that names the type or
 * op, the method and the line. */
cwj_graph_plan *cwj_make_plan(cwj_module_state *state, const cwj_link_options *options);

#endif
