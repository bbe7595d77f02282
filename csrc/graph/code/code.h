/* code.h: declares a graph's compiled text, which all graphs with the same text share. */
#pragma once

#include "base/state.h"

#include "../../../cwrapjit/include/cwj_graph.h"

typedef struct cwj_graph_code {
    Py_ssize_t references;       /* guarded by the GIL; a running step holds one */
    tj_environment *environment; /* owned share */
    tj_unit *unit;               /* owned; NULL: only the system's compiler compiled the text */
    const cwj_graph_decl *decl;  /* inside the unit, or inside the job's code */
    cwj_graph_step **steps; /* owned: decl->nsteps of them; a new tier replaces them atomically */
    PyObject *who; /* owned str: the graph's name, for messages */
    PyObject *source; /* owned str: the generated text */
    PyObject *compiler; /* owned str: "tcc", or the command that a type or op forces */
    tj_job *job; /* owned: of the system's compiler, or NULL */
    unsigned long long heat; /* ns spent in steps */
    unsigned long long hot_at; /* the heat at which to ask for the cc tier */
    struct cwj_graph_guard *guard; /* owned: debug=True; NULL: without */
    bool fastmath;
    bool optimize;
    bool checks; /* the job only checks the text, and makes no code */
    bool stays; /* is never freed: a capsule's destructor may be in it */
    bool looks; /* each run first checks whether the job's compiler has refused the text */
} cwj_graph_code;

/* How to compile a graph. All members are borrowed. */
typedef struct cwj_graph_request {
    const tj_graph *graph;
    const tj_environment_options *environment; /* make_code.c adds libraries and symbols */
    PyObject *libraries, *library_dirs; /* tuples of str: names and folders */
    PyObject *compiler; /* str or NULL: libtcc */
    const char *who; /* the prefix of messages: "link()" */
    bool optimize, eager, fastmath, libm, debug;
    bool checks; /* debug: the system's compiler only checks the text */
} cwj_graph_request;

/* New code, after its init code has run. NULL with an exception set. Releases the GIL while compiling. */
cwj_graph_code *cwj_graph_code_new(cwj_module_state *state, const cwj_graph_request *request);
/* A new capsule that holds a share of the code, and the code of such a capsule, borrowed. NULL with an exception set. */
PyObject *cwj_graph_code_capsule(cwj_graph_code *code);
cwj_graph_code *cwj_graph_code_in(PyObject *capsule);
cwj_graph_code *cwj_graph_code_ref(cwj_graph_code *code); /* accepts NULL */
void cwj_graph_code_unref(cwj_graph_code *code); /* accepts NULL */

/* The code that this thread runs, or NULL. */
extern _Thread_local cwj_graph_code *cwj_graph_code_running;
