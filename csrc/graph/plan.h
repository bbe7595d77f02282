/* plan.h: a linked graph as data: what link time finds out and run time needs.
 *
 *     given.c      what link() was given
 *     walk.c       variables and nodes, read by attribute, in an order that works
 *     number.c     each variable's number, name and kind
 *     constants.c  constants of the graph, parameters of nodes
 *     methods.c    asking a type or an op for C text; what is wrong with an answer
 *     operations.c the texts of nodes, and which run in Python
 *     names.c      what template ops call their variables
 *     steps.c      which nodes run as one C function; what variables are there
 *     values.c     the texts of variables
 *     settings.c   headers, libraries, support code, compilers, versions of all parties
 *     arguments.c  the words of c_compile_args
 *     plan.c       the whole of it, on one screen
 *     identity.c   a table by identity
 *     labels.c     what messages and C call all that
 *
 *     link.c       the arguments of link()
 *     code.c       compiled text
 *     cache.c      what is kept of it, by version
 *     tier.c       the optimizing compiler, later or at once
 *     storage.c    lists of one object
 *     binding.c    storages and a state
 *     run.c        one run of them; what callers hold of the run before
 *     turn.c       one thread at a time
 *     reference.c  perform(): nodes without C
 *     check.c      perform() beside the C code
 *     failure.c    which block failed, in words
 *     raised.c     the exception that is set, and its notes
 *     linked.c     the Python type of what link() returns
 *     shown.c      what that says of itself
 *     invoke.c     calling it
 *     bound.c      the Python type of a binding of the caller's
 */
#ifndef CWJ_PLAN_H
#define CWJ_PLAN_H

#include "../state.h"

#include "code.h"

typedef struct cwj_plan_variable {
    PyObject *variable; /* owned */
    PyObject *type;     /* owned: variable.type */
    PyObject *label;    /* owned str, for messages: "x", "V4", "output 1 of Add" */
    PyObject *value;    /* owned: a constant's data; NULL: no constant */
    PyObject *filter;   /* owned, inputs: the bound method that a call applies; NULL: none */
    bool literal;       /* a constant that stands in the text itself */
    bool
        stored; /* has a storage: an input, a constant, an output, or what goes from step to step */
    bool is_output; /* of some C step */
    bool fetched; /* c_extract_out sees the object of the run before */
    bool kept; /* its C value lives in the state */
} cwj_plan_variable;

typedef struct cwj_plan_node {
    PyObject *node; /* owned */
    PyObject *op; /* owned */
    PyObject *label; /* owned str: "Add(x, y)" */
    int code_block;
    int ninputs, noutputs;
    int *inputs, *outputs; /* owned, in one block at inputs: indexes of variables */
    int params; /* the variable whose value is what op.get_params() said, or -1 */
} cwj_plan_node;

/* One C function, or one node that runs in Python. */
typedef struct cwj_plan_step {
    int node; /* python: which; per_op and check: the node that the C function is; else -1 */
    int c; /* index in decl->steps; -1: Python */
} cwj_plan_step;

/* What a failure code means. */
typedef struct cwj_plan_block {
    PyObject *object; /* borrowed: the label of its variable or node; NULL: number not used */
    const char *method; /* static: "c_extract", "c_code" ... */
} cwj_plan_block;

typedef struct cwj_plan {
    Py_ssize_t references; /* guarded by the GIL */
    PyObject *name; /* owned str: "graph" */
    int nvariables, nnodes, nsteps, nblocks, ninputs, noutputs;
    cwj_plan_variable *variables; /* owned, as all of these */
    cwj_plan_node *nodes; /* in the order in which they run */
    cwj_plan_step *steps;
    cwj_plan_block *blocks; /* blocks[n - 1] is block n */
    int *inputs, *outputs; /* indexes of variables; an output may be an input or a constant */
    int *updates; /* ninputs of them: the variable whose value the input takes after a run, or -1 */
    bool bare; /* one output: a call returns it, not a tuple */
    bool struct_form;
    bool check; /* every C step is one node and is compared with perform() */
    cwj_graph_code *code; /* owned share; NULL: no C step */
} cwj_plan;

/* What link() was given; borrowed. */
typedef struct cwj_link_options {
    PyObject *inputs; /* any sequence of variables */
    PyObject *outputs; /* a variable, or a sequence of them */
    PyObject *updates; /* a dict, or NULL */
    PyObject *name; /* str */
    bool struct_form, per_op, validate, check;
    bool python; /* nodes without C code run their perform() */
    bool optimize; /* else libtcc's code for good */
    bool eager, fastmath;
} cwj_link_options;

/* Walks, asks, describes, compiles. NULL with an exception that names the type or op,
 * the method and the line. */
cwj_plan *cwj_plan_new(cwj_module_state *state, const cwj_link_options *options);
cwj_plan *cwj_plan_ref(cwj_plan *plan);
void cwj_plan_unref(cwj_plan *plan); /* accepts NULL */
int cwj_plan_traverse(cwj_plan *plan, visitproc visit,
                      void *arg); /* by the only owner, else nothing */

#endif
