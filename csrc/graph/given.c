/* given.c: see walk.h. What link() was given: sequences of variables, a bare output, a
 * dict of updates. */
#include "walk.h"

#include "../errors.h"
#include "labels.h"

static const char who[] = "link()";

int
cwj_is_variable(PyObject *object)
{
    PyObject *type = NULL;
    int found = PyType_Check(object) ? 0 : cwj_attribute(object, "type", &type);
    Py_XDECREF(type);
    return found;
}

const char *
cwj_kind_of(PyObject *object)
{
    return PyType_Check(object) ? "a class" : Py_TYPE(object)->tp_name;
}

int
cwj_check_variables(PyObject *tuple, const char *argument)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        int found = cwj_is_variable(item);
        if (found == 0) {
            cwj_refuse(who, PyExc_TypeError,
                       "%s[%zd] must be a variable, with an attribute 'type', not %s", argument, i,
                       cwj_kind_of(item));
        }
        if (found <= 0) {
            return -1;
        }
    }
    return 0;
}

/* A tuple of variables from a sequence of them; alone: a bare one will do. */
static PyObject *
read_variables(PyObject *given, const char *argument, bool alone)
{
    int single = cwj_is_variable(given);
    PyObject *tuple = NULL;
    if (single < 0) {
        return NULL;
    }
    if (single && alone) {
        return PyTuple_Pack(1, given);
    }
    if (single || PyUnicode_Check(given) || PyBytes_Check(given) || !PySequence_Check(given)) {
        cwj_refuse(who, PyExc_TypeError, "%s must be a sequence of variables%s, not %s", argument,
                   alone ? " or a variable" : "", cwj_kind_of(given));
        return NULL;
    }
    tuple = PySequence_Tuple(given);
    if (tuple != NULL && cwj_check_variables(tuple, argument) < 0) {
        Py_CLEAR(tuple);
    }
    return tuple;
}

int
cwj_walk_read_inputs(cwj_walk *walk, PyObject *given)
{
    walk->inputs = read_variables(given, "inputs", false);
    if (walk->inputs == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(walk->inputs); i++) {
        PyObject *input = PyTuple_GET_ITEM(walk->inputs, i);
        if (cwj_identity_put(&walk->known, input, CWJ_WALK_INPUT) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
check_update(const cwj_walk *walk, PyObject *input, PyObject *variable)
{
    int found = cwj_is_variable(variable);
    if (found == 0) {
        return cwj_refuse(who, PyExc_TypeError, "updates: a value must be a variable, not %s",
                          Py_TYPE(variable)->tp_name);
    }
    if (found > 0 && cwj_identity_get(&walk->known, input) != CWJ_WALK_INPUT) {
        PyObject *label = cwj_variable_label(input);
        if (label != NULL) {
            cwj_refuse(who, PyExc_ValueError, "updates: %U is not among the inputs", label);
            Py_DECREF(label);
        }
        return -1;
    }
    return found > 0 ? 0 : -1;
}

/* Appends the updates' variables to the outputs. */
static int
read_updates(cwj_walk *walk, PyObject *given)
{
    PyObject *inputs = NULL, *variables = NULL;
    int status = -1;
    if (given != NULL && given != Py_None && !PyDict_Check(given)) {
        return cwj_refuse(who, PyExc_TypeError,
                          "updates must be a dict from inputs to variables, not %s",
                          Py_TYPE(given)->tp_name);
    }
    bool some = given != NULL && given != Py_None;
    inputs = some ? PyDict_Keys(given) : PyList_New(0);
    variables = some ? PyDict_Values(given) : PyList_New(0);
    if (inputs == NULL || variables == NULL) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(inputs); i++) {
        if (check_update(walk, PyList_GET_ITEM(inputs, i), PyList_GET_ITEM(variables, i)) < 0) {
            goto done;
        }
    }
    walk->updated = PyList_AsTuple(inputs);
    Py_SETREF(variables, PyList_AsTuple(variables));
    if (walk->updated != NULL && variables != NULL) {
        Py_SETREF(walk->outputs, PySequence_Concat(walk->outputs, variables));
        status = walk->outputs == NULL ? -1 : 0;
    }
done:
    Py_XDECREF(inputs);
    Py_XDECREF(variables);
    return status;
}

int
cwj_walk_read_outputs(cwj_walk *walk, const cwj_link_options *options)
{
    walk->outputs = read_variables(options->outputs, "outputs", true);
    if (walk->outputs == NULL) {
        return -1;
    }
    walk->nreturned = PyTuple_GET_SIZE(walk->outputs);
    if (read_updates(walk, options->updates) < 0) {
        return -1;
    }
    if (PyTuple_GET_SIZE(walk->outputs) == 0) {
        return cwj_refuse(who, PyExc_ValueError, "there are no outputs");
    }
    return 0;
}
