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

/* A function of the code, and its arguments. */
typedef struct cwj_graph_call {
    enum {
        CWJ_CALL_LOAD,
        CWJ_CALL_STEP, /* or begin: step, state, storages */
        CWJ_CALL_RENEW, /* state, variable */
        CWJ_CALL_END /* state */
    } what;
    cwj_graph_step *step;
    void *state;
    PyObject *const *storages;
    int variable;
} cwj_graph_call;

enum {
    CWJ_GRAPH_FAULT = -1 /* blocks have positive numbers */
};

/* Calls the function; returns 0 if it was left. */
static inline int
cwj_graph_call_plainly(const cwj_graph_code *code, cwj_graph_call call)
{
    void (*run)(void) = call.what == CWJ_CALL_STEP    ? (void (*)(void))call.step
                        : call.what == CWJ_CALL_RENEW ? (void (*)(void))code->decl->renew
                        : call.what == CWJ_CALL_END   ? (void (*)(void))code->decl->end
                                                      : (void (*)(void))code->decl->load;
    if (call.what == CWJ_CALL_RENEW) {
        return cwj_run_code(run, call.state, (const void *)(intptr_t)call.variable, NULL, NULL);
    }
    int result = cwj_run_code(run, call.state, call.storages, NULL, NULL);
    return call.what == CWJ_CALL_END ? 0 : result;
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
    int result = code->guard == NULL ? cwj_graph_call_plainly(code, call)
                                     : cwj_graph_call_guarded(code, call);
    if (watched) {
        cwj_watch_end(&watch);
    }
    if (cwj_has_left()) {
        result = cwj_graph_raise_left(code);
    }
    cwj_graph_code_running = outer;
    return result;
}
