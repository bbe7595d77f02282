/* link.c: compile_graph() makes a Graph from what link() finds (cwrapjit/graph/linking.py). Only the plan remains. */
#include "graph/link/link.h"

#include "base/choices.h"
#include "base/config.h"
#include "graph/code/tier.h"
#include "graph/link/read_plan.h"
#include "graph/objects/graph_object.h"

static const char who[] = "link()";

/* Borrowed. None: optimize, math and debug come from cwrapjit.config. */
typedef struct {
    PyObject *optimize, *fastmath, *math, *debug;
} options;

static int
read_options(cwj_module_state *state, const options *given, cwj_graph_request *request)
{
    int optimize = cwj_given(given->optimize)
                       ? cwj_parse_optimize(given->optimize, who)
                       : cwj_config_number(state->config, CWJ_SETTING_OPTIMIZE);
    int debug = cwj_given(given->debug) ? cwj_parse_debug(given->debug, who)
                                        : cwj_config_number(state->config, CWJ_SETTING_DEBUG);
    int fastmath =
        cwj_given(given->fastmath) ? cwj_parse_bool(given->fastmath, who, "fastmath") : 0;
    int math = cwj_given(given->math) ? cwj_parse_math(given->math, who)
                                      : cwj_config_number(state->config, CWJ_SETTING_MATH);
    request->debug = debug > CWJ_DEBUG_OFF;
    request->optimize = optimize != CWJ_OPTIMIZE_OFF && !request->debug;
    request->checks = optimize != CWJ_OPTIMIZE_OFF && request->debug;
    request->eager = optimize == CWJ_OPTIMIZE_EAGER && !request->debug;
    request->fastmath = fastmath > 0;
    request->libm = math == CWJ_MATH_LIBM;
    return optimize < 0 || debug < 0 || fastmath < 0 || math < 0 ? -1 : 0;
}

/* code: a capsule of the code of an equal unit, or None. */
static int
compile(cwj_module_state *state, cwj_graph_plan *plan, cwj_unit_of_graph *unit, PyObject *code)
{
    if (unit->graph.nsteps == 0) {
        return 0; /* no node runs in C */
    }
    unit->graph.name = PyUnicode_AsUTF8(plan->name);
    unit->graph.struct_form = plan->struct_form;
    unit->request.graph = &unit->graph;
    unit->request.environment = &unit->environment;
    unit->request.who = who;
    plan->code = unit->graph.name == NULL ? NULL
                 : code != Py_None        ? cwj_graph_code_ref(cwj_graph_code_in(code))
                                          : cwj_graph_code_new(state, &unit->request);
    return plan->code == NULL || (unit->request.eager && unit->request.optimize &&
                                  cwj_graph_wait(state, plan->code, -1.0) < 0)
               ? -1
               : 0;
}

/* Returns (Graph, capsule of its code or None). */
static PyObject *
compile_graph(PyObject *extension, PyObject *args)
{
    cwj_module_state *state = PyModule_GetState(extension);
    cwj_unit_of_graph unit = {0};
    options given;
    PyObject *said, *made_by, *code, *graph = NULL, *kept = NULL;
    int struct_form, check;
    if (!PyArg_ParseTuple(args, "OOOppOOOO:compile_graph", &said, &made_by, &code, &struct_form,
                          &check, &given.optimize, &given.fastmath, &given.math, &given.debug) ||
        read_options(state, &given, &unit.request) < 0) {
        return NULL;
    }
    cwj_graph_plan *plan = cwj_allocate(1, sizeof(*plan));
    if (plan == NULL) {
        return NULL;
    }
    plan->struct_form = struct_form;
    plan->check = check;
    if (cwj_read_plan(plan, &unit, said) == 0 && compile(state, plan, &unit, code) == 0) {
        kept = plan->code == NULL ? Py_NewRef(Py_None) : cwj_graph_code_capsule(plan->code);
        graph = cwj_graph_new(state, plan, made_by);
    } else {
        cwj_graph_plan_free(plan);
    }
    cwj_arena_clear(&unit.arena);
    PyObject *both = graph == NULL || kept == NULL ? NULL : PyTuple_Pack(2, graph, kept);
    Py_XDECREF(graph);
    Py_XDECREF(kept);
    return both;
}

int
cwj_add_link(PyObject *extension)
{
    static PyMethodDef functions[] = {
        {"compile_graph", compile_graph, METH_VARARGS, NULL},
        {NULL, NULL, 0, NULL},
    };
    return PyModule_AddFunctions(extension, functions);
}
