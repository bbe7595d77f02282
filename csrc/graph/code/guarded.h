/* guarded.h: calls the code of a graph; with debug=True under a guard, see base/debug/fault.h. */
#pragma once

#include "base/debug/fault.h"
#include "base/watch.h"

#include "graph/code/code.h"

/* The type of code->guard. */
struct cwj_graph_guard {
    tj_lines *lines; /* owned, or NULL */
    PyObject *who; /* owned str: the graph's name */
    const cwj_module_state *module;
};

/* Needs code->source and code->decl. Returns 0, or -1 with an exception set. */
int cwj_graph_guard_init(const cwj_module_state *state, cwj_graph_code *code, const char *name);
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

static inline int
cwj_graph_call_plainly(const cwj_graph_code *code, cwj_graph_call call)
{
    switch (call.what) {
    case CWJ_CALL_STEP:
        return call.step(call.state, call.storages);
    case CWJ_CALL_RENEW:
        return code->decl->renew(call.state, call.variable);
    case CWJ_CALL_END:
        code->decl->end(call.state);
        return 0;
    default:
        return code->decl->load();
    }
}

int cwj_graph_call_guarded(const cwj_graph_code *code, cwj_graph_call call);

/* Returns what the function returns. With a guard also CWJ_GRAPH_FAULT, with an exception set: the state cannot be
 * trusted after a fault, and the caller must abandon it. */
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
    cwj_graph_code_running = outer;
    return result;
}
