/* failure.c: see failure.h. */
#include "graph/run/failure.h"

#include "base/raised.h"

static PyObject *
name_block(const cwj_graph_plan *plan, int block, const char *method)
{
    const cwj_graph_plan_block *known =
        block >= 1 && block <= plan->nblocks ? &plan->blocks[block - 1] : NULL;
    if (known == NULL || known->object == NULL) {
        return PyUnicode_FromString("");
    }
    if (method == NULL) {
        method = known->method != NULL ? known->method : "C code";
    }
    return PyUnicode_FromFormat("%s of %S", method, known->object);
}

PyObject *
cwj_block_text(const cwj_graph_plan *plan, int block)
{
    return name_block(plan, block, NULL);
}

/* "c_code of Add(x, y), block 5 of graph" */
static PyObject *
place_block(const cwj_graph_plan *plan, int block, const char *method)
{
    if (block < 1) {
        return Py_NewRef(plan->name);
    }
    PyObject *text = name_block(plan, block, method);
    if (text != NULL) {
        Py_SETREF(text, PyUnicode_GET_LENGTH(text) == 0
                            ? PyUnicode_FromFormat("block %d of %U", block, plan->name)
                            : PyUnicode_FromFormat("%U, block %d of %U", text, block, plan->name));
    }
    return text;
}

void
cwj_blame_block(const cwj_graph_plan *plan, int block, const char *method)
{
    PyObject *exception = cwj_raised_take();
    PyObject *place = place_block(plan, block, method);
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
