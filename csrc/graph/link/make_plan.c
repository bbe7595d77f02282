/* make_plan.c: see plan.h. The life of a link, on one screen: have Python walk the graph and
 * number what it has (cwrapjit/graph/walk.py), ask types and ops for their texts, say what each variable is
 * in each step, collect what the unit needs, compile. Nothing of this is left afterwards
 * but the plan. */
#include "graph/link/draft.h"
#include "graph/link/link.h"

/* ---- compiling --------------------------------------------------------- */

static int
compile(cwj_draft *draft)
{
    const cwj_link_options *options = draft->link->options;
    tj_environment_options environment = {0};
    tj_graph *graph = &draft->graph;
    if (graph->nsteps == 0) {
        return 0; /* nothing but Python, or nothing at all */
    }
    graph->name = cwj_linking_utf8(draft->link, options->name, NULL);
    graph->struct_form = options->struct_form;
    graph->nvariables = draft->nnumbered;
    graph->variables = draft->texts;
    graph->nodes = draft->node_texts;
    cwj_graph_request request = {.graph = graph,
                                 .environment = &environment,
                                 .who = "link()",
                                 .optimize = options->optimize,
                                 .eager = options->eager,
                                 .fastmath = options->fastmath,
                                 .debug = options->debug,
                                 .checks = options->checks};
    if (graph->name == NULL || cwj_draft_settings(draft, &environment, &request) < 0) {
        return -1;
    }
    draft->plan->code = cwj_graph_code_get(draft->link->state, &request);
    return draft->plan->code == NULL ? -1 : 0;
}

/* ---- the whole --------------------------------------------------------- */

static int
make_plan(cwj_draft *draft)
{
    if (cwj_draft_number(draft) < 0 || cwj_draft_declarations(draft) < 0 ||
        cwj_draft_operations(draft) < 0 || cwj_draft_steps(draft) < 0 ||
        cwj_draft_values(draft) < 0) {
        return -1;
    }
    return compile(draft);
}

cwj_graph_plan *
cwj_make_plan(cwj_module_state *state, const cwj_link_options *options)
{
    cwj_graph_plan *plan = cwj_allocate(1, sizeof(*plan));
    if (plan == NULL) {
        return NULL;
    }
    plan->name = Py_NewRef(options->name);
    plan->struct_form = options->struct_form;
    plan->check = options->check;
    cwj_linking link = {.state = state, .options = options};
    cwj_draft draft = {.link = &link, .plan = plan};
    link.kept = PyList_New(0);
    link.signatures = PyDict_New();
    int status = link.kept == NULL || link.signatures == NULL ? -1 : make_plan(&draft);
    cwj_arena_clear(&link.arena);
    Py_XDECREF(link.kept);
    Py_XDECREF(link.signatures);
    if (status < 0) {
        cwj_graph_plan_free(plan);
        plan = NULL;
    }
    return plan;
}
