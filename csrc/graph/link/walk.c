/* walk.c: see walk.h. Depth first from the outputs; nodes know who asked for them, so that a
 * chain of any length needs no C stack. A node is placed when all that its inputs need is
 * placed; the order depends on the graph alone. Nothing but attributes is read: variable
 * .type, .owner, .name and .data; node .op, .inputs and .outputs. */
#include "graph/link/walk.h"

#include "base/errors.h"
#include "graph/link/labels.h"
#include "base/tuples.h"

static const char who[] = "link()";

/* ---- reading a node ---------------------------------------------------- */

/* The attribute of a node, which must be there. */
static PyObject *
read_part(PyObject *node, const char *name)
{
    PyObject *part = NULL;
    if (cwj_graph_attribute(node, name, &part) == 0) {
        cwj_refuse(who, PyExc_TypeError,
                   "a node of the graph (a '%s' object) has no attribute '%s'",
                   Py_TYPE(node)->tp_name, name);
    }
    return part;
}

static PyObject *
read_list(PyObject *node, const char *name)
{
    PyObject *list = read_part(node, name);
    if (list != NULL && !PyList_Check(list) && !PyTuple_Check(list)) {
        cwj_refuse(who, PyExc_TypeError,
                   "%s of a node (a '%s' object) must be a list or a tuple, not %s", name,
                   Py_TYPE(node)->tp_name, Py_TYPE(list)->tp_name);
        Py_CLEAR(list);
    }
    if (list != NULL) {
        Py_SETREF(list, PySequence_Tuple(list));
    }
    return list;
}

static int
refuse_pair(const cwj_walk_node *node, PyObject *variable, PyObject *error, const char *format)
{
    PyObject *label = cwj_node_label(node->op, node->inputs);
    PyObject *name = label == NULL ? NULL : cwj_variable_label(variable);
    if (name != NULL) {
        cwj_refuse_about(label, error, format, name, label);
        Py_DECREF(name);
    } else {
        Py_XDECREF(label);
    }
    return -1;
}

/* 1: the node computes this output; 0: it says that another one does; -1. */
static int
is_own(const cwj_walk_node *node, PyObject *output)
{
    PyObject *owner = NULL;
    int found = cwj_graph_attribute(output, "owner", &owner);
    Py_XDECREF(owner); /* the node keeps it alive where it is the same */
    return found < 0 ? -1 : owner == node->node;
}

static int
claim_output(cwj_walk *walk, int index, PyObject *output)
{
    const cwj_walk_node *node = &walk->nodes[index];
    int before = cwj_identity_get(&walk->known, output);
    if (before == CWJ_WALK_INPUT) {
        return 0;
    }
    if (before == index) {
        return refuse_pair(node, output, PyExc_ValueError, "%U is twice among the outputs of %U");
    }
    int own = is_own(node, output);
    if (own == 0) {
        refuse_pair(node, output, PyExc_ValueError,
                    "%U is among the outputs of %U, but has another owner");
    }
    return own <= 0 ? -1 : cwj_identity_put(&walk->known, output, index);
}

/* The node's outputs are its own from here on. One that is also an input stays that: the
 * C variable behind the node's result is then another one. */
