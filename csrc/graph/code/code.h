/* code.h: the compiled text of a graph, shared by all that link to the same one. */
#pragma once

#include "base/state.h"

#include "../../../cwrapjit/include/cwj_graph.h"

typedef struct cwj_graph_code {
    Py_ssize_t references;       /* guarded by the GIL; a running step holds one */
    tj_environment *environment; /* owned share */
    tj_unit *unit;               /* owned; NULL: the system's compiler alone made it */
    const cwj_graph_decl *decl;  /* inside the unit, or inside the job's code */
    cwj_graph_step **steps; /* owned: decl->nsteps of them; a new tier replaces them atomically */
    PyObject *source; /* owned str: the generated text */
    PyObject *compiler; /* owned str: "tcc", or the command that a type or op forces */
    tj_job *job; /* owned: the cc tier, or NULL */
    unsigned long long heat; /* ns spent in steps */
    unsigned long long hot_at; /* the heat at which the cc tier is asked for */
    struct cwj_graph_guard *guard; /* owned: debug=True; NULL: without */
    bool fastmath;
    bool optimize;
    bool checks; /* the job brings no code */
    bool stays; /* for good: a capsule's destructor may be in it */
    bool looks; /* each run looks first whether the job's compiler has refused the text */
} cwj_graph_code;

/* How to compile a description: all borrowed. */
typedef struct cwj_graph_request {
    const tj_graph *graph;
    const tj_environment_options *environment; /* the libraries and what csrc/ offers are
                                                  filled in by make_code.c */
    PyObject *libraries, *library_dirs; /* tuples of str: names and folders */
    PyObject *compiler; /* str or NULL: libtcc */
    PyObject
        *versions; /* a tuple: what all parties' c_code_cache_version() said, all texts, and what
                           goes into the environment; NULL: never cached */
    const char *who; /* begins messages: "link()" */
    bool optimize, eager, fastmath, debug;
    bool checks; /* debug: the system's compiler only looks at the text */
} cwj_graph_request;

/* New code, or a share of the same text with the same versions and the same options.
 * Its init code has run. NULL with an exception. Releases the GIL while compiling. */
cwj_graph_code *cwj_graph_code_get(cwj_module_state *state, const cwj_graph_request *request);
cwj_graph_code *cwj_graph_code_ref(cwj_graph_code *code); /* accepts NULL */
void cwj_graph_code_unref(cwj_graph_code *code); /* accepts NULL */

/* The code that runs in this thread; NULL: none. */
extern _Thread_local cwj_graph_code *cwj_graph_code_running;
