/* cwj_graph.h: what the C text of a linked graph and the extension agree on.
 *
 * Generated text includes it behind the small <Python.h>; csrc/graph/ behind
 * CPython's own.
 *
 * A storage is a list of one object, the channel between C and Python. The
 * arrays of storages below have one entry per variable of the graph, NULL for
 * those that never meet Python.
 */
#ifndef CWJ_GRAPH_H
#define CWJ_GRAPH_H

#include <stddef.h>

typedef int cwj_graph_step(void *state, PyObject *const *storages);

/* Functions that would do nothing are NULL. */
typedef struct cwj_graph_decl {
    size_t state_size; /* bytes; 0: there is no state, `state` may be NULL */
    /* Runs the init code, once per unit. Returns 0, or -1 with an exception. */
    int (*load)(void);
    /* Fills zeroed memory: keeps the storages (struct form; borrowed, the caller keeps
     * them alive), begins what is kept, runs the nodes' struct_init. Returns 0, or the
     * number of the block that failed, when all is cleaned up again. */
    int (*begin)(void *state, PyObject *const *storages);
    void (*end)(void *state);
    /* Cleans up a kept output and begins it anew, when the caller still has what it
     * shares memory with. As begin. Other variables: nothing. */
    int (*renew)(void *state, int variable);
    int nsteps;
    /* Each returns 0 or the number of the block that failed. An exception that is set
     * without failing counts as a failure of the block. */
    cwj_graph_step *const *steps;
} cwj_graph_decl;

/* The object in a storage: a new reference, or NULL with an exception when the storage
 * is no list of one object. */
PyObject *cwj_storage_get(PyObject *storage);
/* Puts value there, NULL as None; the old object is released. Returns 0, or -1 with an
 * exception. Does not steal. */
int cwj_storage_put(PyObject *storage, PyObject *value);

#endif
