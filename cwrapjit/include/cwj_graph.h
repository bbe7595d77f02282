/* cwj_graph.h: the interface between the C text of a linked graph and the extension.
 *
 * Generated text includes this file after the small <Python.h>, csrc/graph/ after CPython's own. A storage is a list of
 * one object, through which C and Python exchange a value. An array of storages has one entry for each variable of the
 * graph; it is NULL for a variable that Python never sees. */
#ifndef CWJ_GRAPH_H
#define CWJ_GRAPH_H

#include <stddef.h>

typedef int cwj_graph_step(void *state, PyObject *const *storages);

/* A pointer is NULL if its function would do nothing. */
typedef struct cwj_graph_decl {
    size_t state_size; /* bytes; 0: the graph has no state, and `state` may be NULL */
    /* Runs the init code, once per unit. Returns 0, or -1 with an exception set. */
    int (*load)(void);
    /* Fills the zeroed state: stores the storages in it (struct form; borrowed, the caller keeps them alive),
     * initialises kept variables, runs the nodes' struct_init. Returns 0, or the number of the block that failed, after
     * cleaning up. */
    int (*begin)(void *state, PyObject *const *storages);
    void (*end)(void *state);
    /* Cleans up a kept output and initialises it again. Does nothing for other variables. Returns as begin does. */
    int (*renew)(void *state, int variable);
    int nsteps;
    /* Each returns 0 or the number of the block that failed. A block that leaves an exception set has failed, too. */
    cwj_graph_step *const *steps;
} cwj_graph_decl;

/* Returns a new reference to the object in a storage, or NULL with an exception set if the storage is not a list of one
 * object. */
PyObject *cwj_storage_get(PyObject *storage);
/* Stores value, or None for NULL, and releases the old object. Does not steal value. Returns 0, or -1 with an exception
 * set. */
int cwj_storage_put(PyObject *storage, PyObject *value);

#endif
