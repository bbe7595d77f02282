/* compare.c: check=True: what C code computed, beside the Python reference. What counts as equal
 * is said in cwrapjit/_equal.py. */
#include "graph/run/reference.h"

#include "base/errors.h"

/* 1, 0, or -1 with an exception. */
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

int
cwj_reference_compare(const cwj_graph_plan *plan, int node, PyObject *inputs,
                      PyObject *const *storages)
{
    const cwj_graph_plan_node *known = &plan->nodes[node];
    PyObject *outputs = cwj_reference_outputs(plan, node, inputs);
    int status = outputs == NULL ? -1 : 0;
    for (int i = 0; i < known->noutputs && status == 0; i++) {
        PyObject *storage = storages[known->outputs[i]];
        if (storage != NULL) {
            status = compare_output(plan, node, i, storage, PyList_GET_ITEM(outputs, i));
        }
    }
    Py_XDECREF(outputs);
    return status;
}
