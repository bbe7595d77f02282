/* failure.c: see failure.h. */
#include "graph/run/failure.h"

#include "base/raised.h"

/* "c_code of Add(x, y), block 5 of graph" */
static PyObject *
place_block(const cwj_graph_plan *plan, int block, PyObject *checked)
{
    PyObject *text = block < 1 || block > PyTuple_GET_SIZE(plan->blocks)
                         ? NULL
                         : PyTuple_GET_ITEM(plan->blocks, block - 1);
    return block < 1 ? Py_NewRef(plan->name)
           : checked != NULL
               ? PyUnicode_FromFormat("check of %U, block %d of %U", checked, block, plan->name)
           : text == NULL || PyObject_IsTrue(text) <= 0
               ? PyUnicode_FromFormat("block %d of %U", block, plan->name)
               : PyUnicode_FromFormat("%S, block %d of %U", text, block, plan->name);
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
