/* binding.c: manages the storages of a graph's variables, and the state of its C code.
 *
 * Each variable that Python can see has one storage. A caller may pass the same list for several variables, or several
 * lists for one: the code then works on another storage, and the caller's list is filled after the run (run.c), so that
 * an output never replaces an input that a later step reads. */
#include "graph/run/binding.h"

#include "graph/run/failure.h"
#include "graph/code/guarded.h"
#include "base/errors.h"
#include "base/raised.h"
#include "base/tuples.h"
#include "graph/run/storage.h"

/* ---- storages --------------------------------------------------------------- */

static int
check_cells(const cwj_graph_plan *plan, PyObject *cells, const char *who)
{
    Py_ssize_t count = PyTuple_GET_SIZE(cells);
    if (count != plan->ninputs + plan->noutputs) {
        PyErr_Format(PyExc_TypeError,
                     "%s takes %d storages, one for each of %d inputs and %d outputs, not %zd", who,
                     plan->ninputs + plan->noutputs, plan->ninputs, plan->noutputs, count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *cell = PyTuple_GET_ITEM(cells, i);
        if (!PyList_Check(cell)) {
            return cwj_refuse(who, PyExc_TypeError,
                              "storage %zd must be a list of one object, not %s", i,
                              Py_TYPE(cell)->tp_name);
        }
        if (PyList_GET_SIZE(cell) != 1) {
            return cwj_refuse(who, PyExc_ValueError,
                              "storage %zd must be a list of one object, not %zd", i,
                              PyList_GET_SIZE(cell));
        }
    }
    return 0;
}

/* True if the list is the storage of a variable. */
static bool
is_taken(const cwj_binding *self, PyObject *list)
{
    for (int v = 0; v < self->nstorages; v++) {
        if (self->storages[v] == list) {
            return true;
        }
    }
    return false;
}

/* Uses the caller's lists as storages of inputs and outputs, where possible. */
static void
take_cells(cwj_binding *self, const cwj_graph_plan *plan)
{
    for (int i = 0; i < plan->ninputs + plan->noutputs; i++) {
        int v = cwj_cell_variable(plan, i);
        PyObject *cell = PyTuple_GET_ITEM(self->cells, i);
        bool fits =
            plan->variables[v].value == NULL && (i < plan->ninputs || !is_taken(self, cell));
        if (self->storages[v] == NULL && fits) {
            self->storages[v] = Py_NewRef(cell);
        }
        self->has_copies |= self->storages[v] != cell;
    }
}

static int
make_storages(cwj_binding *self, const cwj_graph_plan *plan)
{
    self->storages = cwj_allocate((size_t)plan->nvariables + 1, sizeof(PyObject *));
    if (self->storages == NULL) {
        return -1;
    }
    self->nstorages = plan->nvariables;
    if (self->cells != NULL) {
        take_cells(self, plan);
    }
    for (int v = 0; v < plan->nvariables; v++) {
        const cwj_graph_plan_variable *variable = &plan->variables[v];
        if (self->storages[v] == NULL && variable->stored &&
            (self->storages[v] = cwj_storage_new(variable->value)) == NULL) {
            return -1;
        }
    }
    return 0;
}

/* Makes a tuple of the storages, for cells. A constant that is an output, and an updated input that is an output (its
 * value before the update), get lists of their own. */
static PyObject *
new_cells(cwj_binding *self, const cwj_graph_plan *plan)
{
    PyObject *cells = PyTuple_New(plan->ninputs + plan->noutputs);
    for (int i = 0; i < plan->ninputs + plan->noutputs && cells != NULL; i++) {
        int v = cwj_cell_variable(plan, i);
        const cwj_graph_plan_variable *variable = &plan->variables[v];
        bool apart = self->storages[v] == NULL || variable->value != NULL ||
                     (i >= plan->ninputs && variable->update >= 0);
        cwj_tuple_fill(&cells, i,
                       apart ? cwj_storage_new(variable->value) : Py_NewRef(self->storages[v]));
        self->has_copies |= apart;
    }
    return cells;
}

/* ---- watches ----------------------------------------------------------------- */

static int
make_watches(cwj_binding *self, const cwj_graph_plan *plan)
{
    self->watches = cwj_allocate((size_t)plan->nvariables + 1, sizeof(*self->watches));
    for (int v = 0; self->watches != NULL && v < plan->nvariables; v++) {
        const cwj_graph_plan_variable *variable = &plan->variables[v];
        if (self->storages[v] != NULL && variable->is_output &&
            (variable->fetched || variable->kept)) {
            self->watches[self->nwatches++].variable = v;
        }
    }
    return self->watches == NULL ? -1 : 0;
}

/* ---- the life of a binding ------------------------------------------------------ */

int
cwj_binding_init(cwj_binding *self, const cwj_graph_plan *plan, PyObject *cells, const char *who)
{
    if (cells != NULL && check_cells(plan, cells, who) < 0) {
        return -1;
    }
    self->cells = Py_XNewRef(cells);
    if (make_storages(self, plan) < 0 || make_watches(self, plan) < 0) {
        return -1;
    }
    if (cells == NULL && (self->cells = new_cells(self, plan)) == NULL) {
        return -1;
    }
    self->fills = self->has_copies || plan->updates;
    self->code = cwj_graph_code_ref(plan->code);
    return 0;
}

static void
end_state(cwj_binding *self)
{
    void *state = self->state;
    if (state == NULL) {
        return;
    }
    self->state = NULL;
    PyObject *exception = cwj_raised_take(); /* cleanup code may check for its own */
    cwj_graph_call end = {(void (*)(void))self->code->decl->end, state, NULL, true};
    if (self->code->decl->end != NULL && cwj_graph_call_code(self->code, end) == CWJ_GRAPH_FAULT) {
        self->faulted = true;
    }
    if (PyErr_Occurred()) {
        PyErr_WriteUnraisable(NULL);
    }
    cwj_raised_set(exception);
    tj_free(state);
}

void
cwj_binding_clear(cwj_binding *self)
{
    cwj_graph_code *code = self->code;
    PyObject **storages = self->storages;
    cwj_held *watches = self->watches;
    int nstorages = self->nstorages, nwatches = self->nwatches;
    end_state(self); /* first: the state borrows the storages */
    self->code = NULL;
    self->storages = NULL;
    self->watches = NULL;
    self->nstorages = self->nwatches = 0;
    for (int v = 0; v < nstorages; v++) {
        Py_XDECREF(storages[v]);
    }
    for (int i = 0; i < nwatches; i++) {
        Py_XDECREF(watches[i].object);
    }
    PyMem_Free(storages);
    PyMem_Free(watches);
    Py_CLEAR(self->cells);
    Py_CLEAR(self->error);
    cwj_turn_end(&self->turn);
    cwj_graph_code_unref(code);
}

int
cwj_binding_traverse(const cwj_binding *self, visitproc visit, void *arg)
{
    for (int v = 0; v < self->nstorages; v++) {
        Py_VISIT(self->storages[v]);
    }
    for (int i = 0; i < self->nwatches; i++) {
        Py_VISIT(self->watches[i].object);
    }
    Py_VISIT(self->cells);
    Py_VISIT(self->error);
    return 0;
}

/* ---- the state --------------------------------------------------------------------- */

void
cwj_binding_abandon(cwj_binding *self)
{
    self->state = NULL; /* leaks it on purpose */
}

int
cwj_binding_begin(cwj_binding *self, const cwj_graph_plan *plan)
{
    if (self->state != NULL || self->code == NULL || self->code->decl->state_size == 0) {
        return 0;
    }
    const cwj_graph_decl *decl = self->code->decl;
    void *state = tj_alloc_zeroed(1, decl->state_size); /* aligned for any C type */
    if (state == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    cwj_graph_call begin = {(void (*)(void))decl->begin, state, self->storages, false};
    int failure = decl->begin == NULL ? 0 : cwj_graph_call_code(self->code, begin);
    if (failure != 0) {
        cwj_blame_block(plan, failure, NULL);
        tj_free(state);
        return failure;
    }
    self->state = state;
    if (PyErr_Occurred()) {
        end_state(self);
        return -1;
    }
    return 0;
}

int
cwj_binding_renew(cwj_binding *self, const cwj_graph_plan *plan, int variable)
{
    if (self->state == NULL || self->code->decl->renew == NULL) {
        return 0;
    }
    const void *second = (const void *)(intptr_t)variable;
    cwj_graph_call renew = {(void (*)(void))self->code->decl->renew, self->state, second, false};
    int failure = cwj_graph_call_code(self->code, renew);
    if (failure == CWJ_GRAPH_FAULT) {
        cwj_binding_abandon(self);
        return failure;
    }
    if (failure != 0) {
        cwj_blame_block(plan, failure, NULL);
        tj_free(self->state); /* the code has cleaned it up */
        self->state = NULL;
    }
    return failure;
}
