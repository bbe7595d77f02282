/* constants.c: see numbering.h. Constants in the order in which nodes need them, and what a
 * type writes for one; parameters of nodes are constants that equal ones share. */
#include "graph/link/numbering.h"

#include "base/errors.h"
#include "graph/link/labels.h"

/* An attribute that the walk has seen. */
static PyObject *
read_kept(cwj_draft *draft, PyObject *object, const char *name)
{
    return cwj_linking_keep(draft->link, PyObject_GetAttrString(object, name));
}

/* What the type writes for the value, in brackets; *literal stays NULL where it does not. */
static int
ask_literal(cwj_draft *draft, PyObject *type, PyObject *value, PyObject *label, PyObject **literal)
{
    cwj_party party = {.object = type, .about = label};
    cwj_question question = {.method = "c_literal", .arguments = &value, .narguments = 1};
    PyObject *answer = NULL;
    int found = cwj_ask(draft->link, &party, &question, &answer);
    if (found <= 0) {
        return found;
    }
    if (answer != Py_None && !PyUnicode_Check(answer)) {
        found = cwj_refuse_answer(&party, question.method, PyExc_TypeError,
                                  "must return a str, not %s", Py_TYPE(answer)->tp_name);
    } else if (answer != Py_None && PyUnicode_GET_LENGTH(answer) > 0) {
        *literal = cwj_linking_keep(draft->link, PyUnicode_FromFormat("(%U)", answer));
        found = *literal == NULL ? -1 : 0;
    }
    Py_DECREF(answer);
    return found < 0 ? -1 : 0;
}

/* Appends a constant; all but variable is kept by link. Its position, or -1. */
static int
add_constant(cwj_numbering *self, PyObject *variable, PyObject *type, PyObject *value,
             PyObject *label)
{
    if (type == NULL || value == NULL || label == NULL) {
        return -1;
    }
    cwj_constant made = {.variable = variable, .type = type, .value = value, .label = label};
    if (cwj_reserve(&self->constants, self->nconstants, &self->capacity, sizeof(made)) < 0 ||
        ask_literal(self->draft, type, value, label, &made.literal) < 0) {
        return -1;
    }
    self->constants[self->nconstants] = made;
    return self->nconstants++;
}

static int
meet_constant(cwj_numbering *self, PyObject *variable)
{
    cwj_draft *draft = self->draft;
    if (cwj_identity_get(&draft->walk.known, variable) != CWJ_WALK_CONSTANT ||
        cwj_identity_get(&self->known, variable) != CWJ_ABSENT) {
        return 0;
    }
    PyObject *type = read_kept(draft, variable, "type");
    PyObject *value = type == NULL ? NULL : read_kept(draft, variable, "data");
    PyObject *label =
        value == NULL ? NULL : cwj_linking_keep(draft->link, cwj_variable_label(variable));
    int at = add_constant(self, variable, type, value, label);
    return at < 0 ? -1 : cwj_identity_put(&self->known, variable, -2 - at);
}

/* ---- parameters of nodes ----------------------------------------------- */

/* The position of a constant that holds these parameters, new or equal; -1 with an exception.
 * Those that have no hash are equal to none. */
static int
share_parameters(cwj_numbering *self, const cwj_walk_node *node, PyObject *type, PyObject *value)
{
    cwj_linking *link = self->draft->link;
    PyObject *key = PyTuple_Pack(2, type, value), *op = NULL, *label = NULL, *position = NULL;
    bool has_hash = key != NULL && PyObject_Hash(key) != -1;
    int at = -1;
    if (key == NULL || (!has_hash && !cwj_clear_expected(PyExc_TypeError, NULL))) {
        goto done;
    }
    position = has_hash ? Py_XNewRef(PyDict_GetItemWithError(self->by_value, key)) : NULL;
    if (position != NULL || PyErr_Occurred()) {
        at = position == NULL ? -1 : (int)PyLong_AsLong(position);
        goto done;
    }
    op = cwj_op_label(node->op);
    label = op == NULL ? NULL : PyUnicode_FromFormat("parameters of %U", op);
    at = add_constant(self, NULL, cwj_linking_keep(link, Py_NewRef(type)),
                      cwj_linking_keep(link, Py_NewRef(value)), cwj_linking_keep(link, label));
    position = at < 0 || !has_hash ? NULL : PyLong_FromLong(at);
    if (has_hash && (position == NULL || PyDict_SetItem(self->by_value, key, position) < 0)) {
        at = -1;
    }
done:
    Py_XDECREF(key);
    Py_XDECREF(op);
    Py_XDECREF(position);
    return at;
}

/* *at: the position of the node's parameters, or -1 where it has none. */
static int
meet_parameters(cwj_numbering *self, const cwj_walk_node *node, int *at)
{
    PyObject *type = NULL, *value = NULL, *label = NULL;
    int found = cwj_graph_attribute(node->op, "params_type", &type);
    *at = -1;
    if (found <= 0 || type == Py_None) {
        Py_XDECREF(type);
        return found < 0 ? -1 : 0;
    }
    label = cwj_node_label(node->op, node->inputs);
    cwj_party party = {.object = node->op, .about = label, .is_op = true};
    cwj_question question = {.method = "get_params", .arguments = &node->node, .narguments = 1};
    found = label == NULL ? -1 : cwj_ask(self->draft->link, &party, &question, &value);
    if (found > 0) {
        *at = share_parameters(self, node, type, value);
        found = *at < 0 ? -1 : 0;
    }
    Py_DECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(label);
    return found;
}

/* ---- all of them ------------------------------------------------------- */

int
cwj_collect_constants(cwj_numbering *self, int *params)
{
    const cwj_walk *walk = &self->draft->walk;
    for (int n = 0; n < walk->norder; n++) {
        PyObject *inputs = walk->nodes[walk->order[n]].inputs;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
            if (meet_constant(self, PyTuple_GET_ITEM(inputs, i)) < 0) {
                return -1;
            }
        }
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(walk->outputs); i++) {
        if (meet_constant(self, PyTuple_GET_ITEM(walk->outputs, i)) < 0) {
            return -1;
        }
    }
    for (int n = 0; n < walk->norder; n++) {
        if (meet_parameters(self, &walk->nodes[walk->order[n]], &params[n]) < 0) {
            return -1;
        }
    }
    return 0;
}
