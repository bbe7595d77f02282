/* read_plan.c: reads the tuple that read_graph() returns. It checks all numbers; texts point into the tuple. */
#include "graph/link/read_plan.h"

#include "base/errors.h"

/* Raises RuntimeError in place of a TypeError or OverflowError of reading; other exceptions stay. Returns -1. */
static int
refuse(void)
{
    return PyErr_Occurred() && !cwj_clear_expected(PyExc_TypeError, PyExc_OverflowError, NULL)
               ? -1
               : cwj_refuse("link()", PyExc_RuntimeError, "read_graph() returned no graph");
}

/* Like PyArg_ParseTuple(). Returns 0, or -1 with an exception set. */
static int
parse(PyObject *said, const char *format, ...)
{
    va_list targets;
    va_start(targets, format);
    bool fits = PyTuple_Check(said) && PyArg_VaParse(said, format, targets);
    va_end(targets);
    return fits ? 0 : refuse();
}

static int
count_of(PyObject *tuple)
{
    return (int)Py_MIN(PyTuple_GET_SIZE(tuple), INT_MAX / 4);
}

static int
read_numbers(PyObject *tuple, int limit, int *numbers)
{
    for (int i = 0; i < count_of(tuple); i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        long number = PyLong_Check(item) ? PyLong_AsLong(item) : -1;
        if (number < 0 || number >= limit) {
            return refuse();
        }
        numbers[i] = (int)number;
    }
    return 0;
}

/* Checks the keyword names of inputs: str or None. */
static int
check_names(PyObject *tuple)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *name = PyTuple_GET_ITEM(tuple, i);
        if (name != Py_None && !PyUnicode_CheckExact(name)) {
            return refuse();
        }
    }
    return 0;
}

/* ---- variables and nodes ------------------------------------------------- */

static int
read_variable(cwj_graph_plan *plan, cwj_graph_plan_variable *made, PyObject *said)
{
    int is_constant;
    if (parse(said, "OOUOipOpppp", &made->variable, &made->type, &made->label, &made->filter,
              &made->update, &is_constant, &made->value, &made->literal, &made->stored,
              &made->is_output, &made->overwritten) < 0) {
        return -1;
    }
    made->filter = made->filter == Py_None ? NULL : made->filter;
    made->value = is_constant ? made->value : NULL;
    plan->overwrites |= made->overwritten;
    plan->updates |= made->update >= 0;
    return made->update < plan->nvariables ? 0 : refuse();
}

static int
read_node(const cwj_graph_plan *plan, cwj_graph_plan_node *made, PyObject *said)
{
    PyObject *inputs, *outputs;
    if (parse(said, "OOUO!O!ii", &made->node, &made->op, &made->label, &PyTuple_Type, &inputs,
              &PyTuple_Type, &outputs, &made->params, &made->code_block) < 0) {
        return -1;
    }
    made->ninputs = count_of(inputs);
    made->noutputs = count_of(outputs);
    made->inputs = cwj_allocate((size_t)made->ninputs + (size_t)made->noutputs + 1, sizeof(int));
    if (made->inputs == NULL) {
        return -1;
    }
    made->outputs = made->inputs + made->ninputs;
    if (read_numbers(inputs, plan->nvariables, made->inputs) < 0 ||
        read_numbers(outputs, plan->nvariables, made->outputs) < 0) {
        return -1;
    }
    return made->params < plan->nvariables ? 0 : refuse();
}

static int
read_parts(cwj_graph_plan *plan)
{
    PyTypeObject *t = &PyTuple_Type;
    PyObject *variables, *nodes, *outputs;
    if (parse(plan->said, "UO!O!O!O!O!", &plan->name, t, &variables, t, &nodes, t, &plan->blocks, t,
              &plan->input_names, t, &outputs) < 0 ||
        check_names(plan->input_names) < 0) {
        return -1;
    }
    plan->ninputs = count_of(plan->input_names);
    plan->nvariables = count_of(variables);
    plan->noutputs = count_of(outputs);
    plan->bare = plan->noutputs == 1;
    plan->outputs = cwj_allocate((size_t)plan->noutputs + 1, sizeof(int));
    plan->variables = cwj_allocate((size_t)plan->nvariables + 1, sizeof(*plan->variables));
    plan->nodes = cwj_allocate((size_t)count_of(nodes) + 1, sizeof(*plan->nodes));
    if (plan->outputs == NULL || plan->variables == NULL || plan->nodes == NULL ||
        read_numbers(outputs, plan->nvariables, plan->outputs) < 0) {
        return -1;
    }
    for (int i = 0; i < plan->nvariables; i++) {
        if (read_variable(plan, &plan->variables[i], PyTuple_GET_ITEM(variables, i)) < 0) {
            return -1;
        }
    }
    plan->nnodes = count_of(nodes);
    for (int n = 0; n < plan->nnodes; n++) {
        if (read_node(plan, &plan->nodes[n], PyTuple_GET_ITEM(nodes, n)) < 0) {
            return -1;
        }
    }
    return plan->ninputs > plan->nvariables ? refuse() : 0;
}

