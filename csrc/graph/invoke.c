/* invoke.c: calling a Graph: arguments, filters, cells, a run, results.
 *
 * The whole of it is one turn: two threads that call the same graph use the same
 * cells. All arguments are filtered before the first cell changes.
 */
#include "linked.h"

#include "../errors.h"
#include "raised.h"
#include "storage.h"

enum {
    FEW = 16 /* arguments that need no memory */
};

/* ---- arguments --------------------------------------------------------------- */

/* The input of that name, or -1 with TypeError. */
static int
find_input(const cwj_graph_object *self, PyObject *name)
{
    int found = -1;
    for (int i = 0; i < self->plan->ninputs; i++) { /* usually both are interned */
        if (PyTuple_GET_ITEM(self->input_names, i) == name) {
            return i;
        }
    }
    for (int i = 0; i < self->plan->ninputs && found < 0; i++) {
        PyObject *known = PyTuple_GET_ITEM(self->input_names, i);
        if (PyUnicode_Check(known) && PyUnicode_Compare(known, name) == 0) {
            found = i;
        }
    }
    if (found < 0) {
        PyErr_Format(PyExc_TypeError, "%U(): got an unexpected keyword argument '%U'",
                     self->plan->name, name);
    }
    return found;
}

/* Different variables may have equal names. */
static bool
is_ambiguous(const cwj_graph_object *self, int input)
{
    PyObject *name = PyTuple_GET_ITEM(self->input_names, input);
    for (int i = 0; i < self->plan->ninputs; i++) {
        if (self->plan->inputs[i] != self->plan->inputs[input] &&
            PyTuple_GET_ITEM(self->input_names, i) == name) {
            return true;
        }
    }
    return false;
}

static int
bind_keywords(const cwj_graph_object *self, PyObject *const *args, PyObject *kwnames,
              PyObject **values)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        int i = find_input(self, name);
        if (i < 0) {
            return -1;
        }
        if (is_ambiguous(self, i)) {
            PyErr_Format(PyExc_TypeError,
                         "%U(): several inputs are called '%U': give them by position",
                         self->plan->name, name);
            return -1;
        }
        if (values[i] != NULL) {
            PyErr_Format(PyExc_TypeError, "%U(): got multiple values for argument '%U'",
                         self->plan->name, name);
            return -1;
        }
        values[i] = args[k];
    }
    return 0;
}

/* An input that an update has set may be left out. */
static bool
may_be_omitted(const cwj_graph_object *self, int i)
{
    const cwj_plan *plan = self->plan;
    PyObject *cell = PyTuple_GET_ITEM(self->own.cells, i);
    return plan->updates != NULL && plan->updates[i] >= 0 && cwj_storage_is_sound(cell) &&
           PyList_GET_ITEM(cell, 0) != Py_None;
}

static int
refuse_missing(const cwj_graph_object *self, int i)
{
    PyErr_Format(PyExc_TypeError, "%U(): missing argument %d, '%S'", self->plan->name, i + 1,
                 self->plan->variables[self->plan->inputs[i]].label);
    return -1;
}

/* An input that stands at several positions has one value. */
static int
join_repeated(const cwj_graph_object *self, PyObject **values)
{
    for (int i = 1; i < self->plan->ninputs; i++) {
        int first = self->first[i];
        if (first == i || values[i] == NULL || values[i] == values[first]) {
            continue;
        }
        if (values[first] != NULL) {
            PyErr_Format(
                PyExc_ValueError, "%U(): argument %d is '%S' once more, with another value",
                self->plan->name, i + 1, self->plan->variables[self->plan->inputs[i]].label);
            return -1;
        }
        values[first] = values[i];
    }
    return 0;
}

