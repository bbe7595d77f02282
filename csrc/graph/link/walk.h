/* walk.h: from variables to the nodes that compute them, in an order that works. */
#ifndef CWJ_GRAPH_LINK_WALK_H
#define CWJ_GRAPH_LINK_WALK_H

#include "graph/link/identity.h"
#include "graph/link/linking.h"

typedef struct cwj_walk_node {
    PyObject *node, *op;        /* owned */
    PyObject *inputs, *outputs; /* owned tuples: as the node's lists were when it was met */
    bool waiting;    /* for its inputs' nodes: meeting it again is a cycle */
    int above;       /* who waits for this one; -1: the caller */
    Py_ssize_t next; /* input to look at */
    bool done;
    bool shares; /* it has a view_map or a destroy_map: outputs may be inputs, in part or whole */
} cwj_walk_node;

/* What is known of an input. */
typedef struct cwj_walk_input {
    bool is_mutable;     /* the caller says that its value may be overwritten */
    bool is_overwritten; /* some node does */
} cwj_walk_input;

/* What became of a variable; the number of its node where a node computes it. */
enum {
    CWJ_WALK_INPUT = -2,
    CWJ_WALK_CONSTANT = -3
};

/* Zero it to begin. */
typedef struct cwj_walk {
    PyObject *inputs;  /* owned tuple, as given */
    cwj_walk_input *given; /* owned: of each of these */
    PyObject *outputs; /* owned tuple: what the caller wants, behind it what updates inputs */
    Py_ssize_t nreturned; /* how many of these the caller wants */
    PyObject *updated; /* owned tuple: the inputs that these update, in the same order */
    cwj_identity known; /* keys are in the tuples here */
    cwj_walk_node *nodes; /* owned, in the order in which they were met */
    int nnodes, capacity;
    int *order; /* owned: the nodes in the order in which they can run */
    int norder;
    PyObject *overwritten; /* owned list: variables whose memory some node overwrites, or NULL */
} cwj_walk;

/* Reads what link() was given, then the graph. Returns 0, or -1 with TypeError for what is
 * no graph and ValueError for one that cannot run. Clear walk in either case. */
int cwj_walk_graph(cwj_walk *walk, const cwj_link_options *options);
/* The same graph with other outputs, a tuple of as many: what fusion made of it. */
int cwj_walk_again(cwj_walk *walk, PyObject *outputs);
void cwj_walk_clear(cwj_walk *walk);

/* order.c: reads the nodes' view_map and destroy_map and puts them into an order in which
 * what is overwritten has been read. Returns 0, or -1 with ValueError where there is none,
 * or where something is overwritten that must not be. */
int cwj_walk_order(cwj_walk *walk);

/* given.c: what link() was given, into walk. */
int cwj_walk_read_inputs(cwj_walk *walk, PyObject *given);
int cwj_walk_meet_inputs(cwj_walk *walk); /* makes them known */
int cwj_walk_read_outputs(cwj_walk *walk, const cwj_link_options *options);
/* 1: it has a type; 0: it is no variable, as a class of variables is none; -1. */
int cwj_is_variable(PyObject *object);
/* 0 when all of a tuple are. argument: what messages call it; op: of whose node it is, or NULL. */
int cwj_check_variables(PyObject *tuple, const char *argument, PyObject *op);

#endif
