/* blueprint.c: see blueprint.h. A spec keeps the name and Ccode_slice_eval. The blueprint keeps
 * the other arguments, and copies mutable ones. */
#include "function/blueprint.h"

#include "base/tuples.h"
#include "function/spec_parts.h"

static PyObject *freeze(PyObject *value);

static PyObject *
freeze_items(PyObject *sequence)
{
    PyObject *given = PySequence_Tuple(sequence); /* a list may change meanwhile */
    Py_ssize_t count = given == NULL ? 0 : PyTuple_GET_SIZE(given);
    PyObject *frozen = given == NULL ? NULL : PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count && frozen != NULL; i++) {
        cwj_tuple_fill(&frozen, i, freeze(PyTuple_GET_ITEM(given, i)));
    }
    Py_XDECREF(given);
    return frozen;
}

static PyObject *
freeze_dict(PyObject *dict)
{
    PyObject *items = PyDict_Items(dict), *frozen = items == NULL ? NULL : PyDict_New();
    Py_ssize_t count = items == NULL ? 0 : PyList_GET_SIZE(items);
    for (Py_ssize_t i = 0; i < count && frozen != NULL; i++) {
        PyObject *pair = PyList_GET_ITEM(items, i), *value = freeze(PyTuple_GET_ITEM(pair, 1));
        if (value == NULL || PyDict_SetItem(frozen, PyTuple_GET_ITEM(pair, 0), value) < 0) {
            Py_CLEAR(frozen);
        }
        Py_XDECREF(value);
    }
    Py_XDECREF(items);
    return frozen;
}

/* Returns the value, or a copy if it is mutable; new reference. */
static PyObject *
freeze(PyObject *value)
{
    PyObject *frozen = NULL;
    if (PyUnicode_CheckExact(value) || Py_EnterRecursiveCall(" in a definition")) {
        return PyUnicode_CheckExact(value) ? Py_NewRef(value) : NULL;
    }
    frozen = PyList_Check(value) || PyTuple_Check(value) ? freeze_items(value)
             : PyDict_Check(value)                       ? freeze_dict(value)
             : PyArray_Check(value) ? PyArray_NewCopy((PyArrayObject *)value, NPY_CORDER)
                                    : Py_NewRef(value);
    Py_LeaveRecursiveCall();
    return frozen;
}

PyObject *
cwj_blueprint_new(const cwj_arguments *arguments)
{
    PyObject *given = cwj_arguments_given(arguments), *definition = NULL, *name, *value;
    Py_ssize_t at = 0, count = 0;
    if (given != NULL && (arguments->Ccode_slice_eval == NULL ||
                          PyDict_DelItemString(given, "Ccode_slice_eval") == 0)) {
        definition = PyTuple_New(2 * PyDict_GET_SIZE(given));
    }
    while (definition != NULL && PyDict_Next(given, &at, &name, &value)) {
        cwj_tuple_fill(&definition, count++, Py_NewRef(name));
        if (definition != NULL) {
            cwj_tuple_fill(&definition, count++, freeze(value));
        }
    }
    Py_XDECREF(given);
    return definition;
}
