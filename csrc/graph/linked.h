/* linked.h: types cwrapjit.Graph, what link() returns, and cwrapjit.BoundGraph. */
#ifndef CWJ_GRAPH_LINKED_H
#define CWJ_GRAPH_LINKED_H

#include "binding.h"

typedef struct cwj_graph_object {
    PyObject_HEAD vectorcallfunc vectorcall;
    cwj_plan *plan;        /* owned, by nobody else; NULL: cleared by the garbage collector */
    cwj_binding own;       /* the graph's own cells and state */
    int *first;            /* owned: per input, the first position of the same variable */
    PyObject *input_names; /* owned tuple: an interned str per input, or None */
    PyObject *signature;   /* owned: inspect.Signature, made when asked for */
    PyObject *weakrefs;
} cwj_graph_object;

/* A Graph that owns the plan, which it also takes when it fails. A new reference or NULL. */
PyObject *cwj_graph_new(cwj_module_state *state, cwj_plan *plan);
/* A BoundGraph of graph with a tuple of storages, whose state has begun in struct form. */
PyObject *cwj_bound_new(cwj_graph_object *graph, PyObject *storages);

/* Calls a Graph (invoke.c). */
PyObject *cwj_graph_invoke(PyObject *graph, PyObject *const *args, size_t nargsf,
                           PyObject *kwnames);

/* One run in the binding's turn. What happened is in binding->error. Returns the failure code
 * in *code and 0, or -1 with an exception where there was no run (bound.c). */
int cwj_run_binding(cwj_module_state *state, const cwj_plan *plan, cwj_binding *binding, int *code);
/* The turn of a binding; returns 0, or -1 with an exception. */
int cwj_binding_enter(cwj_binding *binding, const cwj_plan *plan);

/* What a Graph says of itself (shown.c). */
extern PyGetSetDef cwj_graph_getset[];
PyObject *cwj_graph_repr(PyObject *graph);
/* Borrowed; NULL with RuntimeError after the garbage collector took the plan away. */
const cwj_plan *cwj_graph_plan(PyObject *graph);

int cwj_add_bound_type(PyObject *extension, cwj_module_state *state);

/* link(inputs, outputs, *, mode="struct", ...), a function of the extension module. */
PyObject *cwj_link(PyObject *extension, PyObject *args, PyObject *kwargs);
extern const char cwj_link_doc[];

#endif
