/* link.h: the plan behind link(). */
#pragma once

#include "graph/plan.h"

/* Adds compile_graph() to the extension module. Returns 0, or -1. */
int cwj_add_link(PyObject *extension);
