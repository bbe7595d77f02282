/* binding.h: declares bindings: the storages and the state with which a plan runs. */
#pragma once

#include "graph/plan.h"
#include "graph/run/turn.h"

/* An output whose object the next run may touch: see watch.c. */
typedef struct cwj_held {
    int variable;
    PyObject *object; /* owned, or NULL */
    Py_ssize_t count; /* references to it after the run, with this one */
} cwj_held;

typedef struct cwj_binding {
    cwj_graph_code *code; /* owned share; NULL: no C step */
    PyObject *cells; /* owned tuple of lists that Python sees: one per input, then per output */
    int nstorages;
    PyObject **storages; /* owned, one per variable; NULL: only C uses it */
    bool has_copies; /* a list in cells is not the storage of its variable */
    bool fills; /* cells are written after a run: has_copies, or the plan has updates */
    void *state; /* owned; NULL: not begun, or not needed */
    int nwatches;
    cwj_held *watches; /* owned */
    PyObject *error; /* owned: the exception of the last run() or once(); NULL: none */
    unsigned tick; /* runs since the last timed one */
    bool is_short; /* the last timed run was short */
    bool faulted; /* a run has raised a Fault */
    cwj_turn turn;
} cwj_binding;

/* Initialises a zeroed binding. cells: a tuple of one list per input, then per output; NULL makes new ones. `who` is
 * the prefix of messages. Returns 0, or -1 with an exception set. */
int cwj_binding_init(cwj_binding *binding, const cwj_graph_plan *plan, PyObject *cells,
                     const char *who);
void cwj_binding_clear(cwj_binding *binding); /* ends the state; call it also after a failed init */
int cwj_binding_traverse(const cwj_binding *binding, visitproc visit, void *arg);

/* Takes the turn of a binding. Returns 0, or -1 with an exception set. */
int cwj_binding_take_turn(cwj_binding *binding, const cwj_graph_plan *plan);
/* Takes the turn and runs once. Returns 0, with the failure code in *code and the run's exception in binding->error; -1
 * with an exception set if it did not run. */
int cwj_binding_run_in_turn(cwj_binding *binding, cwj_module_state *state,
                            const cwj_graph_plan *plan, int *code);

/* All of these need the turn. */

/* Begins the state unless it has begun. Returns 0; or, with an exception set, the number of the block that failed, or
 * -1 for other errors. */
int cwj_binding_begin(cwj_binding *binding, const cwj_graph_plan *plan);
/* Cleans up a kept output and begins it again. Returns like cwj_binding_begin(); a failure ends the state. */
int cwj_binding_renew(cwj_binding *binding, const cwj_graph_plan *plan, int variable);
/* Runs the graph. Returns like cwj_binding_begin(). */
int cwj_binding_run(cwj_binding *binding, cwj_module_state *state, const cwj_graph_plan *plan);
/* Leaks the state, which cannot be trusted after a Fault, or after a fork during another thread's run. The next run
 * begins a new one. */
void cwj_binding_abandon(cwj_binding *binding);
