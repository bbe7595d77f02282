/* run.c: runs a graph once: checks, begins the state, runs steps, and fills cells. */
#include "graph/run/binding.h"

#include "base/debug/zones.h"
#include "base/heat.h"
#include "base/raised.h"
#include "base/tuples.h"
#include "graph/run/failure.h"
#include "graph/code/guarded.h"
#include "graph/run/overwrite.h"
#include "graph/run/reference.h"
#include "graph/run/storage.h"
#include "graph/run/watch.h"
#include "graph/code/tier.h"

/* ---- lists beside the storages --------------------------------------------------- */

static int
copy_value(PyObject *from, PyObject *to)
{
    PyObject *value = cwj_storage_get(from);
    int status = value == NULL ? -1 : cwj_storage_put(to, value);
    Py_XDECREF(value);
    return status;
}

/* Call after a good run. Reads all new values before it stores one: an input's new value may be another's old one. */
static int
update_inputs(const cwj_binding *self, const cwj_graph_plan *plan)
{
    PyObject *values = PyTuple_New(plan->ninputs);
    for (int i = 0; i < plan->ninputs && values != NULL; i++) {
        int from = plan->variables[i].update;
        cwj_tuple_fill(&values, i,
                       from < 0 ? Py_NewRef(Py_None) : cwj_storage_get(self->storages[from]));
    }
    int status = values == NULL ? -1 : 0;
    for (int i = 0; i < plan->ninputs && status == 0; i++) {
        if (plan->variables[i].update >= 0) {
            status = cwj_storage_put(self->storages[i], PyTuple_GET_ITEM(values, i));
        }
    }
    Py_XDECREF(values);
    return status;
}

/* Call after a good run: copies outputs to cells that are not their storages, then updates inputs. */
static int
fill_cells(const cwj_binding *self, const cwj_graph_plan *plan)
{
    for (int i = 0; i < plan->noutputs; i++) {
        PyObject *cell = PyTuple_GET_ITEM(self->cells, plan->ninputs + i);
        PyObject *storage = self->storages[plan->outputs[i]];
        if (cell != storage && copy_value(storage, cell) < 0) {
            return -1;
        }
    }
    return plan->updates ? update_inputs(self, plan) : 0;
}

/* ---- steps ------------------------------------------------------------------------- */

static int
run_c_step(cwj_binding *self, const cwj_graph_plan *plan, const cwj_graph_plan_step *step)
{
    cwj_graph_step *run = __atomic_load_n(&self->code->steps[step->c], __ATOMIC_ACQUIRE);
    cwj_graph_call call = {(void (*)(void))run, self->state, self->storages, false};
    int failure = cwj_graph_call_code(self->code, call);
    if (failure == CWJ_GRAPH_FAULT) {
        cwj_binding_abandon(self);
        return failure;
    }
    if (failure == 0 && PyErr_Occurred()) {
        failure = step->node >= 0 ? plan->nodes[step->node].code_block : -1;
    }
    if (failure != 0) {
        cwj_blame_block(plan, failure, NULL);
    }
    return failure;
}

/* Runs a node by its perform(). If it has a C step, runs that first, and compares the results. */
static int
run_reference(cwj_binding *self, const cwj_graph_plan *plan, const cwj_graph_plan_step *step)
{
    const cwj_graph_plan_node *node = &plan->nodes[step->node];
    bool compares = step->c >= 0;
    PyObject *inputs = cwj_reference_inputs(plan, step->node, self->storages, compares);
    int failure = inputs == NULL || !compares ? 0 : run_c_step(self, plan, step);
    if (failure == 0 && cwj_reference_run(plan, step->node, inputs, self->storages, compares) < 0) {
        failure = node->code_block;
        cwj_blame_block(plan, failure, compares ? node->label : NULL);
    }
    Py_XDECREF(inputs);
    return failure;
}

static int
run_steps(cwj_binding *self, const cwj_graph_plan *plan)
{
    int failure = 0;
    for (int i = 0; i < plan->nsteps && failure == 0; i++) {
        const cwj_graph_plan_step *step = &plan->steps[i];
        bool in_python = step->c < 0 || (plan->check && step->node >= 0);
        failure = in_python ? run_reference(self, plan, step) : run_c_step(self, plan, step);
    }
    return failure;
}

/* ---- heat ----------------------------------------------------------------------------- */

/* Runs the steps. *time: estimated ns of all runs since the last timed one, with this one; 0 if it was not timed. */
static int
run_timed(cwj_binding *self, const cwj_graph_plan *plan, unsigned long long *time)
{
    *time = 0;
    if (self->code == NULL || !self->code->optimize ||
        (self->is_short && ++self->tick < CWJ_SAMPLE)) {
        return run_steps(self, plan);
    }
    unsigned long long start = tj_clock_ns();
    int failure = run_steps(self, plan);
    unsigned long long taken = tj_clock_ns() - start;
    *time = self->is_short ? taken * CWJ_SAMPLE : taken;
    self->is_short = taken < CWJ_SHORT_NS;
    self->tick = 0;
    return failure;
}