/* ---- texts --------------------------------------------------------------- */

static int
read_piece(PyObject *said, tj_piece *piece)
{
    Py_ssize_t length;
    if (parse(said, "s#s", &piece->text, &length, &piece->file) < 0) {
        return -1;
    }
    piece->length = (size_t)length;
    return 0;
}

/* Reads `count` pieces from a tuple, from item `first` on. */
static int
read_pieces(PyObject *said, Py_ssize_t first, tj_piece *const *pieces, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        if (read_piece(PyTuple_GET_ITEM(said, first + i), pieces[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
read_variable_texts(cwj_graph_plan_variable *known, tj_graph_variable *made, PyObject *said)
{
    PyObject *o;
    int sync_fails;
    tj_piece *const pieces[] = {&made->declare, &made->extract, &made->init, &made->sync,
                                &made->cleanup};
    if (parse(said, "sspppOOOOO", &made->name, &made->label, &known->fetched, &known->kept,
              &sync_fails, &o, &o, &o, &o, &o) < 0) {
        return -1;
    }
    made->fetched = known->fetched;
    made->kept = known->kept;
    made->sync_fails = sync_fails;
    return read_pieces(said, 5, pieces, 5);
}

static int
read_node_texts(tj_graph_node *made, PyObject *said)
{
    PyObject *o;
    tj_piece *const pieces[] = {
        &made->support,          &made->element,        &made->struct_declare,
        &made->struct_init,      &made->struct_cleanup, &made->validate,
        &made->validate_cleanup, &made->code,           &made->code_cleanup};
    if (parse(said, "ssiiOOOOOOOOO", &made->name, &made->label, &made->code_block,
              &made->validate_block, &o, &o, &o, &o, &o, &o, &o, &o, &o) < 0) {
        return -1;
    }
    return read_pieces(said, 4, pieces, 9);
}

static int
read_texts(cwj_graph_plan *plan, cwj_unit_of_graph *unit, PyObject *variables, PyObject *nodes)
{
    tj_graph *graph = &unit->graph;
    graph->nvariables = count_of(variables);
    graph->nnodes = count_of(nodes);
    tj_graph_variable *values =
        cwj_arena_alloc(&unit->arena, (size_t)graph->nvariables, sizeof(*values));
    tj_graph_node *operations =
        cwj_arena_alloc(&unit->arena, (size_t)graph->nnodes, sizeof(*operations));
    if (values == NULL || operations == NULL) {
        return -1;
    }
    graph->variables = values;
    graph->nodes = operations;
    if (graph->nvariables > plan->nvariables) {
        return refuse();
    }
    for (int i = 0; i < graph->nvariables; i++) {
        PyObject *said = PyTuple_GET_ITEM(variables, i);
        if (read_variable_texts(&plan->variables[i], &values[i], said) < 0) {
            return -1;
        }
    }
    for (int n = 0; n < graph->nnodes; n++) {
        if (read_node_texts(&operations[n], PyTuple_GET_ITEM(nodes, n)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- steps --------------------------------------------------------------- */

/* said: (variable, role, variable, role, ...). */
static int
read_uses(cwj_unit_of_graph *unit, PyObject *said, tj_graph_step *step)
{
    step->nuses = count_of(said) / 2;
    tj_graph_use *uses = cwj_arena_alloc(&unit->arena, (size_t)step->nuses, sizeof(*uses));
    step->uses = uses;
    if (uses == NULL) {
        return -1;
    }
    for (int i = 0; i < step->nuses; i++) {
        PyObject *variable = PyTuple_GET_ITEM(said, 2 * i),
                 *role = PyTuple_GET_ITEM(said, 2 * i + 1);
        uses[i].variable = (int)PyLong_AsLong(variable);
        uses[i].role = (tj_graph_role)PyLong_AsLong(role);
        if (PyErr_Occurred() || uses[i].variable < 0 ||
            uses[i].variable >= unit->graph.nvariables || uses[i].role > TJ_GRAPH_OUTPUT) {
            return refuse();
        }
    }
    return 0;
}

static int
read_steps(cwj_graph_plan *plan, cwj_unit_of_graph *unit, PyObject *said)
{
    tj_graph *graph = &unit->graph;
    int placed = 0; /* nodes in C so far; they have the order of their steps */
    plan->nsteps = count_of(said);
    plan->steps = cwj_allocate((size_t)plan->nsteps + 1, sizeof(*plan->steps));
    tj_graph_step *steps = cwj_arena_alloc(&unit->arena, (size_t)plan->nsteps + 1, sizeof(*steps));
    int *nodes = cwj_arena_alloc(&unit->arena, (size_t)graph->nnodes, sizeof(*nodes));
    if (plan->steps == NULL || steps == NULL || nodes == NULL) {
        return -1;
    }
    graph->steps = steps;
    for (int n = 0; n < graph->nnodes; n++) {
        nodes[n] = n;
    }
    for (int i = 0; i < plan->nsteps; i++) {
        cwj_graph_plan_step *step = &plan->steps[i];
        PyObject *uses;
        int in_c, count;
        if (parse(PyTuple_GET_ITEM(said, i), "ipO!i", &step->node, &in_c, &PyTuple_Type, &uses,
                  &count) < 0) {
            return -1;
        }
        if (step->node >= plan->nnodes || (step->node < 0 && !in_c) || count < 0 ||
            count > graph->nnodes - placed) {
            return refuse();
        }
        step->c = in_c ? graph->nsteps++ : -1;
        tj_graph_step *made = &steps[in_c ? step->c : plan->nsteps];
        made->nodes = nodes + placed;
        made->nnodes = count;
        placed += count;
        if (read_uses(unit, uses, made) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- what the unit needs ------------------------------------------------- */

/* A NULL-terminated array of the texts in a tuple of bytes; NULL with an exception set. */
static const char *const *
list_texts(cwj_arena *arena, PyObject *tuple)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    const char **list = cwj_arena_alloc(arena, (size_t)count + 1, sizeof(*list));
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        list[i] = PyBytes_AsString(PyTuple_GET_ITEM(tuple, i));
        if (list[i] == NULL) {
            refuse();
            return NULL;
        }
    }
    return list;
}

static const tj_piece *
list_pieces(cwj_arena *arena, PyObject *tuple, int *count)
{
    *count = count_of(tuple);
    tj_piece *list = cwj_arena_alloc(arena, (size_t)*count + 1, sizeof(*list));
    for (int i = 0; list != NULL && i < *count; i++) {
        if (read_piece(PyTuple_GET_ITEM(tuple, i), &list[i]) < 0) {
            return NULL;
        }
    }
    return list;
}

static int
read_settings(cwj_unit_of_graph *unit, PyObject *said)
{
    tj_graph *graph = &unit->graph;
    cwj_graph_request *request = &unit->request;
    PyObject *headers, *supports, *inits, *dirs, *macros, *compiler, *versions;
    PyTypeObject *t = &PyTuple_Type;
    if (parse(said, "O!O!O!O!O!O!O!OO", t, &headers, t, &supports, t, &inits, t, &dirs, t,
              &request->libraries, t, &request->library_dirs, t, &macros, &compiler,
              &versions) < 0) {
        return -1;
    }
    request->compiler = compiler == Py_None ? NULL : compiler;
    request->versions = versions == Py_None ? NULL : versions;
    graph->headers = list_texts(&unit->arena, headers);
    graph->nheaders = count_of(headers);
    graph->supports = list_pieces(&unit->arena, supports, &graph->nsupports);
    graph->inits = list_pieces(&unit->arena, inits, &graph->ninits);
    unit->environment.include_dirs = list_texts(&unit->arena, dirs);
    unit->environment.define_macros = list_texts(&unit->arena, macros);
    return graph->headers == NULL || graph->supports == NULL || graph->inits == NULL ||
                   unit->environment.include_dirs == NULL || unit->environment.define_macros == NULL
               ? -1
               : 0;
}

/* ---- the whole ----------------------------------------------------------- */

int
cwj_read_plan(cwj_graph_plan *plan, cwj_unit_of_graph *unit, PyObject *said)
{
    PyTypeObject *t = &PyTuple_Type;
    PyObject *parts, *steps, *texts, *node_texts, *settings;
    if (parse(said, "O!O!O!O!O", t, &parts, t, &steps, t, &texts, t, &node_texts, &settings) < 0) {
        return -1;
    }
    plan->said = Py_NewRef(parts);
    if (read_parts(plan) < 0 || read_texts(plan, unit, texts, node_texts) < 0 ||
        read_steps(plan, unit, steps) < 0) {
        return -1;
    }
    return unit->graph.nsteps == 0 ? 0 : read_settings(unit, settings);
}
