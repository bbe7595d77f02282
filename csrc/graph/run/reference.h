/* reference.h: a node's perform(), its Python reference. */
#pragma once

#include "graph/plan.h"

/* Runs a node in Python: its inputs from their storages, its outputs to theirs. Returns 0,
 * or -1 with an exception. */
int cwj_reference_perform(const cwj_graph_plan *plan, int node, PyObject *const *storages);

/* A node's inputs as a new list; copy: of arrays, for what they are before its C code runs. */
PyObject *cwj_reference_inputs(const cwj_graph_plan *plan, int node, PyObject *const *storages,
                               bool copy);

/* Runs perform() on these inputs and compares what C left in the storages. Returns
 * 0, or -1 with ValueError that names the first output that differs, with both values. */
int cwj_reference_compare(const cwj_graph_plan *plan, int node, PyObject *inputs,
                          PyObject *const *storages);
