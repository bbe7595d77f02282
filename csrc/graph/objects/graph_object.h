/* graph_object.h: types cwrapjit.graph.Graph, what link() returns, and cwrapjit.graph.BoundGraph. */
#pragma once

#include "graph/run/binding.h"

/* A Graph or a BoundGraph. */
typedef struct cwj_graph_object {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    cwj_graph_plan
        *plan; /* a Graph's: owned, by nobody else; NULL: cleared by the garbage collector */
    struct cwj_graph_object *graph; /* a BoundGraph's: owned; NULL: the same */
    cwj_binding own; /* its cells and state */
    PyObject *made_by; /* a Graph's: owned: the arguments of link(), which nobody else can change */
    PyObject *weakrefs;
} cwj_graph_object;

/* A Graph that owns the plan, which it also takes when it fails. made_by: the arguments of link() for
 * _made_by(). A new reference or NULL. */
PyObject *cwj_graph_new(cwj_module_state *state, cwj_graph_plan *plan, PyObject *made_by);

/* Calls a Graph (invoke.c). */
PyObject *cwj_graph_invoke(PyObject *graph, PyObject *const *args, size_t nargsf,
                           PyObject *kwnames);

/* What they say of themselves (shown.c). */
extern PyGetSetDef cwj_graph_getset[], cwj_bound_getset[];
PyObject *cwj_bound_repr(PyObject *bound);
PyObject *cwj_graph_repr(PyObject *graph);
/* Of a Graph or a BoundGraph, borrowed; NULL with RuntimeError after the garbage collector took it
 * away. */
const cwj_graph_plan *cwj_graph_plan_of(PyObject *object);

/* Adds the types to the extension module. Returns 0, or -1 with an exception set. */
int cwj_add_graph_types(PyObject *extension, cwj_module_state *state);
