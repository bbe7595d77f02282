/* reference.c: calls a node's perform(node, inputs, output_storage).
 *
 * perform() always gets new output storages that hold None, because callers may hold the objects in the graph's. If an
 * op has parameters and perform() takes a fourth argument, it gets them. */
#include "graph/run/reference.h"

#include "base/errors.h"
#include "base/tuples.h"
#include "graph/run/storage.h"

/* ---- arguments ------------------------------------------------------------ */

static PyObject *
value_of(const cwj_graph_plan *plan, int v, PyObject *const *storages)
{
    const cwj_graph_plan_variable *variable = &plan->variables[v];
    if (storages[v] != NULL) {
        return cwj_storage_get(storages[v]);
    }
    if (variable->value != NULL) {
        return Py_NewRef(variable->value);
    }
    PyErr_Format(PyExc_RuntimeError, "%S has no storage", variable->label);
    return NULL;
}

PyObject *
cwj_reference_inputs(const cwj_graph_plan *plan, int node, PyObject *const *storages, bool copy)
{
    const cwj_graph_plan_node *known = &plan->nodes[node];
    PyObject *inputs = PyList_New(0);
    for (int i = 0; i < known->ninputs && inputs != NULL; i++) {
        PyObject *value = value_of(plan, known->inputs[i], storages);
        if (value != NULL && copy && PyArray_Check(value)) {
            Py_SETREF(value, PyArray_NewCopy((PyArrayObject *)value, NPY_KEEPORDER));
        }
        cwj_list_add(&inputs, value);
    }
    return inputs;
}

static PyObject *
new_outputs(int count)
{
    PyObject *outputs = PyList_New(0);
    for (int i = 0; i < count && outputs != NULL; i++) {
        cwj_list_add(&outputs, cwj_storage_new(NULL));
    }
    return outputs;
}

/* ---- the call ------------------------------------------------------------------ */

static int
call_perform(const cwj_graph_plan *plan, const cwj_graph_plan_node *node, PyObject *inputs,
             PyObject *outputs)
{
    PyObject *parameters = node->params < 0 ? NULL : plan->variables[node->params].value;
    PyObject *done = NULL, *name = PyUnicode_InternFromString("perform");
    if (name != NULL) {
        done = PyObject_CallMethodObjArgs(node->op, name, node->node, inputs, outputs, parameters,
                                          NULL);
    }
    Py_XDECREF(name);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Checks the lists after perform(), which may have done anything to them. Returns 0, or -1 with ValueError set. */
static int
check_outputs(const cwj_graph_plan_node *node, PyObject *outputs)
{
    int sound = PyList_GET_SIZE(outputs) == node->noutputs;
    for (int i = 0; i < node->noutputs && sound; i++) {
        sound = cwj_storage_is_sound(PyList_GET_ITEM(outputs, i));
    }
    if (!sound) {
        PyErr_Format(PyExc_ValueError, "perform() of %S must leave %d lists of one object each",
                     node->label, node->noutputs);
    }
    return sound ? 0 : -1;
}

/* Calls perform(). Returns a new list of lists of one object, or NULL with an exception set. */
static PyObject *
reference_outputs(const cwj_graph_plan *plan, int node, PyObject *inputs)
{
    const cwj_graph_plan_node *known = &plan->nodes[node];
    PyObject *outputs = new_outputs(known->noutputs);
    if (outputs != NULL &&
        (call_perform(plan, known, inputs, outputs) < 0 || check_outputs(known, outputs) < 0)) {
        Py_CLEAR(outputs);
    }
    return outputs;
}

/* ---- what becomes of the results: check=True compares them with those of C code -------------------------------- */

/* Equal by the rules of cwrapjit/_equal.py: 1, 0, or -1 with an exception set. */
static int
are_equal(PyObject *type, PyObject *computed, PyObject *expected)
{
    PyObject *answer = cwj_ask_python("cwrapjit._equal", "same", "(OOO)", type, computed, expected);
    int equal = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return equal;
}

static int
compare_output(const cwj_graph_plan *plan, int node, int i, PyObject *storage, PyObject *reference)
{
    const cwj_graph_plan_node *known = &plan->nodes[node];
    PyObject *computed = cwj_storage_get(storage), *expected = cwj_storage_get(reference);
    int equal = -1;
    if (computed != NULL && expected != NULL) {
        equal = are_equal(plan->variables[known->outputs[i]].type, computed, expected);
    }
    if (equal == 0) {
        cwj_refuse_by(plan->name, PyExc_ValueError,
                      "output %d of %S is %R by its C code, but %R by perform()", i, known->label,
                      computed, expected);
    }
    Py_XDECREF(computed);
    Py_XDECREF(expected);
    return equal > 0 ? 0 : -1;
}

static int
store_output(PyObject *storage, PyObject *reference)
{
    PyObject *value = cwj_storage_get(reference);
    int status = value == NULL ? -1 : cwj_storage_put(storage, value);
    Py_XDECREF(value);
    return status;
}

int
cwj_reference_run(const cwj_graph_plan *plan, int node, PyObject *inputs, PyObject *const *storages,
                  bool compares)
{
    const cwj_graph_plan_node *known = &plan->nodes[node];
    PyObject *outputs = inputs == NULL ? NULL : reference_outputs(plan, node, inputs);
    int status = outputs == NULL ? -1 : 0;
    for (int i = 0; i < known->noutputs && status == 0; i++) {
        PyObject *storage = storages[known->outputs[i]], *made = PyList_GET_ITEM(outputs, i);
        if (storage != NULL) {
            status = compares ? compare_output(plan, node, i, storage, made)
                              : store_output(storage, made);
        }
    }
    Py_XDECREF(outputs);
    return status;
}
