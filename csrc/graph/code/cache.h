/* cache.h: compiled graphs that are kept for the next one with the same text. */
#pragma once

#include "graph/code/code.h"

/* What makes code the same: versions, texts, compiler, options. */
PyObject *cwj_graph_cache_key(const cwj_graph_request *request);

/* A share of what is kept by the key, or *code stays NULL. Returns 0, or -1 with an exception. */
int cwj_graph_cache_find(cwj_module_state *state, PyObject *key, cwj_graph_code **code);

/* Keeps a share; the longest unused one goes when there are too many. Returns 0, or -1. */
int cwj_graph_cache_keep(cwj_module_state *state, PyObject *key, cwj_graph_code *code);