/* ---- the whole of it -------------------------------------------------------------------- */

static int
run_all(cwj_binding *self, cwj_module_state *state, const cwj_graph_plan *plan)
{
    unsigned long long time = 0;
    if (self->code != NULL && self->code->looks && cwj_graph_tell(state, self->code) < 0) {
        return -1;
    }
    int failure = plan->overwrites ? cwj_check_overwritten(plan, self->storages) : 0;
    if (failure == 0) {
        failure = cwj_binding_begin(self, plan);
    }
    if (failure == 0 && self->nwatches > 0) {
        failure = cwj_held_prepare(self, plan);
    }
    if (failure == 0) {
        failure = run_timed(self, plan, &time);
    }
    if (failure == 0) {
        cwj_held_begin(self, plan);
        failure = self->fills ? fill_cells(self, plan) : 0;
    } else {
        cwj_held_restore(self, plan);
    }
    if (time > 0 && failure == 0) {
        failure = cwj_graph_heat(state, self->code, time);
    }
    return failure;
}

/* ---- debug=True: checks the bytes around and in arrays ------------------------------------- */

/* The variable's array if its memory has zones around it: borrowed, or NULL. */
static PyArrayObject *
zoned_array(const cwj_binding *self, int v)
{
    PyObject *storage = self->storages[v];
    PyObject *object = cwj_storage_is_sound(storage) ? PyList_GET_ITEM(storage, 0) : NULL;
    bool zoned = object != NULL && PyArray_Check(object) && cwj_zones_have((PyArrayObject *)object);
    return zoned ? (PyArrayObject *)object : NULL;
}

/* Returns 0, or -1 with an exception set. */
static int
check_bounds(const cwj_binding *self, const cwj_graph_plan *plan, int v)
{
    PyArrayObject *array = zoned_array(self, v);
    ptrdiff_t offset;
    if (array == NULL || !cwj_zones_damaged(PyArray_DATA(array), &offset)) {
        return 0;
    }
    cwj_damage_raise(self->code->guard->module, plan->name,
                     PyUnicode_FromFormat("the code has written %s the array of %U: at byte %zd, "
                                          "counted from its first, which has %zd; other memory "
                                          "may be damaged, too",
                                          offset < 0 ? "in front of" : "behind",
                                          plan->variables[v].label, (Py_ssize_t)offset,
                                          (Py_ssize_t)PyArray_NBYTES(array)));
    return -1;
}

/* Checks that code has written all elements of an output. Other variables need not be complete, as a later step may
 * write to them. Returns 0, or -1 with an exception set. */
static int
check_written(const cwj_binding *self, const cwj_graph_plan *plan, int v)
{
    PyArrayObject *array = zoned_array(self, v);
    npy_intp offset;
    if (array == NULL || !cwj_zones_unwritten(array, &offset)) {
        return 0;
    }
    cwj_damage_raise(self->code->guard->module, plan->name,
                     PyUnicode_FromFormat("the code has not written all of the array of %U: "
                                          "element %zd in its memory was never written",
                                          plan->variables[v].label,
                                          offset / PyArray_ITEMSIZE(array)));
    return -1;
}

/* Runs the graph with debug=True. */
static int
run_in_zones(cwj_binding *self, cwj_module_state *state, const cwj_graph_plan *plan)
{
    PyObject *before = cwj_zones_enter(true); /* users' types may be structs */
    if (before == NULL) {
        return -1;
    }
    int failure = run_all(self, state, plan);
    cwj_zones_leave(before);
    for (int v = 0; v < plan->nvariables && failure == 0; v++) {
        failure = check_bounds(self, plan, v);
    }
    for (int i = 0; i < plan->noutputs && failure == 0; i++) {
        failure = check_written(self, plan, plan->outputs[i]);
    }
    self->faulted |= failure != 0 && PyErr_ExceptionMatches(state->fault);
    return failure;
}

/* ---- a run, with or without debug=True -------------------------------------------------- */

int
cwj_binding_run(cwj_binding *self, cwj_module_state *state, const cwj_graph_plan *plan)
{
    return self->code != NULL && self->code->guard != NULL ? run_in_zones(self, state, plan)
                                                           : run_all(self, state, plan);
}

/* ---- a run and its turn ------------------------------------------------------ */

int
cwj_binding_take_turn(cwj_binding *binding, const cwj_graph_plan *plan)
{
    const char *name = PyUnicode_AsUTF8(plan->name);
    int lost = name == NULL ? -1 : cwj_turn_take(&binding->turn, name);
    if (lost > 0) {
        cwj_binding_abandon(binding);
    }
    return lost < 0 ? -1 : 0;
}

int
cwj_binding_run_in_turn(cwj_binding *binding, cwj_module_state *state, const cwj_graph_plan *plan,
                        int *code)
{
    if (cwj_binding_take_turn(binding, plan) < 0) {
        return -1;
    }
    *code = cwj_binding_run(binding, state, plan);
    Py_XSETREF(binding->error, cwj_raised_take());
    cwj_turn_give(&binding->turn);
    return 0;
}
