/* tier.h: the cc tier of a graph's code. */
#pragma once

#include "graph/code/code.h"

/* Adds nanoseconds spent in steps; asks for the cc tier once there are enough.
 * May run Python code. Returns 0, or -1 with an exception set: what struck that code. */
int cwj_graph_heat(cwj_module_state *state, cwj_graph_code *code, unsigned long long time);

/* Asks for the cc tier and waits, as cwj_tiers_wait(). */
int cwj_graph_wait(cwj_module_state *state, cwj_graph_code *code, double seconds);

/* Where code->looks: before a run, warns of what the compiler refuses, once. Returns 0, or -1
 * with an exception set. */
int cwj_graph_tell(cwj_module_state *state, cwj_graph_code *code);

/* Why the code stays in its tcc tier, as cwj_tiers_error(). */
PyObject *cwj_graph_tier_error(cwj_module_state *state, cwj_graph_code *code, const char *who);

/* As cwj_diagnose(). */
PyObject *cwj_graph_diagnose(cwj_module_state *state, const cwj_graph_code *code, const char *who);

/* "cc" when every step runs the system compiler's code, else "tcc". */
const char *cwj_graph_tier(const cwj_graph_code *code);

/* Has `command` compile the text of code->source, and waits for it: code->job and
 * code->decl. Returns 0, or -1 with an exception. */
int cwj_graph_compile_with(cwj_module_state *state, cwj_graph_code *code, PyObject *command,
                           const char *who);
