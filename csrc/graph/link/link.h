/* link.h: declares the C side of link(). */
#pragma once

#include "graph/plan.h"

/* Adds compile_graph() to the extension module. Returns 0, or -1 with an exception set. */
int cwj_add_link(PyObject *extension);
