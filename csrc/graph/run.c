/* run.c: one run of a graph: its steps, and what comes before and behind them.
 *
 * What a caller got must not change under him. Two kinds of outputs could: those
 * whose code takes up the object of the run before (fetched), and those whose C
 * value lives on in the state and shares memory with what went to Python (kept).
 * Both are found by counting references: an object that is held by more than the
 * graph itself is not given to the code again.
 */
#include "binding.h"

#include "failure.h"
#include "reference.h"
#include "storage.h"
#include "tier.h"

#include <time.h>

/* ---- outputs of the run before ------------------------------------------------ */

/* True for objects that never change: nobody minds who else has one. */
static bool
is_constant(PyObject *object)
{
    return object == Py_None || PyFloat_Check(object) || PyLong_Check(object) ||
           PyComplex_Check(object) || PyUnicode_Check(object) || PyBytes_Check(object) ||
           (PyArray_IsScalar(object, Generic) && !PyArray_IsScalar(object, Void));
}

/* Takes an object that others hold out of its storage; it stays in watch->object, to be
 * put back should the run fail. */
static int
hide_fetched(cwj_watch *watch, PyObject *storage)
{
    if (!cwj_storage_is_sound(storage)) {
        return 0; /* the code that looks there says so, by the number of its block */
    }
    PyObject *object = PyList_GET_ITEM(storage, 0);
    if (object == Py_None || Py_REFCNT(object) == 1) {
        return 0;
    }
    watch->object = Py_NewRef(object);
    return cwj_storage_put(storage, NULL);
}

/* Begins a kept output anew when its object got more holders since the last run. */
static int
renew_kept(cwj_binding *self, const cwj_plan *plan, cwj_watch *watch, PyObject *storage)
{
    PyObject *object = watch->object;
    if (object == NULL) {
        return 0;
    }
    int gone = !cwj_storage_is_sound(storage) || PyList_GET_ITEM(storage, 0) != object;
    bool shared = Py_REFCNT(object) > watch->count - gone;
    watch->object = NULL;
    Py_DECREF(object);
    return shared ? cwj_binding_renew(self, plan, watch->variable) : 0;
}

static int
prepare_outputs(cwj_binding *self, const cwj_plan *plan)
{
    int failure = 0;
    for (int i = 0; i < self->nwatches && failure == 0; i++) {
        cwj_watch *watch = &self->watches[i];
        PyObject *storage = self->storages[watch->variable];
        failure = plan->variables[watch->variable].fetched ? hide_fetched(watch, storage)
                                                           : renew_kept(self, plan, watch, storage);
    }
    return failure;
}

/* After a good run: remembers what C still holds of an output. */
static void
watch_outputs(cwj_binding *self, const cwj_plan *plan)
{
    for (int i = 0; i < self->nwatches; i++) {
        cwj_watch *watch = &self->watches[i];
        PyObject *storage = self->storages[watch->variable];
        Py_CLEAR(watch->object);
        if (plan->variables[watch->variable].fetched || !cwj_storage_is_sound(storage)) {
            continue;
        }
        PyObject *object = PyList_GET_ITEM(storage, 0);
        if (Py_REFCNT(object) > 1 && !is_constant(object)) {
            watch->object = Py_NewRef(object);
            watch->count = Py_REFCNT(object);
        }
    }
}

/* After a failure: fetched outputs get their objects back. */
static void
restore_outputs(cwj_binding *self, const cwj_plan *plan)
{
    for (int i = 0; i < self->nwatches; i++) {
        cwj_watch *watch = &self->watches[i];
        PyObject *storage = self->storages[watch->variable], *object = watch->object;
        if (!plan->variables[watch->variable].fetched || object == NULL) {
            continue;
        }
        watch->object = NULL;
        if (cwj_storage_is_sound(storage) && PyList_GET_ITEM(storage, 0) == Py_None) {
            cwj_storage_put(storage, object);
        }
        Py_DECREF(object);
    }
}

/* ---- lists beside the storages --------------------------------------------------- */

static int
copy_value(PyObject *from, PyObject *to)
{
    PyObject *value = cwj_storage_get(from);
    int status = value == NULL ? -1 : cwj_storage_put(to, value);
    Py_XDECREF(value);
    return status;
}

/* Where one input was given several lists, they must agree. */
static int
compare_inputs(const cwj_binding *self, const cwj_plan *plan)
{
    for (int i = 0; self->has_copies && i < plan->ninputs; i++) {
        PyObject *cell = PyTuple_GET_ITEM(self->cells, i);
        PyObject *storage = self->storages[plan->inputs[i]];
        if (cell == storage || plan->variables[plan->inputs[i]].value != NULL) {
            continue;
        }
        if (!cwj_storage_is_sound(cell) || !cwj_storage_is_sound(storage)) {
            return cwj_storage_refuse(cwj_storage_is_sound(cell) ? storage : cell);
        }
        if (PyList_GET_ITEM(cell, 0) != PyList_GET_ITEM(storage, 0)) {
            PyErr_Format(PyExc_ValueError, "%U: input %d is %U once more, with another value",
                         plan->name, i + 1, plan->variables[plan->inputs[i]].label);
            return -1;
        }
    }
    return 0;
}

/* After a good run. All updates happen at once: one input's new value may be what another
 * one had in this run. */
