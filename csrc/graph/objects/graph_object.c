/* graph_object.c: types cwrapjit.graph.Graph and BoundGraph: their methods, creation and destruction.
 *
 * A plan has one owner, its Graph, so that the garbage collector finds cycles through the plan; a BoundGraph holds its
 * Graph. Both have their own cells and state, and hold the code, which their state needs until it ends. Attributes are
 * in shown.c, calls in invoke.c. */
#include "graph/objects/graph_object.h"

#include "base/diagnosis.h"
#include "base/content.h"
#include "base/errors.h"
#include "base/jobs.h"
#include "graph/run/failure.h"
#include "base/live.h"
#include "base/raised.h"
#include "graph/code/tier.h"
#include "base/tuples.h"

#include <structmember.h>

/* ---- methods ---------------------------------------------------------------------- */

PyDoc_STRVAR(run_doc,
             "run($self, /)\n--\n\n"
             "Run the graph on its own cells.\n\n"
             "Returns 0, or the number of the block that failed: the Graph's blocks[code - 1]\n"
             "names it, error is its exception. -1: no block was at fault.");

static PyObject *
run(PyObject *op, PyObject *Py_UNUSED(unused))
{
    const cwj_graph_plan *plan = cwj_graph_plan_of(op);
    int code, status;
    if (plan == NULL) {
        return NULL;
    }
    Py_INCREF(op);
    status = cwj_binding_run_in_turn(&((cwj_graph_object *)op)->own, cwj_state_of(op), plan, &code);
    Py_DECREF(op);
    return status < 0 ? NULL : PyLong_FromLong(code);
}

PyDoc_STRVAR(once_doc,
             "once($self, /, *storages)\n--\n\n"
             "Run the graph once on these storages: a list of one object per input, then per\n"
             "output.\n\n"
             "Returns what run() returns. Nothing is kept for another run.");

static PyObject *
graph_once(PyObject *op, PyObject *storages)
{
    cwj_graph_object *self = (cwj_graph_object *)op;
    cwj_binding binding = {0};
    int code = -1, status = -1;
    if (cwj_graph_plan_of(op) == NULL) {
        return NULL;
    }
    Py_INCREF(op);
    if (cwj_binding_init(&binding, self->plan, storages, "once()") == 0) {
        status = cwj_binding_run_in_turn(&binding, cwj_state_of(op), self->plan, &code);
    }
    if (status == 0) {
        Py_XSETREF(self->own.error, binding.error);
        binding.error = NULL;
    }
    PyObject *exception = cwj_raised_take();
    cwj_binding_clear(&binding);
    cwj_raised_set(exception);
    Py_DECREF(op);
    return status < 0 ? NULL : PyLong_FromLong(code);
}

/* Begins the state of a graph in struct form. Returns 0, or -1 with an exception set. */
static int
begin(cwj_graph_object *bound, const cwj_graph_plan *plan)
{
    if (!plan->struct_form) {
        return 0;
    }
    if (cwj_binding_take_turn(&bound->own, plan) < 0) {
        return -1;
    }
    int failure = cwj_binding_begin(&bound->own, plan);
    cwj_turn_give(&bound->own.turn);
    return failure == 0 ? 0 : -1;
}

