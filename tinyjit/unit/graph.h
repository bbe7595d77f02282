/* graph.h: what the files of the graph front end share. Internal to tinyjit.
 *
 *     declare.c          reading texts that only declare
 *     tokens.c           a text as an array of tokens, for the readers
 *     confine.c          what the statements of a text in a block must not do
 *     graph_check.c      all of these, over all texts of a graph
 *     emit_graph.c       the C text (emit_graph.h)
 *     graph.c            check, emit, compile
 */
#pragma once

#include "read/confine.h"

/* ---- graph_check.c --------------------------------------------------------- */

/* Calls visit with every text of the graph, in the order of the unit, until it
 * returns false. Texts that are absent are left out. */
bool tj_graph_each_text(const tj_graph *graph,
                        bool (*visit)(void *context, const tj_graph_text *text), void *context);