static int
update_inputs(const cwj_binding *self, const cwj_plan *plan)
{
    int status = 0;
    PyObject **values = PyMem_Calloc((size_t)plan->ninputs + 1, sizeof(*values)); /* owned */
    if (values == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < plan->ninputs && status == 0; i++) {
        if (plan->updates[i] >= 0) {
            values[i] = cwj_storage_get(self->storages[plan->updates[i]]);
            status = values[i] == NULL ? -1 : 0;
        }
    }
    for (int i = 0; i < plan->ninputs && status == 0; i++) {
        if (plan->updates[i] >= 0) {
            status = cwj_storage_put(self->storages[plan->inputs[i]], values[i]);
        }
    }
    for (int i = 0; i < plan->ninputs; i++) {
        Py_XDECREF(values[i]);
    }
    PyMem_Free(values);
    return status;
}

/* After a good run: outputs whose list is not their storage, then updates. */
static int
fill_cells(const cwj_binding *self, const cwj_plan *plan)
{
    for (int i = 0; i < plan->noutputs; i++) {
        PyObject *cell = PyTuple_GET_ITEM(self->cells, plan->ninputs + i);
        PyObject *storage = self->storages[plan->outputs[i]];
        if (cell != storage && copy_value(storage, cell) < 0) {
            return -1;
        }
    }
    return plan->updates == NULL ? 0 : update_inputs(self, plan);
}

/* ---- steps ------------------------------------------------------------------------- */

static int
run_c_step(cwj_binding *self, const cwj_plan *plan, const cwj_plan_step *step)
{
    cwj_graph_step *run = __atomic_load_n(&self->code->steps[step->c], __ATOMIC_ACQUIRE);
    cwj_graph_code *outer = cwj_graph_code_running;
    cwj_graph_code_running = self->code;
    int failure = run(self->state, self->storages);
    cwj_graph_code_running = outer;
    if (failure == 0 && PyErr_Occurred()) {
        failure = step->node >= 0 ? plan->nodes[step->node].code_block : -1;
    }
    if (failure != 0) {
        cwj_blame_block(plan, failure, NULL);
    }
    return failure;
}

/* A C step of one node, and its perform() on the same inputs. */
static int
run_checked_step(cwj_binding *self, const cwj_plan *plan, const cwj_plan_step *step)
{
    PyObject *inputs = cwj_reference_inputs(plan, step->node, self->storages);
    int failure = inputs == NULL ? plan->nodes[step->node].code_block : 0;
    if (failure == 0) {
        failure = run_c_step(self, plan, step);
    } else {
        cwj_blame_block(plan, failure, "check");
    }
    if (failure == 0 && cwj_reference_compare(plan, step->node, inputs, self->storages) < 0) {
        failure = plan->nodes[step->node].code_block;
        cwj_blame_block(plan, failure, "check");
    }
    Py_XDECREF(inputs);
    return failure;
}

static int
run_python_step(cwj_binding *self, const cwj_plan *plan, const cwj_plan_step *step)
{
    if (cwj_reference_perform(plan, step->node, self->storages) == 0) {
        return 0;
    }
    int failure = plan->nodes[step->node].code_block;
    cwj_blame_block(plan, failure, "perform");
    return failure;
}

static int
run_steps(cwj_binding *self, const cwj_plan *plan)
{
    int failure = 0;
    for (int i = 0; i < plan->nsteps && failure == 0; i++) {
        const cwj_plan_step *step = &plan->steps[i];
        if (step->c < 0) {
            failure = run_python_step(self, plan, step);
        } else if (plan->check && step->node >= 0) {
            failure = run_checked_step(self, plan, step);
        } else {
            failure = run_c_step(self, plan, step);
        }
    }
    return failure;
}

/* ---- heat ----------------------------------------------------------------------------- */

enum {
    SHORT_RUN = 10000, /* ns: of runs below, every SAMPLE-th is timed */
    SAMPLE = 64
};

static unsigned long long
nanoseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
}

/* Runs the steps and, where an optimizing tier may come, says how long runs took since
 * this was asked last. */
static int
run_timed(cwj_binding *self, const cwj_plan *plan, unsigned long long *time)
{
    *time = 0;
    if (self->code == NULL || !self->code->optimize || (self->is_short && ++self->tick < SAMPLE)) {
        return run_steps(self, plan);
    }
    unsigned long long start = nanoseconds_now();
    int failure = run_steps(self, plan);
    unsigned long long taken = nanoseconds_now() - start;
    *time = self->is_short ? taken * SAMPLE : taken;
    self->is_short = taken < SHORT_RUN;
    self->tick = 0;
    return failure;
}

/* ---- the whole of it -------------------------------------------------------------------- */

int
cwj_binding_run(cwj_binding *self, cwj_module_state *state, const cwj_plan *plan)
{
    unsigned long long time = 0;
    int failure = compare_inputs(self, plan);
    if (failure == 0) {
        failure = cwj_binding_begin(self, plan);
    }
    if (failure == 0) {
        failure = prepare_outputs(self, plan);
    }
    if (failure == 0) {
        failure = run_timed(self, plan, &time);
    }
    if (failure == 0) {
        watch_outputs(self, plan);
        failure = self->fills ? fill_cells(self, plan) : 0;
    } else {
        restore_outputs(self, plan);
    }
    if (time > 0 && failure == 0) {
        cwj_graph_heat(state, self->code, time);
    }
    return failure;
}
