/* link.h: the function link(), and the plan behind it. */
#ifndef CWJ_GRAPH_LINK_LINK_H
#define CWJ_GRAPH_LINK_LINK_H

#include "graph/link/linking.h"
#include "graph/plan.h"

/* link(inputs, outputs, *, mode="struct", ...), a function of the extension module. */
PyObject *cwj_graph_link(PyObject *extension, PyObject *args, PyObject *kwargs);
extern const char cwj_graph_link_doc[];

/* Walks, asks, describes, compiles (make_plan.c). NULL with an exception that names the type or
 * op, the method and the line. */
cwj_graph_plan *cwj_make_plan(cwj_module_state *state, const cwj_link_options *options);

#endif
