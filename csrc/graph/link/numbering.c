/* numbering.c: see draft.h. Inputs come first, in the order given, then constants, then what
 * nodes compute, in their order; this is the order of blocks. Constants whose type writes
 * them as C text stand behind all that: they have neither block nor variable in C. A
 * node's parameters are constants like others. */
#include "graph/link/numbering.h"

#include "graph/link/labels.h"

/* ---- numbers ----------------------------------------------------------- */

static int
number_inputs(cwj_numbering *self)
{
    cwj_walk *walk = &self->draft->walk;
    cwj_graph_plan *plan = self->draft->plan;
    plan->ninputs = (int)PyTuple_GET_SIZE(walk->inputs);
    for (int i = 0; i < plan->ninputs; i++) {
        if (cwj_identity_put(&self->known, PyTuple_GET_ITEM(walk->inputs, i), i) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Constants behind the inputs, literals behind everything. */
static void
number_constants(cwj_numbering *self, int ncomputed)
{
    int next = self->draft->plan->ninputs, nliterals = 0;
    for (int i = 0; i < self->nconstants; i++) {
        nliterals += self->constants[i].literal != NULL;
    }
    self->draft->nnumbered = next + self->nconstants - nliterals + ncomputed;
    int literal = self->draft->nnumbered;
    for (int i = 0; i < self->nconstants; i++) {
        self->constants[i].index = self->constants[i].literal != NULL ? literal++ : next++;
    }
    self->draft->plan->nvariables = literal;
}

/* How many variables the nodes compute; -1 with an exception where all there is of inputs
 * and outputs would not fit an int. */
static int
count_computed(const cwj_walk *walk)
{
    Py_ssize_t computed = 0, all = PyTuple_GET_SIZE(walk->inputs) + PyTuple_GET_SIZE(walk->outputs);
    for (int n = 0; n < walk->norder; n++) {
        const cwj_walk_node *node = &walk->nodes[walk->order[n]];
        computed += PyTuple_GET_SIZE(node->outputs);
        all += PyTuple_GET_SIZE(node->outputs) + PyTuple_GET_SIZE(node->inputs) + 1;
    }
    if (all > INT_MAX / 4) {
        PyErr_SetString(PyExc_OverflowError, "link(): the graph is too large");
        return -1;
    }
    return (int)computed;
}

/* ---- filling the plan -------------------------------------------------- */

static int
allocate(cwj_draft *draft)
{
    cwj_graph_plan *plan = draft->plan;
    size_t nvariables = (size_t)plan->nvariables, nnodes = (size_t)draft->walk.norder;
    cwj_arena *arena = &draft->link->arena;
    plan->variables = cwj_allocate(nvariables + 1, sizeof(*plan->variables));
    plan->nodes = cwj_allocate(nnodes + 1, sizeof(*plan->nodes));
    draft->variables = cwj_arena_alloc(arena, nvariables + 1, sizeof(*draft->variables));
    draft->nodes = cwj_arena_alloc(arena, nnodes + 1, sizeof(*draft->nodes));
    draft->texts = cwj_arena_alloc(arena, nvariables + 1, sizeof(*draft->texts));
    draft->node_texts = cwj_arena_alloc(arena, nnodes + 1, sizeof(*draft->node_texts));
    if (plan->variables == NULL || plan->nodes == NULL || draft->variables == NULL ||
        draft->nodes == NULL || draft->texts == NULL || draft->node_texts == NULL) {
        return -1;
    }
    for (size_t i = 0; i < nvariables; i++) {
        draft->variables[i].owner = draft->variables[i].last_step = -1;
        plan->variables[i].update = -1;
    }
    return 0;
}

/* Fills variable i; object: the variable, or NULL for parameters; label: NULL for its name. */
static int
fill_variable(cwj_draft *draft, int i, PyObject *object, PyObject *label)
{
    cwj_graph_plan_variable *made = &draft->plan->variables[i];
    cwj_draft_variable *more = &draft->variables[i];
    made->variable = Py_NewRef(object == NULL ? Py_None : object);
    if (made->type == NULL) {
        made->type = PyObject_GetAttrString(object, "type");
    }
    PyObject *name = made->type == NULL ? NULL
                     : object == NULL   ? Py_NewRef(Py_None)
                                        : cwj_name_of(object);
    if (name != NULL && more->name == NULL) {
        more->name = cwj_linking_keep(draft->link, cwj_mangle(i + 1, name));
    }
    if (name != NULL && more->name != NULL) {
        made->label = label != NULL     ? Py_NewRef(label)
                      : name != Py_None ? cwj_shorten(Py_NewRef(name))
                                        : Py_NewRef(more->name);
    }
    Py_XDECREF(name);
    return made->label == NULL ? -1 : 0;
}

static int
fill_constants(cwj_numbering *self)
{
    for (int i = 0; i < self->nconstants; i++) {
        const cwj_constant *from = &self->constants[i];
        cwj_graph_plan_variable *made = &self->draft->plan->variables[from->index];
        cwj_draft_variable *more = &self->draft->variables[from->index];
        PyObject *label = from->variable == NULL ? from->label : NULL;
        made->type = Py_NewRef(from->type);
        made->value = Py_NewRef(from->value);
        made->literal = from->literal != NULL;
        more->is_constant = true;
        if (made->literal) { /* "2.5" rather than "(2.5)" or a number that is nowhere */
            more->name = from->literal;
            label = cwj_linking_keep(
                self->draft->link,
                PyUnicode_Substring(from->literal, 1, PyUnicode_GET_LENGTH(from->literal) - 1));
            int showable = label == NULL ? -1 : cwj_is_showable(label);
            if (showable < 0) {
                return -1;
            }
            label = showable ? label : from->label;
        }
        if (fill_variable(self->draft, from->index, from->variable, label) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The bound method that calls apply to an argument, unless it is known to do nothing. */
static int
find_filter(cwj_graph_plan_variable *variable)
{
    PyObject *filter = NULL;
    if (cwj_graph_attribute(variable->type, "filter", &filter) < 0) {
        return -1;
    }
    int idle = filter == NULL || filter == Py_None ? 1 : cwj_flag(filter, "identity", 0);
    if (idle == 0) {
        variable->filter = Py_NewRef(filter);
    }
    Py_XDECREF(filter);
    return idle < 0 ? -1 : 0;
}

static int
fill_inputs(cwj_numbering *self)
{
    cwj_graph_plan *plan = self->draft->plan;
    for (int i = 0; i < plan->ninputs; i++) {
        const cwj_walk *walk = &self->draft->walk;
        self->draft->variables[i].is_input = true;
        plan->variables[i].overwritten = walk->given[i].is_overwritten;
        plan->overwrites |= walk->given[i].is_overwritten;
        if (fill_variable(self->draft, i, PyTuple_GET_ITEM(walk->inputs, i), NULL) < 0 ||
            find_filter(&plan->variables[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The number behind a variable of the graph. */
static int
number_of(const cwj_numbering *self, PyObject *variable)
{
    int number = cwj_identity_get(&self->known, variable);
    return number >= 0 ? number : self->constants[-2 - number].index;
}

/* The outputs of node n are the next variables. */
static int
fill_outputs(cwj_numbering *self, int n, int *next)
{
    cwj_draft *draft = self->draft;
    const cwj_walk_node *from = &draft->walk.nodes[draft->walk.order[n]];
    cwj_graph_plan_node *made = &draft->plan->nodes[n];
    for (int i = 0; i < made->noutputs; i++) {
        PyObject *output = PyTuple_GET_ITEM(from->outputs, i);
        int number = (*next)++;
        draft->variables[number].owner = n;
        made->outputs[i] = number;
        if ((cwj_identity_get(&self->known, output) == CWJ_ABSENT && /* else it is an input */
             cwj_identity_put(&self->known, output, number) < 0) ||
            fill_variable(draft, number, output, NULL) < 0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *
label_node(const cwj_graph_plan *plan, const cwj_graph_plan_node *node)
{
    PyObject *names = PyTuple_New(node->ninputs);
    for (int i = 0; names != NULL && i < node->ninputs; i++) {
        PyTuple_SET_ITEM(names, i, Py_NewRef(plan->variables[node->inputs[i]].label));
    }
    return cwj_call_label(node->op, names);
}

static int
fill_node(cwj_numbering *self, int n, int params, int *next)
{
    cwj_draft *draft = self->draft;
    const cwj_walk_node *from = &draft->walk.nodes[draft->walk.order[n]];
    cwj_graph_plan_node *made = &draft->plan->nodes[n];
    made->node = Py_NewRef(from->node);
    made->op = Py_NewRef(from->op);
    made->ninputs = (int)PyTuple_GET_SIZE(from->inputs);
    made->noutputs = (int)PyTuple_GET_SIZE(from->outputs);
    made->params = params < 0 ? -1 : self->constants[params].index;
    made->inputs = cwj_allocate((size_t)made->ninputs + (size_t)made->noutputs + 1, sizeof(int));
    if (made->inputs == NULL) {
        return -1;
    }
    made->outputs = made->inputs + made->ninputs;
    made->outputs[made->noutputs] = made->params;
    made->nused = made->ninputs + made->noutputs + (made->params >= 0);
    for (int i = 0; i < made->ninputs; i++) {
        made->inputs[i] = number_of(self, PyTuple_GET_ITEM(from->inputs, i));
    }
    draft->plan->nnodes = n + 1; /* so that it is cleared from here on */
    if (fill_outputs(self, n, next) < 0) {
        return -1;
    }
    made->label = label_node(draft->plan, made);
    return made->label == NULL ? -1 : 0;
}

static int
fill_results(cwj_numbering *self)
{
    cwj_walk *walk = &self->draft->walk;
    cwj_graph_plan *plan = self->draft->plan;
    plan->noutputs = (int)walk->nreturned;
    plan->bare = plan->noutputs == 1;
    plan->outputs = cwj_allocate((size_t)plan->noutputs + 1, sizeof(int));
    if (plan->outputs == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(walk->outputs); i++) {
        int number = number_of(self, PyTuple_GET_ITEM(walk->outputs, i));
        self->draft->variables[number].wanted = true;
        if (i < walk->nreturned) {
            plan->outputs[i] = number;
            continue;
        }
        int input = number_of(self, PyTuple_GET_ITEM(walk->updated, i - walk->nreturned));
        plan->variables[input].update = number;
        plan->updates = true;
    }
    return 0;
}

static int
fill_plan(cwj_numbering *self, int ncomputed, const int *params)
{
    int next = self->draft->nnumbered - ncomputed;
    if (allocate(self->draft) < 0 || fill_inputs(self) < 0 || fill_constants(self) < 0) {
        return -1;
    }
    for (int n = 0; n < self->draft->walk.norder; n++) {
        if (fill_node(self, n, params[n], &next) < 0) {
            return -1;
        }
    }
    return fill_results(self);
}

int
cwj_draft_number(cwj_draft *draft)
{
    cwj_numbering self = {.draft = draft, .by_value = PyDict_New()};
    int status = -1;
    int *params =
        cwj_arena_alloc(&draft->link->arena, (size_t)draft->walk.norder + 1, sizeof(*params));
    int ncomputed = count_computed(&draft->walk);
    if (self.by_value == NULL || params == NULL || ncomputed < 0 || number_inputs(&self) < 0 ||
        cwj_collect_constants(&self, params) < 0) {
        goto done;
    }
    number_constants(&self, ncomputed);
    status = fill_plan(&self, ncomputed, params);
done:
    cwj_identity_clear(&self.known);
    PyMem_Free(self.constants);
    Py_XDECREF(self.by_value);
    return status;
}
