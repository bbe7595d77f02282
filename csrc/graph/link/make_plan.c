/* make_plan.c: see plan.h. The life of a link, on one screen: have Python walk the graph, number what it has,
 * ask types and ops for their texts and say what each variable is in each step (cwrapjit/graph/reading.py); read
 * that, compile. Nothing of this is left afterwards but the plan. */
#include "graph/link/link.h"
#include "graph/link/read_plan.h"

static PyObject *
read_graph(const cwj_link_options *options)
{
#define FLAG(name) options->name ? Py_True : Py_False
    return cwj_ask_python("cwrapjit.graph.reading", "read_graph", "(OOOOOOOOO)", options->name,
                          options->inputs, options->outputs,
                          options->updates == NULL ? Py_None : options->updates, FLAG(struct_form),
                          FLAG(per_op), FLAG(validate), FLAG(check), FLAG(python));
#undef FLAG
}

static int
compile(cwj_module_state *state, cwj_graph_plan *plan, cwj_unit_of_graph *unit,
        const cwj_link_options *options)
{
    if (unit->graph.nsteps == 0) {
        return 0; /* nothing but Python, or nothing at all */
    }
    unit->graph.name = PyUnicode_AsUTF8(options->name);
    unit->graph.struct_form = options->struct_form;
    cwj_graph_request *request = &unit->request;
    request->graph = &unit->graph;
    request->environment = &unit->environment;
    request->who = "link()";
    request->optimize = options->optimize;
    request->eager = options->eager;
    request->fastmath = options->fastmath;
    request->debug = options->debug;
    request->checks = options->checks;
    plan->code = unit->graph.name == NULL ? NULL : cwj_graph_code_get(state, request);
    return plan->code == NULL ? -1 : 0;
}

cwj_graph_plan *
cwj_make_plan(cwj_module_state *state, const cwj_link_options *options)
{
    cwj_unit_of_graph unit = {0};
    cwj_graph_plan *plan = cwj_allocate(1, sizeof(*plan));
    PyObject *said = plan == NULL ? NULL : read_graph(options);
    int status = -1;
    if (said != NULL) {
        plan->name = Py_NewRef(options->name);
        plan->struct_form = options->struct_form;
        plan->check = options->check;
        status = cwj_read_plan(plan, &unit, said) < 0 ? -1 : compile(state, plan, &unit, options);
    }
    cwj_arena_clear(&unit.arena);
    Py_XDECREF(said);
    if (status < 0) {
        cwj_graph_plan_free(plan);
        plan = NULL;
    }
    return plan;
}