/* Borrowed values, one per input; NULL: the cell keeps what it has. */
static int
bind_arguments(const cwj_graph_object *self, PyObject *const *args, Py_ssize_t count,
               PyObject *kwnames, PyObject **values)
{
    int ninputs = self->plan->ninputs;
    if (count > ninputs) {
        PyErr_Format(PyExc_TypeError, "%U(): takes %d positional argument%s but %zd were given",
                     self->plan->name, ninputs, ninputs == 1 ? "" : "s", count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        values[i] = args[i];
    }
    if (kwnames != NULL && bind_keywords(self, args + count, kwnames, values) < 0) {
        return -1;
    }
    if (join_repeated(self, values) < 0) {
        return -1;
    }
    for (int i = 0; i < ninputs; i++) {
        if (values[self->first[i]] == NULL && !may_be_omitted(self, i)) {
            return refuse_missing(self, i);
        }
    }
    return 0;
}

/* ---- filters and cells ----------------------------------------------------------- */

/* Says in the exception that is set which argument the filter refused. */
static void
blame_argument(const cwj_plan *plan, int i)
{
    PyObject *exception = cwj_raised_take();
    PyObject *note = PyUnicode_FromFormat("in argument %d of %U, '%S'", i + 1, plan->name,
                                          plan->variables[plan->inputs[i]].label);
    if (note != NULL) {
        cwj_raised_note(exception, note);
        Py_DECREF(note);
    } else {
        PyErr_Clear();
    }
    cwj_raised_set(exception);
}

/* filter(value, strict=False, allow_downcast=None) */
static PyObject *
apply_filter(PyObject *filter, PyObject *value, PyObject *names)
{
    PyObject *arguments[4] = {NULL, value, Py_False, Py_None};
    return PyObject_Vectorcall(filter, arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
}

/* Replaces borrowed values by owned ones, up to *done. */
static int
filter_values(const cwj_graph_object *self, PyObject **values, int *done)
{
    const cwj_plan *plan = self->plan;
    PyObject *names = cwj_state_of((PyObject *)self)->filter_names;
    for (int i = 0; i < plan->ninputs; i++) {
        PyObject *filter = plan->variables[plan->inputs[i]].filter;
        if (self->first[i] != i) {
            values[i] = NULL;
        } else if (values[i] != NULL && filter == NULL) {
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
    const cwj_plan *plan = self->plan;
    PyObject *const *cells = &PyTuple_GET_ITEM(self->own.cells, plan->ninputs);
    if (plan->bare) {
        return cwj_storage_get(cells[0]);
    }
    PyObject *results = PyTuple_New(plan->noutputs);
    for (int i = 0; i < plan->noutputs && results != NULL; i++) {
        PyObject *value = cwj_storage_get(cells[i]);
        if (value == NULL) {
            Py_CLEAR(results);
        } else {
            PyTuple_SET_ITEM(results, i, value);
        }
    }
    return results;
}

/* ---- the call ------------------------------------------------------------------------ */

static PyObject *
call_with(cwj_graph_object *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames,
          PyObject **values)
{
    PyObject *results = NULL;
    int done = 0; /* values that are owned */
    if (bind_arguments(self, args, count, kwnames, values) == 0 &&
        filter_values(self, values, &done) == 0 && set_cells(self, values) == 0) {
        Py_CLEAR(self->own.error); /* a call raises: nothing is left to be asked for */
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
    if (self->plan == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "this Graph is gone: a finalizer revived it");
        return NULL;
    }
    if (self->plan->ninputs > FEW) {
        values = PyMem_Calloc((size_t)self->plan->ninputs, sizeof(*values));
        if (values == NULL) {
            return PyErr_NoMemory();
        }
    }
    Py_INCREF(op);
    if (cwj_binding_enter(&self->own, self->plan) == 0) {
        results = call_with(self, args, PyVectorcall_NARGS(nargsf), kwnames, values);
        cwj_turn_give(&self->own.turn);
    }
    Py_DECREF(op);
    if (values != few) {
        PyMem_Free(values);
    }
    return results;
}
