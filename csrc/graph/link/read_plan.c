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

/* ---- lists ------------------------------------------------------------------ */

typedef struct reading {
    cwj_graph_plan *plan;
    cwj_unit_of_graph *unit;
    tj_graph_step *steps; /* in C */
    int *nodes; /* in C: their numbers, in the order of their steps */
    int placed; /* the number of nodes of the steps so far */
} reading;

/* Reads item i of a list. Returns 0, or -1 with an exception set. */
typedef int reader(reading *self, void *made, PyObject *said, int i);

/* A tuple, and the array that is made of it. */
typedef struct {
    PyObject *said;
    int *count;
    void *array; /* where its address is stored */
    size_t size; /* of an item */
    reader *read;
} list;

#define LIST(said, count, array, read) {said, &(count), (void *)&(array), sizeof(*(array)), read}

/* Reads lists into the arena, one after the other. The counts are there first. Behind each array is a zero. Returns 0,
 * or -1 with an exception set. */
static int
read_lists(reading *self, cwj_arena *arena, int n, const list *lists)
{
    for (const list *each = lists; each < lists + n; each++) {
        *each->count = (int)Py_MIN(PyTuple_GET_SIZE(each->said), INT_MAX / 4);
        char *array = cwj_arena_alloc(arena, (size_t)*each->count + 1, each->size);
        if (array == NULL) {
            return -1;
        }
        memcpy(each->array, &array, sizeof(array));
        for (int i = 0; i < *each->count; i++) {
            PyObject *item = PyTuple_GET_ITEM(each->said, i);
            if (each->read(self, array + (size_t)i * each->size, item, i) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* The number of a variable. */
static int
read_number(reading *self, void *made, PyObject *said, int Py_UNUSED(i))
{
    long number = PyLong_Check(said) ? PyLong_AsLong(said) : -1;
    *(int *)made = (int)number;
    return number < 0 || number >= self->plan->nvariables ? refuse() : 0;
}

/* The keyword name of an input: str or None. */
static int
check_name(reading *Py_UNUSED(self), void *Py_UNUSED(made), PyObject *said, int Py_UNUSED(i))
{
    return said != Py_None && !PyUnicode_CheckExact(said) ? refuse() : 0;
}

static int
read_piece(reading *Py_UNUSED(self), void *made, PyObject *said, int Py_UNUSED(i))
{
    tj_piece *piece = made;
    Py_ssize_t length = 0;
    int status = parse(said, "s#s", &piece->text, &length, &piece->file);
    piece->length = (size_t)length;
    return status;
}

/* A text in bytes. */
static int
read_text(reading *Py_UNUSED(self), void *made, PyObject *said, int Py_UNUSED(i))
{
    const char *text = PyBytes_AsString(said);
    *(const char **)made = text;
    return text == NULL ? refuse() : 0;
}

/* ---- variables and nodes ------------------------------------------------- */

static int
read_variable(reading *self, void *place, PyObject *said, int Py_UNUSED(i))
{
    cwj_graph_plan *plan = self->plan;
    cwj_graph_plan_variable *made = place;
    int is_constant;
    if (parse(said, "OOUOipOppp", &made->variable, &made->type, &made->label, &made->filter,
              &made->update, &is_constant, &made->value, &made->stored, &made->is_output,
              &made->overwritten) < 0) {
        return -1;
    }
    made->filter = made->filter == Py_None ? NULL : made->filter;
    made->value = is_constant ? made->value : NULL;
    plan->overwrites |= made->overwritten;
    plan->updates |= made->update >= 0;
    return made->update < plan->nvariables ? 0 : refuse();
}

static int
read_node(reading *self, void *place, PyObject *said, int Py_UNUSED(i))
{
    cwj_graph_plan *plan = self->plan;
    cwj_graph_plan_node *made = place;
    PyObject *inputs, *outputs;
    if (parse(said, "OOUO!O!ii", &made->node, &made->op, &made->label, &PyTuple_Type, &inputs,
              &PyTuple_Type, &outputs, &made->params, &made->code_block) < 0) {
        return -1;
    }
    const list lists[] = {LIST(inputs, made->ninputs, made->inputs, read_number),
                          LIST(outputs, made->noutputs, made->outputs, read_number)};
    return read_lists(self, &plan->arena, 2, lists) < 0 ? -1
           : made->params < plan->nvariables            ? 0
                                                        : refuse();
}

static int
read_parts(reading *self)
{
    cwj_graph_plan *plan = self->plan;
    PyTypeObject *t = &PyTuple_Type;
    PyObject *variables, *nodes, *outputs;
    PyObject **names;
    if (parse(plan->said, "UO!O!O!O!O!", &plan->name, t, &variables, t, &nodes, t, &plan->blocks, t,
              &plan->input_names, t, &outputs) < 0) {
        return -1;
    }
    const list lists[] = {LIST(plan->input_names, plan->ninputs, names, check_name),
                          LIST(variables, plan->nvariables, plan->variables, read_variable),
                          LIST(outputs, plan->noutputs, plan->outputs, read_number),
                          LIST(nodes, plan->nnodes, plan->nodes, read_node)};
    plan->bare = PyTuple_GET_SIZE(outputs) == 1;
    return read_lists(self, &plan->arena, 4, lists) < 0 ? -1
           : plan->ninputs > plan->nvariables           ? refuse()
                                                        : 0;
}

/* ---- texts --------------------------------------------------------------- */

/* Reads `count` pieces from a tuple, from item `first` on. */
static int
read_pieces(PyObject *said, Py_ssize_t first, tj_piece *const *pieces, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        if (read_piece(NULL, pieces[i], PyTuple_GET_ITEM(said, first + i), 0) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
read_variable_texts(reading *self, void *place, PyObject *said, int i)
{
    tj_graph_variable *made = place;
    PyObject *o;
    int fetched, kept, sync_fails;
    tj_piece *const pieces[] = {&made->declare, &made->extract, &made->init, &made->sync,
                                &made->cleanup};
    if (i >= self->plan->nvariables) {
        return refuse();
    }
    if (parse(said, "sspppOOOOO", &made->name, &made->label, &fetched, &kept, &sync_fails, &o, &o,
              &o, &o, &o) < 0) {
        return -1;
    }
    self->plan->variables[i].fetched = made->fetched = fetched;
    self->plan->variables[i].kept = made->kept = kept;
    made->sync_fails = sync_fails;
    return read_pieces(said, 5, pieces, 5);
}

static int
read_node_texts(reading *Py_UNUSED(self), void *place, PyObject *said, int Py_UNUSED(i))
{
    tj_graph_node *made = place;
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

/* ---- steps --------------------------------------------------------------- */

/* said: (variable, role). */
static int
read_use(reading *self, void *place, PyObject *said, int Py_UNUSED(i))
{
    tj_graph_use *made = place;
    int role;
    if (parse(said, "ii", &made->variable, &role) < 0) {
        return -1;
    }
    made->role = (tj_graph_role)role;
    return made->variable < 0 || made->variable >= self->unit->graph.nvariables || role < 0 ||
                   role > TJ_GRAPH_OUTPUT
               ? refuse()
               : 0;
}

static int
read_step(reading *self, void *place, PyObject *said, int Py_UNUSED(i))
{
    cwj_graph_plan_step *step = place;
    tj_graph *graph = &self->unit->graph;
    PyObject *uses;
    int in_c, count;
    if (parse(said, "ipO!i", &step->node, &in_c, &PyTuple_Type, &uses, &count) < 0) {
        return -1;
    }
    if (step->node >= self->plan->nnodes || (step->node < 0 && !in_c) || count < 0 ||
        count > graph->nnodes - self->placed) {
        return refuse();
    }
    step->c = in_c ? graph->nsteps++ : -1;
    if (!in_c) {
        return 0;
    }
    tj_graph_step *made = &self->steps[step->c];
    made->nodes = self->nodes + self->placed;
    made->nnodes = count;
    self->placed += count;
    const list lists[] = {LIST(uses, made->nuses, made->uses, read_use)};
    return read_lists(self, &self->unit->arena, 1, lists);
}

static int
read_steps(reading *self, PyObject *said)
{
    cwj_graph_plan *plan = self->plan;
    tj_graph *graph = &self->unit->graph;
    cwj_arena *arena = &self->unit->arena;
    self->steps = cwj_arena_alloc(arena, (size_t)PyTuple_GET_SIZE(said) + 1, sizeof(*self->steps));
    self->nodes = cwj_arena_alloc(arena, (size_t)graph->nnodes + 1, sizeof(*self->nodes));
    if (self->steps == NULL || self->nodes == NULL) {
        return -1;
    }
    for (int n = 0; n < graph->nnodes; n++) {
        self->nodes[n] = n;
    }
    graph->steps = self->steps;
    const list lists[] = {LIST(said, plan->nsteps, plan->steps, read_step)};
    return read_lists(self, &plan->arena, 1, lists);
}

/* ---- what the unit needs ------------------------------------------------- */

static int
read_settings(reading *self, PyObject *said)
{
    cwj_unit_of_graph *unit = self->unit;
    tj_graph *graph = &unit->graph;
    cwj_graph_request *request = &unit->request;
    PyObject *headers, *supports, *inits, *dirs, *macros, *compiler;
    PyTypeObject *t = &PyTuple_Type;
    if (parse(said, "O!O!O!O!O!O!O!O", t, &headers, t, &supports, t, &inits, t, &dirs, t,
              &request->libraries, t, &request->library_dirs, t, &macros, &compiler) < 0) {
        return -1;
    }
    request->compiler = compiler == Py_None ? NULL : compiler;
    int ndirs, nmacros;
    const list lists[] = {
        LIST(headers, graph->nheaders, graph->headers, read_text),
        LIST(supports, graph->nsupports, graph->supports, read_piece),
        LIST(inits, graph->ninits, graph->inits, read_piece),
        LIST(dirs, ndirs, unit->environment.include_dirs, read_text),
        LIST(macros, nmacros, unit->environment.define_macros, read_text),
    };
    return read_lists(self, &unit->arena, 5, lists);
}

/* ---- the whole ----------------------------------------------------------- */

int
cwj_read_plan(cwj_graph_plan *plan, cwj_unit_of_graph *unit, PyObject *said)
{
    PyTypeObject *t = &PyTuple_Type;
    PyObject *parts, *steps, *texts, *node_texts, *settings;
    reading self = {.plan = plan, .unit = unit};
    tj_graph *graph = &unit->graph;
    if (parse(said, "O!O!O!O!O", t, &parts, t, &steps, t, &texts, t, &node_texts, &settings) < 0) {
        return -1;
    }
    plan->said = Py_NewRef(parts);
    const list lists[] = {LIST(texts, graph->nvariables, graph->variables, read_variable_texts),
                          LIST(node_texts, graph->nnodes, graph->nodes, read_node_texts)};
    if (read_parts(&self) < 0 || read_lists(&self, &unit->arena, 2, lists) < 0 ||
        read_steps(&self, steps) < 0) {
        return -1;
    }
    return graph->nsteps == 0 ? 0 : read_settings(&self, settings);
}
