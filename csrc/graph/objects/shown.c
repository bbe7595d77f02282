/* shown.c: computes the attributes and the repr() of Graphs and BoundGraphs, on demand. */
#include "graph/objects/graph_object.h"

#include "base/jobs.h"
#include "graph/code/tier.h"

const cwj_graph_plan *
cwj_graph_plan_of(PyObject *op)
{
    const cwj_graph_object *self = (cwj_graph_object *)op;
    const cwj_graph_plan *plan = self->graph == NULL ? self->plan : self->graph->plan;
    if (plan == NULL) {
        PyErr_Format(PyExc_RuntimeError, "this %s is gone: a finalizer revived it",
                     strrchr(Py_TYPE(op)->tp_name, '.') + 1);
    }
    return plan;
}

/* ---- attributes --------------------------------------------------------------- */

static const char source[] = "source", compiler[] = "compiler", tier[] = "tier";
static const char blocks[] = "blocks", inputs[] = "inputs", outputs[] = "outputs";

/* source, compiler or tier of the code; defaults if the graph has no C step. */
static PyObject *
get_of_code(PyObject *op, void *which)
{
    const cwj_graph_plan *plan = cwj_graph_plan_of(op);
    const cwj_graph_code *code = plan == NULL ? NULL : plan->code;
    if (plan == NULL) {
        return NULL;
    }
    if (code == NULL || which == tier) {
        return PyUnicode_FromString(code != NULL      ? cwj_graph_tier(code)
                                    : which == source ? ""
                                                      : "tcc");
    }
    return Py_NewRef(which == source ? code->source : code->compiler);
}

static PyObject *
get_cells(PyObject *op, void *Py_UNUSED(closure))
{
    return cwj_graph_plan_of(op) == NULL ? NULL : Py_NewRef(((cwj_graph_object *)op)->own.cells);
}

static PyObject *
get_tier_error(PyObject *op, void *Py_UNUSED(closure))
{
    const cwj_graph_plan *plan = cwj_graph_plan_of(op);
    const char *name = plan == NULL ? NULL : PyUnicode_AsUTF8(plan->name);
    if (name == NULL) {
        return NULL;
    }
    return plan->code == NULL ? Py_NewRef(Py_None)
                              : cwj_graph_tier_error(cwj_state_of(op), plan->code, name);
}

static PyObject *
get_of_plan(PyObject *op, void *which)
{
    const cwj_graph_plan *plan = cwj_graph_plan_of(op);
    return plan == NULL ? NULL : Py_NewRef(which == blocks ? plan->blocks : plan->name);
}

static PyObject *
get_variables(PyObject *op, void *which)
{
    const cwj_graph_plan *plan = cwj_graph_plan_of(op);
    int first = plan == NULL || which == inputs ? 0 : plan->ninputs;
    int count = plan == NULL ? 0 : which == inputs ? plan->ninputs : plan->noutputs;
    PyObject *variables = plan == NULL ? NULL : PyTuple_New(count);
    for (int i = 0; i < count && variables != NULL; i++) {
        int v = cwj_cell_variable(plan, first + i);
        PyTuple_SET_ITEM(variables, i, Py_NewRef(plan->variables[v].variable));
    }
    return variables;
}

static PyObject *
get_graph(PyObject *op, void *Py_UNUSED(closure))
{
    return cwj_graph_plan_of(op) == NULL ? NULL : Py_NewRef(((cwj_graph_object *)op)->graph);
}

static PyObject *
get_python_signature(PyObject *op, void *Py_UNUSED(closure))
{
    const cwj_graph_plan *plan = cwj_graph_plan_of(op);
    return plan == NULL
               ? NULL
               : cwj_ask_python("cwrapjit._signature", "build_graph", "(O)", plan->input_names);
}

PyGetSetDef cwj_graph_getset[] = {
    {"__signature__", get_python_signature, NULL, "What inspect.signature() shows.", NULL},
    {"name", get_of_plan, NULL, "What messages call the graph.", NULL},
    {source, get_of_code, NULL, "The generated C text, without the prelude.", (void *)source},
    {compiler, get_of_code, NULL, "'tcc', or the command that a type or op insists on.",
     (void *)compiler},
    {tier, get_of_code, NULL, "What compiled the code that runs: 'tcc' or 'cc'.", (void *)tier},
    {"tier_error", get_tier_error, NULL, CWJ_TIER_ERROR_DOC, NULL},
    {"cells", get_cells, NULL,
     "The graph's storages: a list of one object per input, then per output.", NULL},
    {blocks, get_of_plan, NULL, "What each failure code means: blocks[code - 1].", (void *)blocks},
    {inputs, get_variables, NULL, "The input variables.", (void *)inputs},
    {outputs, get_variables, NULL, "The output variables.", (void *)outputs},
    {NULL, NULL, NULL, NULL, NULL},
};

PyGetSetDef cwj_bound_getset[] = {
    {"cells", get_cells, NULL, "The storages: one list per input, then one per output.", NULL},
    {"graph", get_graph, NULL, "The Graph that was bound.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* ---- in one line ------------------------------------------------------- */

PyObject *
cwj_graph_repr(PyObject *op)
{
    cwj_graph_object *self = (cwj_graph_object *)op;
    const cwj_graph_plan *plan = cwj_graph_plan_of(op);
    PyObject *names = plan == NULL ? NULL : PyUnicode_FromString("");
    for (int i = 0; names != NULL && i < plan->ninputs; i++) {
        PyObject *name = PyTuple_GET_ITEM(plan->input_names, i);
        Py_SETREF(names, PyUnicode_FromFormat("%U%s%S", names, i > 0 ? ", " : "",
                                              PyUnicode_Check(name) ? name : Py_None));
    }
    if (names == NULL) {
        return NULL;
    }
    PyObject *text = PyUnicode_FromFormat(
        "<cwrapjit.graph.Graph %U(%U): %d node%s, %d output%s, %s form%s>", plan->name, names,
        plan->nnodes, plan->nnodes == 1 ? "" : "s", plan->noutputs, plan->noutputs == 1 ? "" : "s",
        plan->struct_form ? "struct" : "function", self->own.faulted ? "; has faulted" : "");
    Py_DECREF(names);
    return text;
}

PyObject *
cwj_bound_repr(PyObject *op)
{
    const cwj_graph_plan *plan = cwj_graph_plan_of(op);
    return plan == NULL ? NULL
                        : PyUnicode_FromFormat("<cwrapjit.graph.BoundGraph %U with %d storages>",
                                               plan->name, plan->ninputs + plan->noutputs);
}
