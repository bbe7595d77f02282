/* walk.h: from variables to the nodes that compute them, in an order that works. */
#ifndef CWJ_GRAPH_WALK_H
#define CWJ_GRAPH_WALK_H

#include "identity.h"
#include "plan.h"

typedef struct cwj_walk_node {
    PyObject *node, *op;        /* owned */
    PyObject *inputs, *outputs; /* owned tuples: as the node's lists were when it was met */
    bool waiting; /* for its inputs' nodes: meeting it again is a cycle */
    bool done;
} cwj_walk_node;

/* What became of a variable; the number of its node where a node computes it. */
enum {
    CWJ_WALK_INPUT = -2,
    CWJ_WALK_CONSTANT = -3
};

/* Zero it to begin. */
typedef struct cwj_walk {
    PyObject *inputs;  /* owned tuple, as given: a variable may be there twice */
    PyObject *outputs; /* owned tuple: what the caller wants, behind it what updates inputs */
    Py_ssize_t nreturned; /* how many of these the caller wants */
    PyObject *updated; /* owned tuple: the inputs that these update, in the same order */
    cwj_identity known; /* keys are in the tuples here */
    cwj_walk_node *nodes; /* owned, in the order in which they were met */
    int nnodes, capacity;
    int *order; /* owned: the nodes in the order in which they can run */
    int norder;
} cwj_walk;

/* Reads what link() was given, then the graph. Returns 0, or -1 with TypeError for what is
 * no graph and ValueError for one that cannot run. Clear walk in either case. */
int cwj_walk_graph(cwj_walk *walk, const cwj_link_options *options);
/* The same graph with other outputs, a tuple of as many: what fusion made of it. */
int cwj_walk_again(cwj_walk *walk, PyObject *outputs);
void cwj_walk_clear(cwj_walk *walk);

/* given.c: what link() was given, into walk. */
int cwj_walk_read_inputs(cwj_walk *walk, PyObject *given);
int cwj_walk_read_outputs(cwj_walk *walk, const cwj_link_options *options);
/* 1: it has a type; 0: it is no variable, as a class of variables is none; -1. */
int cwj_is_variable(PyObject *object);
/* What a message calls an object that is no variable: "int", "a class". */
const char *cwj_kind_of(PyObject *object);
/* 0 when all of a tuple are. argument: what messages call it. */
int cwj_check_variables(PyObject *tuple, const char *argument);

#endif
