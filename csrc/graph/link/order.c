/* order.c: see walk.h. Where some op says that it has its inputs' memory, Python finds out what
 * follows (cwrapjit/graph/order.py); here the walk takes that over. */
#include "graph/link/walk.h"

#include "base/errors.h"
#include "graph/attributes.h"
#include "base/tuples.h"

/* ---- what Python is told -------------------------------------------------- */

/* Is some node's view_map or destroy_map there and not empty? -1 with an exception. */
static int
has_maps(const cwj_walk *walk)
{
    static const char *const names[] = {"destroy_map", "view_map"};
    int found = 0;
    for (int n = 0; n < 2 * walk->norder && found == 0; n++) {
        PyObject *map = NULL;
        found = cwj_graph_attribute(walk->nodes[walk->order[n / 2]].op, names[n % 2], &map);
        found = found > 0 ? PyObject_IsTrue(map) : found;
        Py_XDECREF(map);
    }
    return found;
}

/* A tuple of (op, inputs, outputs). */
static PyObject *
list_nodes(const cwj_walk *walk)
{
    PyObject *nodes = PyTuple_New(walk->norder);
    for (int n = 0; nodes != NULL && n < walk->norder; n++) {
        const cwj_walk_node *node = &walk->nodes[walk->order[n]];
        cwj_tuple_fill(&nodes, n, PyTuple_Pack(3, node->op, node->inputs, node->outputs));
    }
    return nodes;
}

/* Which inputs the caller lends. */
static PyObject *
list_mutable(const cwj_walk *walk)
{
    Py_ssize_t count = PyTuple_GET_SIZE(walk->inputs);
    PyObject *flags = PyTuple_New(count);
    for (Py_ssize_t i = 0; flags != NULL && i < count; i++) {
        PyTuple_SET_ITEM(flags, i, PyBool_FromLong(walk->given[i].is_mutable));
    }
    return flags;
}

/* What order_nodes() returns. */
static PyObject *
ask_order(const cwj_walk *walk)
{
    return cwj_ask_python("cwrapjit.graph.order", "order_nodes", "(NONOnO)", list_nodes(walk),
                          walk->inputs, list_mutable(walk), walk->outputs, walk->nreturned,
                          walk->updated);
}

/* ---- what comes of it -------------------------------------------------------- */

/* Is all computed that the node needs? */
static bool
can_run(const cwj_walk *walk, const cwj_walk_node *node)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(node->inputs); i++) {
        int owner = cwj_identity_get(&walk->known, PyTuple_GET_ITEM(node->inputs, i));
        if (owner >= 0 && !walk->nodes[owner].done) {
            return false;
        }
    }
    return true;
}

/* The nodes at these places, in this order. 1: it is none of all nodes that works. */
static int
take_order(cwj_walk *walk, PyObject *places)
{
    int *order = cwj_allocate((size_t)walk->capacity + 1, sizeof(*order));
    int status = 0;
    if (order == NULL) {
        return -1;
    }
    for (int n = 0; n < walk->nnodes; n++) {
        walk->nodes[n].done = false;
    }
    for (int n = 0; n < walk->norder && status == 0; n++) {
        int overflow;
        PyObject *number = PyList_GET_ITEM(places, n);
        long place = PyLong_Check(number) ? PyLong_AsLongAndOverflow(number, &overflow) : -1;
        order[n] = place < 0 || place >= walk->norder ? -1 : walk->order[place];
        status =
            order[n] < 0 || walk->nodes[order[n]].done || !can_run(walk, &walk->nodes[order[n]]);
        if (status == 0) {
            walk->nodes[order[n]].done = true;
        }
    }
    int *unused = status == 0 ? walk->order : order;
    walk->order = status == 0 ? order : walk->order;
    PyMem_Free(unused);
    return status;
}

static bool
is_list(PyObject *object, Py_ssize_t count)
{
    return PyList_Check(object) && PyList_GET_SIZE(object) == count;
}

/* 1: it is another answer than one of order_nodes(). */
static int
take_answer(cwj_walk *walk, PyObject *answer)
{
    PyObject *shares, *places, *inputs, *overwritten;
    if (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != 4) {
        return 1;
    }
    shares = PyTuple_GET_ITEM(answer, 0);
    places = PyTuple_GET_ITEM(answer, 1);
    inputs = PyTuple_GET_ITEM(answer, 2);
    overwritten = PyTuple_GET_ITEM(answer, 3);
    if (!is_list(shares, walk->norder)) {
        return 1;
    }
    for (int n = 0; n < walk->norder; n++) {
        walk->nodes[walk->order[n]].shares = PyList_GET_ITEM(shares, n) == Py_True;
    }
    if (places == Py_None) {
        return 0; /* nothing is overwritten */
    }
    if (!is_list(places, walk->norder) || !is_list(inputs, PyTuple_GET_SIZE(walk->inputs)) ||
        !PyList_Check(overwritten)) {
        return 1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(walk->inputs); i++) {
        walk->given[i].is_overwritten = PyList_GET_ITEM(inputs, i) == Py_True;
    }
    Py_XSETREF(walk->overwritten, Py_NewRef(overwritten));
    return take_order(walk, places);
}

int
cwj_walk_order(cwj_walk *walk)
{
    int found = has_maps(walk);
    PyObject *answer = found > 0 ? ask_order(walk) : NULL;
    int status = found <= 0 ? found : answer == NULL ? -1 : take_answer(walk, answer);
    Py_XDECREF(answer);
    return status > 0 ? cwj_refuse("link()", PyExc_RuntimeError, "order_nodes() returned no order")
                      : status;
}
