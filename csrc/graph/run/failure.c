/* failure.c: adds to an exception which block of a graph has failed. */
#include "graph/run/failure.h"

#include "base/raised.h"

/* A new str, "c_code of Add(x, y), block 5 of graph", or NULL. */
static PyObject *
place_block(const cwj_graph_plan *plan, int block, PyObject *checked)
{
    if (block < 1) {
        return Py_NewRef(plan->name);
    }
    if (checked != NULL) {
        return PyUnicode_FromFormat("check of %U, block %d of %U", checked, block, plan->name);
    }
    bool known = block <= PyTuple_GET_SIZE(plan->blocks);
    PyObject *text = known ? PyTuple_GET_ITEM(plan->blocks, block - 1) : Py_None;
    return PyUnicode_Check(text) && PyUnicode_GET_LENGTH(text) > 0
               ? PyUnicode_FromFormat("%U, block %d of %U", text, block, plan->name)
               : PyUnicode_FromFormat("block %d of %U", block, plan->name);
}

void
cwj_blame_block(const cwj_graph_plan *plan, int block, PyObject *checked)
{
    PyObject *exception = cwj_raised_take();
    PyObject *place = place_block(plan, block, checked);
    if (exception == NULL) {
        if (place != NULL) {
            PyErr_Format(PyExc_RuntimeError, "%U failed, but no Python exception was set", place);
        }
        Py_XDECREF(place);
        return;
    }
    cwj_raised_again(exception, place == NULL ? NULL : PyUnicode_FromFormat("in %U", place));
    Py_XDECREF(place);
}
