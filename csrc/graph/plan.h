/* plan.h: a linked graph as data: what link time finds out and run time needs.
 *
 * link/     link.c        what link() comes to (cwrapjit/graph/linking.py)
 *           read_plan.c   the plan and what is compiled, from what that finds
 *
 * code/     code.c        compiled text
 *           make_code.c   from its description to that
 *           cache.c       what is kept of it, by version
 *           tier.c        the system's compiler, later or at once
 *           guarded.c     debug=True: faults
 *
 * run/      storage.c     lists of one object
 *           binding.c     storages and a state
 *           run.c         one run of them
 *           watch.c       what callers hold of the run before
 *           overwrite.c   inputs that a run may change
 *           turn.c        one thread at a time
 *           reference.c   perform(): nodes without C, and beside C code
 *           failure.c     which block failed, in words
 *
 * objects/  graph_object.c  the Python types of what link() returns, and of a binding of the caller's
 *           shown.c         what that says of itself
 *           invoke.c        calling it
 *
 * builtin/    the C of the built-in types and ops: see builtin.h
 * plan.c    what a plan owns
 * entries.c what compiled code calls of all this
 */
#pragma once

#include "base/state.h"

#include "graph/code/code.h"

/* Objects are borrowed from cwj_graph_plan.said. Flags are int, as PyArg_Parse() stores them. */
typedef struct cwj_graph_plan_variable {
    PyObject *variable;
    PyObject *type;   /* variable.type */
    PyObject *label;  /* str, for messages: "x", "V4", "output 1 of Add" */
    PyObject *value;  /* a constant's data; NULL: no constant */
    PyObject *filter; /* inputs: the bound method that a call applies; NULL: none */
    int literal;      /* a constant that stands in the text itself */
    int stored; /* has a storage: any input, constant or output, and what goes from step to step */
    int is_output; /* of some C step */
    int fetched; /* c_extract_out sees the object of the run before */
    int kept; /* its C value lives in the state */
    int overwritten; /* an input whose object runs may change */
    int update; /* of an input: the variable whose value it takes after a run, or -1 */
} cwj_graph_plan_variable;

typedef struct cwj_graph_plan_node {
    PyObject *node;
    PyObject *op;
    PyObject *label; /* str: "Add(x, y)" */
    int code_block;
    int ninputs, noutputs;
    int *inputs, *outputs; /* owned, in one block at inputs: indexes of variables */
    int params; /* the variable whose value perform() takes behind its lists, or -1 */
} cwj_graph_plan_node;

/* One C function, or one node that runs in Python. */
typedef struct cwj_graph_plan_step {
    int node; /* python: which; per_op and check: the node that the C function is; else -1 */
    int c; /* index in decl->steps; -1: Python */
} cwj_graph_plan_step;

typedef struct cwj_graph_plan {
    PyObject *said; /* owned tuple: what Python found out, all objects of this plan */
    PyObject *name; /* str: "graph" */
    PyObject *input_names; /* tuple: an interned str per input, or None */
    PyObject *blocks; /* tuple of str, what failure codes mean: [0] is code 1; "": not used */
    int nvariables, nnodes, nsteps, ninputs, noutputs;
    cwj_graph_plan_variable *variables; /* owned, as all of these; the inputs come first */
    cwj_graph_plan_node *nodes; /* in the order in which they run */
    cwj_graph_plan_step *steps;
    int *outputs; /* indexes of variables; an output may be an input or a constant */
    bool bare; /* one output: a call returns it, not a tuple */
    bool struct_form;
    bool overwrites; /* some inputs */
    bool updates; /* some inputs */
    bool check; /* every C step is one node and is compared with perform() */
    cwj_graph_code *code; /* owned share; NULL: no C step */
} cwj_graph_plan;

/* The variable of a cell: of an input, or behind those of an output. */
static inline int
cwj_cell_variable(const cwj_graph_plan *plan, int cell)
{
    return cell < plan->ninputs ? cell : plan->outputs[cell - plan->ninputs];
}

void cwj_graph_plan_free(cwj_graph_plan *plan); /* accepts NULL */
