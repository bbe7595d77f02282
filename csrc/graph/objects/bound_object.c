/* bound_object.c: type cwrapjit.graph.BoundGraph, a graph's C code with storages and a state of its own.
 *
 * It holds its Graph, which alone owns the plan, so that the garbage collector finds
 * cycles through what is in a plan. The code it holds itself, because its state needs
 * that to its end.
 */
#include "graph/objects/graph_object.h"

#include "base/errors.h"

#include <structmember.h>

typedef struct {
    PyObject_HEAD
    cwj_graph_object *graph; /* owned; NULL: cleared by the garbage collector */
    cwj_binding binding;
    PyObject *weakrefs;
} bound_object;

/* ---- methods and attributes ---------------------------------------------------- */

static int
check_alive(const bound_object *self)
{
    if (self->graph == NULL || self->graph->plan == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "this BoundGraph is gone: a finalizer revived it");
        return -1;
    }
    return 0;
}

PyDoc_STRVAR(run_doc, "run($self, /)\n--\n\n"
                      "Run the graph on the storages.\n\n"
                      "Returns 0, or the number of the block that failed; error is its exception "
                      "then.");

static PyObject *
bound_run(PyObject *op, PyObject *Py_UNUSED(unused))
{
    bound_object *self = (bound_object *)op;
    if (check_alive(self) < 0) {
        return NULL;
    }
    int code, status;
    Py_INCREF(op);
    status = cwj_binding_run_in_turn(&self->binding, cwj_state_of(op), self->graph->plan, &code);
    Py_DECREF(op);
    return status < 0 ? NULL : PyLong_FromLong(code);
}

static PyObject *
get_cells(PyObject *op, void *Py_UNUSED(closure))
{
    bound_object *self = (bound_object *)op;
    return check_alive(self) < 0 ? NULL : Py_NewRef(self->binding.cells);
}

static PyObject *
get_error(PyObject *op, void *Py_UNUSED(closure))
{
    PyObject *error = ((bound_object *)op)->binding.error;
    return Py_NewRef(error == NULL ? Py_None : error);
}

static PyObject *
get_graph(PyObject *op, void *Py_UNUSED(closure))
{
    bound_object *self = (bound_object *)op;
    return check_alive(self) < 0 ? NULL : Py_NewRef(self->graph);
}

static PyGetSetDef bound_getset[] = {
    {"cells", get_cells, NULL, "The storages: one list per input, then one per output.", NULL},
    {"error", get_error, NULL, "The exception of the last run, or None.", NULL},
    {"graph", get_graph, NULL, "The Graph that was bound.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef bound_methods[] = {
    {"run", bound_run, METH_NOARGS, run_doc},
    {"__reduce__", cwj_refuse_pickle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* ---- the type --------------------------------------------------------------------- */

static PyObject *
bound_repr(PyObject *op)
{
    bound_object *self = (bound_object *)op;
    if (check_alive(self) < 0) {
        return NULL;
    }
    return PyUnicode_FromFormat("<cwrapjit.graph.BoundGraph %U with %zd storages>",
                                self->graph->plan->name, PyTuple_GET_SIZE(self->binding.cells));
}

static int
bound_traverse(PyObject *op, visitproc visit, void *arg)
{
    bound_object *self = (bound_object *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->graph);
    return cwj_binding_traverse(&self->binding, visit, arg);
}

static int
bound_clear(PyObject *op)
{
    bound_object *self = (bound_object *)op;
    cwj_graph_object *graph = self->graph;
    self->graph = NULL; /* first: cleanups may be anybody's C, and run this */
    cwj_binding_clear(&self->binding);
    Py_XDECREF(graph);
    return 0;
}

static void
bound_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    if (((bound_object *)op)->weakrefs != NULL) {
        PyObject_ClearWeakRefs(op);
    }
    bound_clear(op);
    type->tp_free(op);
    Py_DECREF(type);
}

/* In struct form the state begins at once. */
static int
begin(bound_object *self)
{
    const cwj_graph_plan *plan = self->graph->plan;
    if (!plan->struct_form) {
        return 0;
    }
    if (cwj_binding_take_turn(&self->binding, plan) < 0) {
        return -1;
    }
    int failure = cwj_binding_begin(&self->binding, plan);
    cwj_turn_give(&self->binding.turn);
    return failure == 0 ? 0 : -1;
}

PyObject *
cwj_bound_new(cwj_graph_object *graph, PyObject *storages)
{
    PyTypeObject *type = cwj_state_of((PyObject *)graph)->bound_type;
    bound_object *self = (bound_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->graph = (cwj_graph_object *)Py_NewRef(graph);
    if (cwj_binding_init(&self->binding, graph->plan, storages, "bind()") < 0 || begin(self) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyMemberDef bound_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(bound_object, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(bound_doc, "A linked graph with storages and a state of its own. Made by "
                        "Graph.bind().");

static PyType_Slot bound_slots[] = {
    {Py_tp_dealloc, bound_dealloc},
    {Py_tp_traverse, bound_traverse},
    {Py_tp_clear, bound_clear},
    {Py_tp_repr, bound_repr},
    {Py_tp_getset, bound_getset},
    {Py_tp_members, bound_members},
    {Py_tp_methods, bound_methods},
    {Py_tp_doc, (void *)bound_doc},
    {0, NULL},
};

static PyType_Spec bound_spec = {
    .name = "cwrapjit.graph.BoundGraph",
    .basicsize = sizeof(bound_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = bound_slots,
};

int
cwj_add_bound_type(PyObject *extension, cwj_module_state *state)
{
    state->bound_type = (PyTypeObject *)PyType_FromModuleAndSpec(extension, &bound_spec, NULL);
    if (state->bound_type == NULL) {
        return -1;
    }
    return PyModule_AddObjectRef(extension, "BoundGraph", (PyObject *)state->bound_type);
}
