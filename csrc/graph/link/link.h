/* link.h: the plan behind link(). */
#ifndef CWJ_GRAPH_LINK_LINK_H
#define CWJ_GRAPH_LINK_LINK_H

#include "graph/plan.h"

/* Adds compile_graph() to the extension module. Returns 0, or -1. */
int cwj_add_link(PyObject *extension);

#endif