static PyObject *
new_bound(cwj_graph_object *graph, PyObject *storages)
{
    PyTypeObject *type = cwj_state_of((PyObject *)graph)->bound_type;
    cwj_graph_object *self = (cwj_graph_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    cwj_live_counts[CWJ_LIVE_GRAPHS]++;
    self->graph = (cwj_graph_object *)Py_NewRef(graph);
    if (cwj_binding_init(&self->own, graph->plan, storages, "bind()") < 0 ||
        begin(self, graph->plan) < 0) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

PyDoc_STRVAR(bind_doc,
             "bind($self, /, *storages)\n--\n\n"
             "The graph with storages of the caller's: a list of one object per input, then\n"
             "per output.\n\n"
             "Returns a BoundGraph, which has a state of its own. In struct form the state\n"
             "begins now, and what its blocks raise is raised here.");

static PyObject *
graph_bind(PyObject *op, PyObject *storages)
{
    return cwj_graph_plan_of(op) == NULL ? NULL : new_bound((cwj_graph_object *)op, storages);
}

PyDoc_STRVAR(wait_doc, CWJ_WAIT_DOC("every step runs"));

static PyObject *
graph_wait(PyObject *op, PyObject *args, PyObject *kwargs)
{
    const cwj_graph_plan *plan = cwj_graph_plan_of(op);
    double seconds;
    if (plan == NULL || cwj_wait_parse(&seconds, args, kwargs) < 0) {
        return NULL;
    }
    cwj_graph_code *code = cwj_graph_code_ref(plan->code);
    int there = code == NULL ? 0 : cwj_graph_wait(cwj_state_of(op), code, seconds);
    cwj_graph_code_unref(code);
    return there < 0 ? NULL : PyBool_FromLong(there);
}

PyDoc_STRVAR(diagnose_doc, CWJ_DIAGNOSE_DOC);

static PyObject *
graph_diagnose(PyObject *op, PyObject *Py_UNUSED(unused))
{
    const cwj_graph_plan *plan = cwj_graph_plan_of(op);
    const char *name = plan == NULL ? NULL : PyUnicode_AsUTF8(plan->name);
    if (name == NULL) {
        return NULL;
    }
    cwj_graph_code *code = cwj_graph_code_ref(plan->code);
    PyObject *found =
        code == NULL ? PyList_New(0) : cwj_graph_diagnose(cwj_state_of(op), code, name);
    cwj_graph_code_unref(code);
    return found;
}

PyDoc_STRVAR(made_by_doc, "The arguments of link(): (inputs, outputs, dict of keywords).");

static PyObject *
graph_made_by(PyObject *op, PyObject *Py_UNUSED(unused))
{
    PyObject *made_by = ((cwj_graph_object *)op)->made_by;
    return cwj_graph_plan_of(op) == NULL || made_by == NULL ? NULL : Py_NewRef(made_by);
}

static PyMethodDef graph_methods[] = {
    {"diagnose", graph_diagnose, METH_NOARGS, diagnose_doc},
    {"run", run, METH_NOARGS, run_doc},
    {"once", graph_once, METH_VARARGS, once_doc},
    {"bind", graph_bind, METH_VARARGS, bind_doc},
    {"wait", (PyCFunction)(void (*)(void))graph_wait, METH_VARARGS | METH_KEYWORDS, wait_doc},
    {"_made_by", graph_made_by, METH_NOARGS, made_by_doc},
    CWJ_REPR_HTML,
    CWJ_CONTENT_METHODS,
    {NULL, NULL, 0, NULL},
};

static PyMethodDef bound_methods[] = {
    {"run", run, METH_NOARGS, run_doc},
    CWJ_REPR_HTML,
    {"__reduce__", cwj_refuse_pickle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* ---- the life of both -------------------------------------------------------------- */

static int
graph_traverse(PyObject *op, visitproc visit, void *arg)
{
    cwj_graph_object *self = (cwj_graph_object *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->graph);
    Py_VISIT(self->made_by);
    if (self->plan != NULL) {
        Py_VISIT(self->plan->said);
    }
    return cwj_binding_traverse(&self->own, visit, arg);
}

static int
graph_clear(PyObject *op)
{
    cwj_graph_object *self = (cwj_graph_object *)op;
    cwj_graph_plan *plan = self->plan;
    cwj_graph_object *graph = self->graph;
    self->plan = NULL; /* first: a cleanup block may run any code, which may call the graph */
    self->graph = NULL;
    cwj_binding_clear(&self->own);
    cwj_graph_plan_free(plan);
    Py_XDECREF(graph);
    Py_CLEAR(self->made_by);
    return 0;
}

static void
graph_dealloc(PyObject *op)
{
    PyObject_GC_UnTrack(op);
    PyObject_ClearWeakRefs(op);
    graph_clear(op);
    cwj_live_counts[CWJ_LIVE_GRAPHS]--;
    cwj_object_free(op);
}

PyObject *
cwj_graph_new(cwj_module_state *state, cwj_graph_plan *plan, PyObject *made_by)
{
    PyTypeObject *type = state->graph_type;
    cwj_graph_object *self = (cwj_graph_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        cwj_graph_plan_free(plan);
        return NULL;
    }
    cwj_live_counts[CWJ_LIVE_GRAPHS]++;
    self->vectorcall = cwj_graph_invoke;
    self->plan = plan;
    self->made_by = Py_NewRef(made_by);
    if (cwj_binding_init(&self->own, plan, NULL, "link()") < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

/* ---- the types ---------------------------------------------------------------------------- */

/* Of both types, though a BoundGraph cannot be called. */
static PyMemberDef members[] = {
    {"error", T_OBJECT, offsetof(cwj_graph_object, own.error), READONLY,
     "The exception of the last run() or once(), or None."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(cwj_graph_object, weakrefs), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(cwj_graph_object, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(graph_doc, "A graph of types and ops, compiled to one callable. Made by link().\n\n"
                        "Called with a value per input, by position or by name, it returns the "
                        "output's value,\nor a tuple of them.");

PyDoc_STRVAR(bound_doc, "A linked graph with storages and a state of its own. Made by "
                        "Graph.bind().");

static PyType_Slot graph_slots[] = {
    {Py_tp_dealloc, graph_dealloc},  {Py_tp_traverse, graph_traverse},
    {Py_tp_clear, graph_clear},      {Py_tp_repr, cwj_graph_repr},
    {Py_tp_call, PyVectorcall_Call}, {Py_tp_getset, cwj_graph_getset},
    {Py_tp_members, members},        {Py_tp_methods, graph_methods},
    {Py_tp_doc, (void *)graph_doc},  {0, NULL},
};

static PyType_Slot bound_slots[] = {
    {Py_tp_dealloc, graph_dealloc}, {Py_tp_traverse, graph_traverse}, {Py_tp_clear, graph_clear},
    {Py_tp_repr, cwj_bound_repr},   {Py_tp_getset, cwj_bound_getset}, {Py_tp_members, members},
    {Py_tp_methods, bound_methods}, {Py_tp_doc, (void *)bound_doc},   {0, NULL},
};

enum {
    FLAGS = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
        Py_TPFLAGS_IMMUTABLETYPE
};

static PyType_Spec graph_spec = {
    .name = "cwrapjit.graph.Graph",
    .basicsize = sizeof(cwj_graph_object),
    .flags = FLAGS | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = graph_slots,
};

static PyType_Spec bound_spec = {
    .name = "cwrapjit.graph.BoundGraph",
    .basicsize = sizeof(cwj_graph_object),
    .flags = FLAGS,
    .slots = bound_slots,
};

int
cwj_add_graph_types(PyObject *extension, cwj_module_state *state)
{
    cwj_turn_prepare();
    state->filter_names = Py_BuildValue("(ss)", "strict", "allow_downcast");
    return state->filter_names == NULL ||
                   cwj_add_type(extension, &graph_spec, &state->graph_type) < 0 ||
                   cwj_add_type(extension, &bound_spec, &state->bound_type) < 0
               ? -1
               : 0;
}
