/* plan.h: describes a linked graph: the data that link() finds and runs need. The files of csrc/graph:
 *
 * link/     link.c        makes a Graph from what cwrapjit/graph/linking.py finds
 *           read_plan.c   reads that into a plan and a description of the C unit
 * code/     code.c        owns compiled text
 *           make_code.c   compiles it
 *           tier.c        has the system's compiler compile it, later or at once
 *           guarded.c     raises faults, with debug=True
 * run/      storage.c     lists of one object
 *           binding.c     storages and a state
 *           run.c         runs a graph on a binding
 *           watch.c       protects outputs that callers hold from the next run
 *           overwrite.c   checks inputs that a run may change
 *           turn.c        lets one thread run at a time
 *           reference.c   calls perform(), for nodes without C and for check=True
 *           failure.c     says which block failed
 * objects/  graph_object.c  types Graph and BoundGraph
 *           shown.c         their attributes and repr()
 *           invoke.c        calls a Graph
 * builtin/  C of the built-in types and ops: see builtin.h
 * plan.c    frees a plan
 * entries.c lists the functions that compiled code may call
 */
#pragma once

#include "base/arena.h"
#include "base/state.h"

#include "graph/code/code.h"

/* Objects are borrowed from cwj_graph_plan.said. Flags are int, as PyArg_ParseTuple() stores them. */
typedef struct cwj_graph_plan_variable {
    PyObject *variable;
    PyObject *type; /* variable.type */
    PyObject *label; /* str, for messages: "x", "V4", "output 1 of Add" */
    PyObject *value; /* a constant's data; NULL: no constant */
    PyObject *filter; /* the bound method that a call applies to this input; NULL: none */
    int stored; /* has a storage: inputs, constants, outputs, and values that another step reads */
    int is_output; /* of some C step */
    int fetched; /* c_extract_out reads the previous run's object */
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
    int *inputs, *outputs; /* indexes of variables */
    int params; /* the variable whose value perform() takes after its lists, or -1 */
} cwj_graph_plan_node;

/* One C function, or one node that runs in Python. */
typedef struct cwj_graph_plan_step {
    int node; /* the node that runs in Python, or that is the whole C function; else -1 */
    int c; /* index in decl->steps; -1: Python */
} cwj_graph_plan_step;

typedef struct cwj_graph_plan {
    PyObject *said; /* owned tuple from Python: holds all objects of this plan */
    PyObject *name; /* str: "graph" */
    PyObject *input_names; /* tuple: an interned str per input, or None */
    PyObject *blocks; /* tuple of str: [i] describes failure code i + 1; "": not used */
    int nvariables, nnodes, nsteps, ninputs, noutputs;
    cwj_arena arena; /* owns all arrays */
    cwj_graph_plan_variable *variables; /* the inputs come first */
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

/* The variable of a cell. Cells of outputs come after those of inputs. */
static inline int
cwj_cell_variable(const cwj_graph_plan *plan, int cell)
{
    return cell < plan->ninputs ? cell : plan->outputs[cell - plan->ninputs];
}

void cwj_graph_plan_free(cwj_graph_plan *plan); /* accepts NULL */
