/* reference.h: calls perform() of nodes, and compares C code with it. */
#pragma once

#include "graph/plan.h"

/* A new list of a node's inputs, or NULL. copy: copies arrays, as the node's C code may change them. */
PyObject *cwj_reference_inputs(const cwj_graph_plan *plan, int node, PyObject *const *storages,
                               bool copy);

/* Runs perform() on these inputs (NULL: an exception is set), and stores its outputs, or compares them with those that
 * C code has stored. Returns 0, or -1 with an exception set: ValueError names the first output that differs, with both
 * values. */
int cwj_reference_run(const cwj_graph_plan *plan, int node, PyObject *inputs,
                      PyObject *const *storages, bool compares);
