/* guarded.h: calls the code of a graph; with debug=True under a guard, see base/debug/fault.h. */
#pragma once

#include "base/debug/fault.h"
#include "base/leave.h"
#include "base/watch.h"

#include "graph/code/code.h"

/* The type of code->guard. */
struct cwj_graph_guard {
    tj_lines *lines; /* owned, or NULL */
    const cwj_module_state *module;
};

/* Needs code->source and code->decl. Returns 0, or -1 with an exception set. */
int cwj_graph_guard_init(const cwj_module_state *state, cwj_graph_code *code);
void cwj_graph_guard_free(struct cwj_graph_guard *guard); /* accepts NULL */

/* A function of the code, cast, and its arguments. */
typedef struct cwj_graph_call {
    void (*run)(void);
    void *state;
    const void *second; /* storages, or a variable's number, as the function's second argument */
    bool returns_nothing;
} cwj_graph_call;

enum {
    CWJ_GRAPH_FAULT = -1 /* blocks have positive numbers */
};

/* Calls the function; returns 0 if it was left. */
static inline int
cwj_graph_call_plainly(cwj_graph_call call)
{
    int result = cwj_run_code(call.run, call.state, call.second, NULL, NULL);
    return call.returns_nothing ? 0 : result;
}

int cwj_graph_call_guarded(const cwj_graph_code *code, cwj_graph_call call);
/* Raises what a run raises whose code was left. Returns CWJ_GRAPH_FAULT. */
int cwj_graph_raise_left(const cwj_graph_code *code);

/* Returns what the function returns. After a fault under a guard, and if the code was left (base/leave.h),
 * CWJ_GRAPH_FAULT, with an exception set: the state cannot be trusted, and the caller must abandon it. */
static inline int
cwj_graph_call_code(cwj_graph_code *code, cwj_graph_call call)
{
    cwj_graph_code *outer = cwj_graph_code_running;
    cwj_graph_code_running = code;
    cwj_watch watch;
    bool watched = cwj_has_closures;
    if (watched) {
        cwj_watch_begin(&watch);
    }
    int result =
        code->guard == NULL ? cwj_graph_call_plainly(call) : cwj_graph_call_guarded(code, call);
    if (watched) {
        cwj_watch_end(&watch);
    }
    if (cwj_has_left()) {
        result = cwj_graph_raise_left(code);
    }
    cwj_graph_code_running = outer;
    return result;
}