static int
claim_outputs(cwj_walk *walk, int index)
{
    PyObject *outputs = walk->nodes[index].outputs;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); i++) {
        if (claim_output(walk, index, PyTuple_GET_ITEM(outputs, i)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The number of a new node, or -1. */
static int
add_node(cwj_walk *walk, PyObject *owner)
{
    int capacity = walk->capacity; /* of both */
    if (cwj_reserve(&walk->order, walk->nnodes, &capacity, sizeof(*walk->order)) < 0 ||
        cwj_reserve(&walk->nodes, walk->nnodes, &walk->capacity, sizeof(*walk->nodes)) < 0) {
        return -1;
    }
    cwj_walk_node *node = &walk->nodes[walk->nnodes];
    *node = (cwj_walk_node){.node = Py_NewRef(owner)};
    int index = walk->nnodes++; /* counted from here on, so that it is cleared */
    node->op = read_part(owner, "op");
    node->inputs = node->op == NULL ? NULL : read_list(owner, "inputs");
    node->outputs = node->inputs == NULL ? NULL : read_list(owner, "outputs");
    if (node->outputs == NULL || cwj_check_variables(node->inputs, "inputs", node->op) < 0 ||
        cwj_check_variables(node->outputs, "outputs", node->op) < 0 ||
        claim_outputs(walk, index) < 0) {
        return -1;
    }
    return index;
}

/* ---- the walk ---------------------------------------------------------- */

/* A variable that nothing computes: a constant, or a mistake. by: the node that needs it,
 * or NULL. */
static int
claim_constant(cwj_walk *walk, PyObject *variable, const cwj_walk_node *by)
{
    PyObject *data = NULL;
    int found = cwj_graph_attribute(variable, "data", &data);
    Py_XDECREF(data);
    if (found > 0) {
        return cwj_identity_put(&walk->known, variable, CWJ_WALK_CONSTANT);
    }
    if (found == 0 && by != NULL) {
        refuse_pair(by, variable, PyExc_ValueError,
                    "%U is needed by %U, but is not among the inputs");
    } else if (found == 0) {
        PyObject *label = cwj_variable_label(variable);
        cwj_refuse_about(label, PyExc_ValueError,
                         "%U is among the outputs, but neither computed nor an input", label);
    }
    return -1;
}

static int
refuse_owner(PyObject *variable, PyObject *owner)
{
    PyObject *name = cwj_variable_label(variable);
    return cwj_refuse_about(name, PyExc_TypeError,
                            "the owner of %U (a '%s' object) does not have it among its outputs",
                            name, Py_TYPE(owner)->tp_name);
}

/* Makes variable known. */
static int
meet(cwj_walk *walk, PyObject *variable, const cwj_walk_node *by)
{
    PyObject *owner = NULL;
    int found = cwj_graph_attribute(variable, "owner", &owner);
    int status = -1;
    if (found == 0) {
        PyObject *name = cwj_variable_label(variable);
        cwj_refuse_about(name, PyExc_TypeError, "%U (a '%s' object) has no attribute 'owner'", name,
                         Py_TYPE(variable)->tp_name);
    } else if (found > 0 && owner == Py_None) {
        status = claim_constant(walk, variable, by);
    } else if (found > 0) {
        int index = add_node(walk, owner);
        status = index < 0 ? -1
                 : cwj_identity_get(&walk->known, variable) == index
                     ? 0
                     : refuse_owner(variable, owner);
    }
    Py_XDECREF(owner);
    return status;
}

/* "Add(z, y) needs Mul(x, y) needs Add(z, y)"; of a long cycle, its beginning. top: the node that
 * needs `node`, which is waiting itself. */
static int
refuse_cycle(const cwj_walk *walk, int top, int node)
{
    enum {
        MOST = 9 /* behind the first */
    };
    int shown[MOST], length = 0; /* the last ones on the way up, which is the way back */
    for (int at = top; at != node; at = walk->nodes[at].above) {
        shown[length++ % MOST] = at;
    }
    bool all = length <= MOST;
    int count = all ? length + 2 : MOST + 1;
    PyObject *labels = PyTuple_New(count);
    for (int i = 0; labels != NULL && i < count; i++) {
        int at = i == 0 || i > length ? node : shown[(length - i) % MOST];
        const cwj_walk_node *each = &walk->nodes[at];
        cwj_tuple_fill(&labels, i, cwj_node_label(each->op, each->inputs));
    }
    PyObject *text = cwj_join(" needs ", labels);
    return cwj_refuse_about(text, PyExc_ValueError, "the graph has a cycle: %U%s", text,
                            all ? "" : " needs ...");
}

/* Meets variable, which node `by` needs, or nobody (-1). *top becomes its node unless that is placed. */
static int
visit(cwj_walk *walk, PyObject *variable, int by, int *top)
{
    int found = cwj_identity_get(&walk->known, variable);
    if (found == CWJ_ABSENT) {
        cwj_walk_node copy = by < 0 ? (cwj_walk_node){0} : walk->nodes[by]; /* the array may move */
        if (meet(walk, variable, by < 0 ? NULL : &copy) < 0) {
            return -1;
        }
        found = cwj_identity_get(&walk->known, variable);
    }
    if (found < 0 || walk->nodes[found].done) {
        return 0;
    }
    if (walk->nodes[found].waiting) {
        return refuse_cycle(walk, by, found);
    }
    walk->nodes[found].waiting = true;
    walk->nodes[found].above = by;
    *top = found;
    return 0;
}

static int
walk_from(cwj_walk *walk, PyObject *output)
{
    int top = -1;
    if (visit(walk, output, -1, &top) < 0) {
        return -1;
    }
    while (top >= 0) {
        cwj_walk_node *node = &walk->nodes[top];
        if (node->next < PyTuple_GET_SIZE(node->inputs)) {
            if (visit(walk, PyTuple_GET_ITEM(node->inputs, node->next++), top, &top) < 0) {
                return -1;
            }
        } else {
            node->done = true;
            walk->order[walk->norder++] = top;
            top = node->above;
        }
    }
    return 0;
}

static int
walk_outputs(cwj_walk *walk)
{
    int status = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(walk->outputs) && status == 0; i++) {
        status = walk_from(walk, PyTuple_GET_ITEM(walk->outputs, i));
    }
    return status;
}

int
cwj_walk_graph(cwj_walk *walk, const cwj_link_options *options)
{
    if (cwj_walk_read_inputs(walk, options->inputs) < 0 || cwj_walk_meet_inputs(walk) < 0 ||
        cwj_walk_read_outputs(walk, options) < 0) {
        return -1;
    }
    return walk_outputs(walk);
}

static void
clear_nodes(cwj_walk *walk)
{
    for (int i = 0; i < walk->nnodes; i++) {
        Py_XDECREF(walk->nodes[i].node);
        Py_XDECREF(walk->nodes[i].op);
        Py_XDECREF(walk->nodes[i].inputs);
        Py_XDECREF(walk->nodes[i].outputs);
    }
    walk->nnodes = walk->norder = 0;
    cwj_identity_clear(&walk->known);
}

int
cwj_walk_again(cwj_walk *walk, PyObject *outputs)
{
    if (cwj_check_variables(outputs, "outputs after fusion", NULL) < 0) {
        return -1;
    }
    clear_nodes(walk);
    Py_SETREF(walk->outputs, Py_NewRef(outputs));
    return cwj_walk_meet_inputs(walk) < 0 ? -1 : walk_outputs(walk);
}

void
cwj_walk_clear(cwj_walk *walk)
{
    clear_nodes(walk);
    Py_CLEAR(walk->inputs);
    Py_CLEAR(walk->outputs);
    Py_CLEAR(walk->updated);
    Py_CLEAR(walk->overwritten);
    PyMem_Free(walk->given);
    PyMem_Free(walk->nodes);
    PyMem_Free(walk->order);
    walk->given = NULL;
    walk->nodes = NULL;
    walk->order = NULL;
    walk->capacity = 0;
}
