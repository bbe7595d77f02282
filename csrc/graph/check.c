/* check.c: check=True: what C code computed, beside the Python reference.
 *
 * A type says what counts as equal: values_eq_approx, else values_eq. Two floats
 * that are the same need not be asked about: the approximations that people write
 * divide by zero there.
 */
#include "reference.h"

#include "storage.h"

/* The first of these methods that the type has; NULL without exception: none. */
static PyObject *
find_comparison(PyObject *type)
{
    const char *const names[] = {"values_eq_approx", "values_eq"};
    for (int i = 0; i < 2; i++) {
        PyObject *method = PyObject_GetAttrString(type, names[i]);
        if (method != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
            return method;
        }
        PyErr_Clear();
    }
    return NULL;
}

static PyObject *
default_comparison(void)
{
    PyObject *module = PyImport_ImportModule("cwrapjit._equal");
    PyObject *function = module == NULL ? NULL : PyObject_GetAttrString(module, "equal");
    Py_XDECREF(module);
    return function;
}

static bool
are_same_floats(PyObject *a, PyObject *b)
{
    if (!PyFloat_Check(a) || !PyFloat_Check(b)) {
        return false;
    }
    double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return x == y || (x != x && y != y);
}

/* 1, 0, or -1 with an exception. */
static int
are_equal(PyObject *type, PyObject *computed, PyObject *expected)
{
    if (computed == expected || are_same_floats(computed, expected)) {
        return 1;
    }
    PyObject *compare = find_comparison(type);
    if (compare == NULL && !PyErr_Occurred()) {
        compare = default_comparison();
    }
    PyObject *answer =
        compare == NULL ? NULL : PyObject_CallFunctionObjArgs(compare, computed, expected, NULL);
    int equal = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(compare);
    Py_XDECREF(answer);
    return equal;
}

static int
compare_output(const cwj_plan *plan, int node, int i, PyObject *storage, PyObject *reference)
{
    const cwj_plan_node *known = &plan->nodes[node];
    PyObject *computed = cwj_storage_get(storage), *expected = cwj_storage_get(reference);
    int equal = -1;
    if (computed != NULL && expected != NULL) {
        equal = are_equal(plan->variables[known->outputs[i]].type, computed, expected);
    }
    if (equal == 0) {
        PyErr_Format(PyExc_ValueError,
                     "%U: output %d of %S is %R by its C code, but %R by perform()", plan->name, i,
                     known->label, computed, expected);
    }
    Py_XDECREF(computed);
    Py_XDECREF(expected);
    return equal > 0 ? 0 : -1;
}

int
cwj_reference_compare(const cwj_plan *plan, int node, PyObject *inputs, PyObject *const *storages)
{
    const cwj_plan_node *known = &plan->nodes[node];
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
