/* graph_object.h: types cwrapjit.graph.Graph, what link() returns, and cwrapjit.graph.BoundGraph. */
#pragma once

#include "graph/run/binding.h"

/* A Graph or a BoundGraph. */
typedef struct cwj_graph_object {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    cwj_graph_plan *plan; /* Graph: owned, not shared; NULL: cleared by the garbage collector */
    struct cwj_graph_object *graph; /* BoundGraph: owned; NULL: cleared */
    cwj_binding own; /* its cells and state */
    PyObject *made_by; /* Graph: owned: the arguments of link(), lists among them copied */
    PyObject *weakrefs;
} cwj_graph_object;

/* Makes a Graph that owns the plan; frees the plan if this fails. made_by: the arguments of link(), for _made_by(). */
PyObject *cwj_graph_new(cwj_module_state *state, cwj_graph_plan *plan, PyObject *made_by);

/* invoke.c: calls a Graph. */
PyObject *cwj_graph_invoke(PyObject *graph, PyObject *const *args, size_t nargsf,
                           PyObject *kwnames);

/* shown.c */
extern PyGetSetDef cwj_graph_getset[], cwj_bound_getset[];
PyObject *cwj_bound_repr(PyObject *bound);
PyObject *cwj_graph_repr(PyObject *graph);
/* The plan of a Graph or a BoundGraph, borrowed; NULL with RuntimeError set if the garbage collector has cleared it. */
const cwj_graph_plan *cwj_graph_plan_of(PyObject *object);

/* Adds the types to the extension module. Returns 0, or -1 with an exception set. */
int cwj_add_graph_types(PyObject *extension, cwj_module_state *state);
