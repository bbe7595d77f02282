/* cache.h: keeps compiled graphs for others with the same text. */
#pragma once

#include "graph/code/code.h"

/* The key under which code is kept: versions, texts, compiler, options. New reference, or NULL. */
PyObject *cwj_graph_cache_key(const cwj_graph_request *request);

/* Sets *code to a new share of the code under the key, if there is one. Returns 0, or -1 with an exception set. */
int cwj_graph_cache_find(cwj_module_state *state, PyObject *key, cwj_graph_code **code);

/* Keeps a share; drops the least recently used code if there is too much. Returns 0, or -1 with an exception set. */
int cwj_graph_cache_keep(cwj_module_state *state, PyObject *key, cwj_graph_code *code);
