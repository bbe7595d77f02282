/* tier.h: declares the functions of a graph's cc tier. */
#pragma once

#include "graph/code/code.h"

/* Adds nanoseconds spent in steps, and asks for the cc tier once the code is hot. May run Python code. Returns 0, or -1
 * with that code's exception set. */
int cwj_graph_heat(cwj_module_state *state, cwj_graph_code *code, unsigned long long time);

/* Asks for the cc tier and waits, like cwj_tiers_wait(). */
int cwj_graph_wait(cwj_module_state *state, cwj_graph_code *code, double seconds);

/* Call before each run while code->looks: warns once if the compiler has refused the text. Returns 0, or -1 with an
 * exception set. */
int cwj_graph_tell(cwj_module_state *state, cwj_graph_code *code);

/* Why the code stays in its tcc tier, like cwj_tiers_error(). */
PyObject *cwj_graph_tier_error(cwj_module_state *state, cwj_graph_code *code, const char *who);

/* Like cwj_diagnose(), with the code's compiler. */
PyObject *cwj_graph_diagnose(cwj_module_state *state, const cwj_graph_code *code, const char *who);

/* "cc" if every step runs the system compiler's code, else "tcc". */
const char *cwj_graph_tier(const cwj_graph_code *code);

/* Compiles code->source with the compiler `command` and waits. Sets code->job and code->decl. Returns 0, or -1 with an
 * exception set. */
int cwj_graph_compile_with(cwj_module_state *state, cwj_graph_code *code, PyObject *command,
                           const char *who);
