/* tier.h: the optimizing tier of a graph's code. */
#ifndef CWJ_GRAPH_TIER_H
#define CWJ_GRAPH_TIER_H

#include "code.h"

/* Adds nanoseconds spent in steps; asks for the optimizing tier once there are enough.
 * May run Python code. Sets no exception. */
void cwj_graph_heat(cwj_module_state *state, cwj_graph_code *code, unsigned long long time);

/* Asks for the optimizing tier and waits, as cwj_tiers_wait(). */
int cwj_graph_wait(cwj_module_state *state, cwj_graph_code *code, double seconds);

/* "cc" when every step runs an optimizing compiler's code, else "tcc". */
const char *cwj_graph_tier(const cwj_graph_code *code);

/* Has `command` compile the text of code->source, and waits for it: code->job and
 * code->decl. Returns 0, or -1 with an exception. */
int cwj_graph_compile_with(cwj_module_state *state, cwj_graph_code *code, PyObject *command,
                           const char *who);

#endif
