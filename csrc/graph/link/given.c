/* given.c: see walk.h. What link() was given: sequences of variables, a bare output, a
 * dict of updates. */
#include "graph/link/walk.h"

#include "base/errors.h"
#include "graph/link/labels.h"

static const char who[] = "link()";

int
cwj_is_variable(PyObject *object)
{
    PyObject *type = NULL;
    int found = PyType_Check(object) ? 0 : cwj_graph_attribute(object, "type", &type);
    Py_XDECREF(type);
    return found;
}

/* What a message calls an object that is no variable: "int", "a class". */
static const char *
kind_of(PyObject *object)
{
    return PyType_Check(object) ? "a class" : Py_TYPE(object)->tp_name;
}

int
cwj_check_variables(PyObject *tuple, const char *argument, PyObject *op)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        int found = cwj_is_variable(item);
        if (found == 0) {
            PyObject *whose = op == NULL ? PyUnicode_FromString("") : cwj_op_label(op);
            cwj_refuse_about(whose, PyExc_TypeError,
                             "%s[%zd]%s%U must be a variable, with an attribute 'type', not %s",
                             argument, i, op == NULL ? "" : " of a node of ", whose, kind_of(item));
        }
        if (found <= 0) {
            return -1;
        }
    }
    return 0;
}

/* A tuple of items from a sequence of what. */
static PyObject *
read_sequence(PyObject *given, const char *argument, const char *what)
{
    if (PyUnicode_Check(given) || PyBytes_Check(given) || !PySequence_Check(given)) {
        cwj_refuse(who, PyExc_TypeError, "%s must be a sequence of variables%s, not %s", argument,
                   what, kind_of(given));
        return NULL;
    }
    return PySequence_Tuple(given);
}

/* ---- inputs ------------------------------------------------------------ */

/* An In() of PyTensor's may say more than this one does. */
static int
check_update_of(PyObject *item)
{
    PyObject *update = NULL;
    int found = cwj_graph_attribute(item, "update", &update);
    if (found > 0 && update != Py_None) {
        found = cwj_refuse(who, PyExc_TypeError,
                           "an update of %R must be given as updates= of link()", item);
    }
    Py_XDECREF(update);
    return found < 0 ? -1 : 0;
}

/* The variable that an item of inputs means: itself, or what an In() holds. A new reference;
 * NULL with an exception. */
static PyObject *
read_input(PyObject *item, bool *is_mutable)
{
    PyObject *variable = NULL, *flag = NULL;
    int found = cwj_is_variable(item);
    *is_mutable = false;
    if (found != 0) {
        return found < 0 ? NULL : Py_NewRef(item);
    }
    if (!PyType_Check(item) && (found = cwj_graph_attribute(item, "mutable", &flag)) > 0) {
        found = cwj_graph_attribute(item, "variable", &variable);
    }
    if (found > 0) {
        found = check_update_of(item) < 0 ? -1 : PyObject_IsTrue(flag);
        *is_mutable = found > 0;
    } else if (found == 0) {
        Py_XSETREF(variable, Py_NewRef(item)); /* refused as what it is */
    }
    Py_XDECREF(flag);
    if (found < 0) {
        Py_CLEAR(variable);
    }
    return variable;
}

int
cwj_walk_read_inputs(cwj_walk *walk, PyObject *given)
{
    int single = cwj_is_variable(given);
    if (single != 0) {
        return single < 0
                   ? -1
                   : cwj_refuse(who, PyExc_TypeError,
                                "inputs must be a sequence of variables, not %s", kind_of(given));
    }
    PyObject *items = read_sequence(given, "inputs", "");
    Py_ssize_t count = items == NULL ? 0 : PyTuple_GET_SIZE(items);
    walk->inputs = items == NULL ? NULL : PyTuple_New(count);
    walk->given = cwj_allocate((size_t)count + 1, sizeof(*walk->given));
    int status = walk->inputs == NULL || walk->given == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; i < count && status == 0; i++) {
        PyObject *input = read_input(PyTuple_GET_ITEM(items, i), &walk->given[i].is_mutable);
        status = input == NULL ? -1 : PyTuple_SetItem(walk->inputs, i, input);
    }
    Py_XDECREF(items);
    return status < 0 ? -1 : cwj_check_variables(walk->inputs, "inputs", NULL);
}

int
cwj_walk_meet_inputs(cwj_walk *walk)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(walk->inputs); i++) {
        PyObject *input = PyTuple_GET_ITEM(walk->inputs, i);
        if (cwj_identity_get(&walk->known, input) != CWJ_ABSENT) {
            PyObject *label = cwj_variable_label(input);
            return cwj_refuse_about(label, PyExc_ValueError,
                                    "inputs[%zd] is %U again: a variable is an input once", i,
                                    label);
        }
        if (cwj_identity_put(&walk->known, input, CWJ_WALK_INPUT) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- outputs and updates ----------------------------------------------- */

/* A tuple of variables from a sequence of them, or from a bare one. */
static PyObject *
read_outputs(PyObject *given)
{
    int single = cwj_is_variable(given);
    if (single != 0) {
        return single < 0 ? NULL : PyTuple_Pack(1, given);
    }
    PyObject *tuple = read_sequence(given, "outputs", " or a variable");
    if (tuple != NULL && cwj_check_variables(tuple, "outputs", NULL) < 0) {
        Py_CLEAR(tuple);
    }
    return tuple;
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
        return cwj_refuse_about(label, PyExc_ValueError, "updates: %U is not among the inputs",
                                label);
    }
    return found > 0 ? 0 : -1;
}

/* Appends the updates' variables to the outputs. */
static int
read_updates(cwj_walk *walk, PyObject *given)
{
    PyObject *inputs = NULL, *variables = NULL;
    int status = -1;
    inputs = given != NULL ? PyDict_Keys(given) : PyList_New(0);
    variables = given != NULL ? PyDict_Values(given) : PyList_New(0);
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
    walk->outputs = read_outputs(options->outputs);
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
