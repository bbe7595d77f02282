/* binding.h: storages and a state: what a plan needs to run. */
#pragma once

#include "graph/plan.h"
#include "graph/run/turn.h"

/* An output whose object matters to the next run. */
typedef struct cwj_held {
    int variable;
    PyObject *object; /* owned, or NULL */
    Py_ssize_t count; /* references to it, this one included, when the run was over */
} cwj_held;

typedef struct cwj_binding {
    cwj_graph_code *code; /* owned share; NULL: no C step */
    PyObject *cells;      /* owned tuple of lists, as given: one per input, then one per output */
    int nstorages;
    PyObject **storages; /* owned, one per variable; NULL: it never meets Python */
    bool has_copies;     /* some list of cells is not the storage of its variable */
    bool fills;          /* some cell is written after a run: that, or updates */
    void *state;         /* owned; NULL: not begun, or none is needed */
    int nwatches;
    cwj_held *watches;  /* owned */
    PyObject *error;     /* owned: the exception of the last run; NULL: it went well */
    unsigned tick;       /* runs since one was timed */
    bool is_short;       /* the last timed run was */
    bool faulted;        /* some run had a Fault */
    cwj_turn turn;
} cwj_binding;

/* Fills zeroed memory. cells: a tuple of one storage per input, then per output; NULL:
 * new ones. `who` begins messages. Returns 0, or -1 with TypeError or ValueError. */
int cwj_binding_init(cwj_binding *binding, const cwj_graph_plan *plan, PyObject *cells,
                     const char *who);
void cwj_binding_clear(cwj_binding *binding); /* ends the state; also after a failed init */
int cwj_binding_traverse(const cwj_binding *binding, visitproc visit, void *arg);

/* Takes the turn of a binding; returns 0, or -1 with an exception. */
int cwj_binding_take_turn(cwj_binding *binding, const cwj_graph_plan *plan);
/* One run in the binding's turn. What happened is in binding->error. Returns the failure code
 * in *code and 0, or -1 with an exception where there was no run. */
int cwj_binding_run_in_turn(cwj_binding *binding, cwj_module_state *state,
                            const cwj_graph_plan *plan, int *code);

/* All of these in the caller's turn. */

/* Begins the state unless it has begun. Returns 0, or the number of the block that failed,
 * or -1 where it was none, with an exception set. */
int cwj_binding_begin(cwj_binding *binding, const cwj_graph_plan *plan);
/* Begins a kept output anew. As begin; a failure has ended the state. */
int cwj_binding_renew(cwj_binding *binding, const cwj_graph_plan *plan, int variable);
/* Runs all steps. As begin. */
int cwj_binding_run(cwj_binding *binding, cwj_module_state *state, const cwj_graph_plan *plan);
/* After a fork in the middle of another thread's run: nothing of the state can be trusted,
 * so it is left alone, and the next run begins another. */
void cwj_binding_abandon(cwj_binding *binding);
