/* invoke.c: calls a Graph: binds arguments, filters them, sets cells, runs, and collects results.
 *
 * A call is one turn, because threads that call the same graph use the same cells. It filters all arguments before it
 * changes the first cell. */
#include "graph/objects/graph_object.h"

#include "base/bind.h"
#include "base/raised.h"
#include "graph/run/storage.h"
#include "base/tuples.h"

enum {
    FEW = 16 /* arguments whose values lie on the C stack */
};

/* ---- arguments --------------------------------------------------------------- */

/* True if another input has the same name. */
static bool
is_ambiguous(const cwj_graph_object *self, int input)
{
    PyObject *name = PyTuple_GET_ITEM(self->plan->input_names, input);
    for (int i = 0; i < self->plan->ninputs; i++) {
        if (i != input && PyTuple_GET_ITEM(self->plan->input_names, i) == name) {
            return true;
        }
    }
    return false;
}

static int
check_keywords(const cwj_graph_object *self, const cwj_signature_names *names, PyObject *kwnames)
{
    for (Py_ssize_t k = 0; kwnames != NULL && k < PyTuple_GET_SIZE(kwnames); k++) {
        int i = cwj_find_name(names, PyTuple_GET_ITEM(kwnames, k));
        if (i >= 0 && is_ambiguous(self, i)) {
            PyErr_Format(PyExc_TypeError,
                         "%U(): several inputs are called '%U': give them by position",
                         self->plan->name, PyTuple_GET_ITEM(kwnames, k));
            return -1;
        }
        if (i == -2) {
            return -1;
        }
    }
    return 0;
}

static void
refuse_arguments(const void *owner, PyObject *text)
{
    PyErr_Format(PyExc_TypeError, "%U(): %U", ((const cwj_graph_object *)owner)->plan->name, text);
}

/* True if the call may omit an input because an update has set it. */
static bool
may_be_omitted(const cwj_graph_object *self, int i)
{
    const cwj_graph_plan *plan = self->plan;
    PyObject *cell = PyTuple_GET_ITEM(self->own.cells, i);
    return plan->variables[i].update >= 0 && cwj_storage_is_sound(cell) &&
           PyList_GET_ITEM(cell, 0) != Py_None;
}

/* Fills values, borrowed, one per input; NULL: the cell keeps its object. Returns 0, or -1 with an exception set. */
static int
bind_arguments(const cwj_graph_object *self, PyObject *const *args, Py_ssize_t count,
               PyObject *kwnames, PyObject **values)
{
    const cwj_graph_plan *plan = self->plan;
    int ninputs = plan->ninputs;
    cwj_signature_names names = {&PyTuple_GET_ITEM(self->plan->input_names, 0),
                                 sizeof(PyObject *),
                                 ninputs,
                                 0,
                                 ninputs,
                                 refuse_arguments,
                                 self,
                                 0};
    if (check_keywords(self, &names, kwnames) < 0 ||
        cwj_bind(&names, args, count, kwnames, values) < 0) {
        return -1;
    }
    for (int i = 0; i < ninputs; i++) {
        if (values[i] == NULL && !may_be_omitted(self, i)) {
            return cwj_refuse_missing(&names, i, plan->variables[i].label);
        }
    }
    return 0;
}

/* ---- filters and cells ----------------------------------------------------------- */

/* Adds to the current exception which argument the filter refused. */
static void
blame_argument(const cwj_graph_plan *plan, int i)
{
    PyObject *exception = cwj_raised_take();
    cwj_raised_again(exception, PyUnicode_FromFormat("in argument %d of %U, '%S'", i + 1,
                                                     plan->name, plan->variables[i].label));
}

/* filter(value, strict=False, allow_downcast=None) */
static PyObject *
apply_filter(PyObject *filter, PyObject *value, PyObject *names)
{
    PyObject *arguments[4] = {NULL, value, Py_False, Py_None};
    return PyObject_Vectorcall(filter, arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
}

/* Filters values. The first *done of them are then owned, even if it fails. Returns 0, or -1 with an exception set. */
static int
filter_values(const cwj_graph_object *self, PyObject **values, int *done)
{
    const cwj_graph_plan *plan = self->plan;
    PyObject *names = cwj_state_of((PyObject *)self)->filter_names;
    for (int i = 0; i < plan->ninputs; i++) {
        PyObject *filter = plan->variables[i].filter;
        if (values[i] != NULL && filter == NULL) {
            Py_INCREF(values[i]);
        } else if (values[i] != NULL) {
            values[i] = apply_filter(filter, values[i], names);
            if (values[i] == NULL) {
                blame_argument(plan, i);
                return -1;
            }
        }
        *done = i + 1;
    }
    return 0;
}

static int
set_cells(const cwj_graph_object *self, PyObject *const *values)
{
    for (int i = 0; i < self->plan->ninputs; i++) {
        if (values[i] != NULL &&
            cwj_storage_put(PyTuple_GET_ITEM(self->own.cells, i), values[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- results ----------------------------------------------------------------------- */

static PyObject *
collect_results(const cwj_graph_object *self)
{
    const cwj_graph_plan *plan = self->plan;
    PyObject *const *cells = &PyTuple_GET_ITEM(self->own.cells, plan->ninputs);
    if (plan->bare) {
        return cwj_storage_get(cells[0]);
    }
    PyObject *results = PyTuple_New(plan->noutputs);
    for (int i = 0; i < plan->noutputs && results != NULL; i++) {
        cwj_tuple_fill(&results, i, cwj_storage_get(cells[i]));
    }
    return results;
}

/* ---- the call ------------------------------------------------------------------------ */

static PyObject *
call_with(cwj_graph_object *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames,
          PyObject **values)
{
    PyObject *results = NULL;
    int done = 0; /* values that are owned, from the first on */
    if (bind_arguments(self, args, count, kwnames, values) == 0 &&
        filter_values(self, values, &done) == 0 && set_cells(self, values) == 0) {
        Py_CLEAR(self->own.error); /* of an earlier run(); a call raises its own */
        if (cwj_binding_run(&self->own, cwj_state_of((PyObject *)self), self->plan) == 0) {
            results = collect_results(self);
        }
    }
    for (int i = 0; i < done; i++) {
        Py_XDECREF(values[i]);
    }
    return results;
}

PyObject *
cwj_graph_invoke(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    cwj_graph_object *self = (cwj_graph_object *)op;
    PyObject *few[FEW] = {NULL}, **values = few, *results = NULL;
    if (cwj_graph_plan_of(op) == NULL) {
        return NULL;
    }
    if (self->plan->ninputs > FEW) {
        values = cwj_allocate((size_t)self->plan->ninputs, sizeof(*values));
        if (values == NULL) {
            return NULL;
        }
    }
    Py_INCREF(op);
    if (cwj_binding_take_turn(&self->own, self->plan) == 0) {
        results = call_with(self, args, PyVectorcall_NARGS(nargsf), kwnames, values);
        cwj_turn_give(&self->own.turn);
    }
    Py_DECREF(op);
    if (values != few) {
        PyMem_Free(values);
    }
    return results;
}
