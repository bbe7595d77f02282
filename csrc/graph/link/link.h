/* link.h: the function link(), and the plan behind it. */
#ifndef CWJ_GRAPH_LINK_LINK_H
#define CWJ_GRAPH_LINK_LINK_H

#include "graph/plan.h"

/* What link() was given; borrowed. */
typedef struct cwj_link_options {
    PyObject *inputs; /* any sequence of variables */
    PyObject *outputs; /* a variable, or a sequence of them */
    PyObject *updates; /* a dict, or NULL */
    PyObject *name; /* str */
    bool struct_form, per_op, validate, check;
    bool python; /* nodes without C code run their perform() */
    bool optimize; /* else libtcc's code for good */
    bool eager, fastmath;
    bool debug; /* see guarded.h */
    bool checks; /* the system's compiler only looks at the text */
} cwj_link_options;

/* Adds link() to the extension module. Returns 0, or -1. */
int cwj_add_link(PyObject *extension);

/* Walks, asks, describes, compiles (make_plan.c). NULL with an exception that names the type or
 * op, the method and the line. */
cwj_graph_plan *cwj_make_plan(cwj_module_state *state, const cwj_link_options *options);

#endif
