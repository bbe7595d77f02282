/* numbering.c: see draft.h. cwrapjit/graph/walk.py reads what link() was given and numbers it: inputs
 * first, then constants, then what nodes compute, in their order; this is the order of blocks. Behind
 * all that stand constants whose type writes them as C text, which have neither block nor variable in
 * C. A node's parameters are constants like others. Here the plan takes that over. */
#include "graph/link/draft.h"

#include "base/errors.h"
#include "graph/attributes.h"

/* Another answer than one of read_graph(): what reading it has raised says less. */
static int
refuse(void)
{
    return PyErr_Occurred() && !cwj_clear_expected(PyExc_TypeError, PyExc_OverflowError, NULL)
               ? -1
               : cwj_refuse("link()", PyExc_RuntimeError, "read_graph() returned no graph");
}

/* As PyArg_ParseTuple(). */
static int
parse(PyObject *said, const char *format, ...)
{
    va_list targets;
    va_start(targets, format);
    bool fits = PyTuple_Check(said) && PyArg_VaParse(said, format, targets);
    va_end(targets);
    return fits ? 0 : refuse();
}

static bool
is_number(const cwj_draft *draft, int number)
{
    return number >= 0 && number < draft->plan->nvariables;
}

static int
read_numbers(const cwj_draft *draft, PyObject *tuple, int *numbers)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        long number = PyLong_Check(item) ? PyLong_AsLong(item) : -1;
        numbers[i] = number < 0 || number > INT_MAX ? -1 : (int)number;
        if (!is_number(draft, numbers[i])) {
            return refuse();
        }
    }
    return 0;
}

static int
allocate(cwj_draft *draft, size_t nvariables, size_t nnodes)
{
    cwj_graph_plan *plan = draft->plan;
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
    plan->nvariables = (int)nvariables;
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

/* From a Numbered of walk.py. */
static int
fill_variable(cwj_draft *draft, int i, PyObject *said)
{
    cwj_graph_plan_variable *made = &draft->plan->variables[i];
    cwj_draft_variable *more = &draft->variables[i];
    PyObject *variable, *type, *label, *value;
    int is_constant, is_literal, is_overwritten;
    if (parse(said, "OOUUpOpp", &variable, &type, &label, &more->name, &is_constant, &value,
              &is_literal, &is_overwritten) < 0) {
        return -1;
    }
    made->variable = Py_NewRef(variable);
    made->type = Py_NewRef(type);
    made->label = Py_NewRef(label);
    made->value = is_constant ? Py_NewRef(value) : NULL;
    made->literal = is_literal;
    made->overwritten = is_overwritten;
    made->update = -1;
    draft->plan->overwrites |= made->overwritten;
    more->is_constant = is_constant;
    more->is_input = i < draft->plan->ninputs;
    more->owner = more->last_step = -1;
    return more->is_input ? find_filter(made) : 0;
}

/* From a NumberedNode of walk.py. */
static int
fill_node(cwj_draft *draft, int n, PyObject *said)
{
    cwj_graph_plan_node *made = &draft->plan->nodes[n];
    cwj_draft_node *more = &draft->nodes[n];
    PyObject *node, *op, *label, *inputs, *outputs;
    int shares;
    if (parse(said, "OOUUO!O!ip", &node, &op, &label, &more->outputs, &PyTuple_Type, &inputs,
              &PyTuple_Type, &outputs, &made->params, &shares) < 0) {
        return -1;
    }
    draft->plan->nnodes = n + 1; /* so that it is cleared from here on */
    made->node = Py_NewRef(node);
    made->op = Py_NewRef(op);
    made->label = Py_NewRef(label);
    more->shares = shares;
    made->ninputs = (int)PyTuple_GET_SIZE(inputs);
    made->noutputs = (int)PyTuple_GET_SIZE(outputs);
    made->inputs = cwj_allocate((size_t)made->ninputs + (size_t)made->noutputs + 1, sizeof(int));
    if (made->inputs == NULL) {
        return -1;
    }
    made->outputs = made->inputs + made->ninputs;
    made->outputs[made->noutputs] = made->params;
    made->nused = made->ninputs + made->noutputs + (made->params >= 0);
    if (read_numbers(draft, inputs, made->inputs) < 0 ||
        read_numbers(draft, outputs, made->outputs) < 0) {
        return -1;
    }
    for (int i = 0; i < made->noutputs; i++) {
        draft->variables[made->outputs[i]].owner = n;
    }
    return made->params < 0 || is_number(draft, made->params) ? 0 : refuse();
}

static int
fill_results(cwj_draft *draft, PyObject *outputs, PyObject *updates)
{
    cwj_graph_plan *plan = draft->plan;
    plan->outputs = cwj_allocate((size_t)PyTuple_GET_SIZE(outputs) + 1, sizeof(int));
    if (plan->outputs == NULL || read_numbers(draft, outputs, plan->outputs) < 0) {
        return -1;
    }
    plan->noutputs = (int)PyTuple_GET_SIZE(outputs);
    plan->bare = plan->noutputs == 1;
    for (int i = 0; i < plan->noutputs; i++) {
        draft->variables[plan->outputs[i]].wanted = true;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(updates); i++) {
        int input, value;
        if (parse(PyTuple_GET_ITEM(updates, i), "ii", &input, &value) < 0) {
            return -1;
        }
        if (!is_number(draft, input) || !is_number(draft, value)) {
            return refuse();
        }
        plan->variables[input].update = value;
        draft->variables[value].wanted = plan->updates = true;
    }
    return 0;
}

/* What read_graph() returns, alive as long as link. */
static PyObject *
read_graph(cwj_linking *link)
{
    const cwj_link_options *options = link->options;
    PyObject *may_fuse = options->per_op || options->check ? Py_False : Py_True;
    return cwj_linking_keep(
        link, cwj_ask_python("cwrapjit.graph.walk", "read_graph", "(OOOOO)", options->name,
                             options->inputs, options->outputs,
                             options->updates == NULL ? Py_None : options->updates, may_fuse));
}

int
cwj_draft_number(cwj_draft *draft)
{
    PyObject *variables, *nodes, *outputs, *updates, *found = read_graph(draft->link);
    PyTypeObject *t = &PyTuple_Type;
    if (found == NULL || parse(found, "O!O!O!O!ii", t, &variables, t, &nodes, t, &outputs, t,
                               &updates, &draft->plan->ninputs, &draft->nnumbered) < 0) {
        return -1;
    }
    Py_ssize_t nvariables = PyTuple_GET_SIZE(variables), nnodes = PyTuple_GET_SIZE(nodes);
    if (nvariables > INT_MAX / 4 || nnodes > INT_MAX / 4) {
        PyErr_SetString(PyExc_OverflowError, "link(): the graph is too large");
        return -1;
    }
    if (draft->plan->ninputs < 0 || draft->plan->ninputs > draft->nnumbered ||
        draft->nnumbered > nvariables) {
        return refuse();
    }
    if (allocate(draft, (size_t)nvariables, (size_t)nnodes) < 0) {
        return -1;
    }
    for (int i = 0; i < nvariables; i++) {
        if (fill_variable(draft, i, PyTuple_GET_ITEM(variables, i)) < 0) {
            return -1;
        }
    }
    for (int n = 0; n < nnodes; n++) {
        if (fill_node(draft, n, PyTuple_GET_ITEM(nodes, n)) < 0) {
            return -1;
        }
    }
    return fill_results(draft, outputs, updates);
}
