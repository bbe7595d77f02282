/* graph.h: declarations that the files of the graph front end share. Internal to tinyjit.
 *
 *     declare.c          parses texts that only declare
 *     tokens.c           stores a text as an array of tokens
 *     confine.c          checks the statements of a text in a block
 *     graph_check.c      makes all checks, on all texts of a graph
 *     emit_graph.c       writes the C text (emit_graph.h)
 *     graph.c            checks, emits and compiles */
#pragma once

#include "read/confine.h"

/* ---- graph_check.c --------------------------------------------------------- */

/* Calls visit with every text of the graph, in the order of the unit, until it returns false. Skips absent texts. */
bool tj_graph_each_text(const tj_graph *graph,
                        bool (*visit)(void *context, const tj_graph_text *text), void *context);
