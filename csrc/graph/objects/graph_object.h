/* graph_object.h: types cwrapjit.graph.Graph, what link() returns, and cwrapjit.graph.BoundGraph. */
#ifndef CWJ_GRAPH_OBJECTS_GRAPH_OBJECT_H
#define CWJ_GRAPH_OBJECTS_GRAPH_OBJECT_H

#include "graph/run/binding.h"

typedef struct cwj_graph_object {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    cwj_graph_plan *plan; /* owned, by nobody else; NULL: cleared by the garbage collector */
    cwj_binding own; /* the graph's own cells and state */
    PyObject *input_names; /* owned tuple: an interned str per input, or None */
    PyObject *signature; /* owned: inspect.Signature, made when asked for */
    PyObject *weakrefs;
} cwj_graph_object;

/* A Graph that owns the plan, which it also takes when it fails. A new reference or NULL. */
PyObject *cwj_graph_new(cwj_module_state *state, cwj_graph_plan *plan);
/* A BoundGraph of graph with a tuple of storages, whose state has begun in struct form. */
PyObject *cwj_bound_new(cwj_graph_object *graph, PyObject *storages);

/* Calls a Graph (invoke.c). */
PyObject *cwj_graph_invoke(PyObject *graph, PyObject *const *args, size_t nargsf,
                           PyObject *kwnames);

/* What a Graph says of itself (shown.c). */
extern PyGetSetDef cwj_graph_getset[];
PyObject *cwj_graph_repr(PyObject *graph);
/* Borrowed; NULL with RuntimeError after the garbage collector took the plan away. */
const cwj_graph_plan *cwj_graph_plan_of(PyObject *graph);

int cwj_add_bound_type(PyObject *extension, cwj_module_state *state);

/* Adds the types to the extension module. Returns 0, or -1 with an exception set. */
int cwj_add_graph_types(PyObject *extension, cwj_module_state *state);

#endif
