/* make_plan.c: see plan.h. The life of a link, on one screen: have Python walk the graph and
 * number what it has (cwrapjit/graph/walk.py), ask types and ops for their texts, say what each variable is
 * in each step, collect what the unit needs, compile. Nothing of this is left afterwards
 * but the plan. */
#include "graph/link/draft.h"
#include "graph/link/link.h"

static const char who[] = "link()";

/* ---- what the unit needs ----------------------------------------------- */

/* The types of the variables that are in C, then the ops, each once. */
static cwj_party *
list_parties(cwj_draft *draft, size_t *count)
{
    const cwj_graph_plan *plan = draft->plan;
    bool *met = cwj_arena_alloc(&draft->link->arena, (size_t)draft->nkinds + 1, sizeof(*met));
    size_t most = (size_t)plan->nvariables + (size_t)plan->nnodes;
    cwj_party *parties = cwj_arena_alloc(&draft->link->arena, most + 1, sizeof(*parties));
    *count = 0;
    for (int i = 0; i < plan->nvariables + plan->nnodes && parties != NULL && met != NULL; i++) {
        bool is_op = i >= plan->nvariables;
        int n = i - plan->nvariables;
        const cwj_draft_variable *variable = &draft->variables[is_op ? 0 : i];
        bool in_c = is_op ? draft->nodes[n].in_c
                          : plan->variables[i].literal || variable->begun || variable->extracted;
        int kind = is_op ? draft->nodes[n].kind : variable->kind;
        if (in_c && !met[kind]) {
            met[kind] = true;
            parties[(*count)++] = (cwj_party){
                .object = is_op ? plan->nodes[n].op : plan->variables[i].type,
                .about = is_op ? plan->nodes[n].label : plan->variables[i].label,
                .is_op = is_op,
            };
        }
    }
    return met == NULL ? NULL : parties;
}

/* Versions of types once, of ops for each node: it is a node that has a version. */
static int
collect_versions(cwj_draft *draft, const cwj_party *parties, size_t count)
{
    for (size_t i = 0; i < count && !parties[i].is_op; i++) {
        if (cwj_settings_add_version(draft->link, &draft->settings, &parties[i], NULL) < 0) {
            return -1;
        }
    }
    for (int n = 0; n < draft->plan->nnodes; n++) {
        const cwj_graph_plan_node *node = &draft->plan->nodes[n];
        cwj_party party = {.object = node->op, .about = node->label, .is_op = true};
        if (draft->nodes[n].in_c &&
            cwj_settings_add_version(draft->link, &draft->settings, &party, node->node) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
collect_settings(cwj_draft *draft)
{
    size_t count;
    const cwj_party *parties = list_parties(draft, &count);
    if (parties == NULL ||
        cwj_settings_collect(draft->link, &draft->settings, parties, count) < 0 ||
        cwj_draft_init_codes(draft) < 0 || collect_versions(draft, parties, count) < 0) {
        return -1;
    }
    return 0;
}

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
    PyObject *versions =
        graph->name == NULL ? NULL
                            : cwj_settings_fill(draft->link, &draft->settings, graph, &environment);
    if (versions == NULL) {
        return -1;
    }
    cwj_graph_request request = {.graph = graph,
                                 .environment = &environment,
                                 .libraries = draft->settings.libraries,
                                 .library_dirs = draft->settings.library_dirs,
                                 .compiler = draft->settings.compiler,
                                 .versions = versions == Py_None ? NULL : versions,
                                 .who = who,
                                 .optimize = options->optimize,
                                 .eager = options->eager,
                                 .fastmath = options->fastmath,
                                 .debug = options->debug,
                                 .checks = options->checks};
    draft->plan->code = cwj_graph_code_get(draft->link->state, &request);
    Py_DECREF(versions);
    return draft->plan->code == NULL ? -1 : 0;
}

/* ---- the whole --------------------------------------------------------- */

static int
make_plan(cwj_draft *draft)
{
    if (cwj_draft_number(draft) < 0 || cwj_draft_declarations(draft) < 0 ||
        cwj_draft_operations(draft) < 0 || cwj_draft_steps(draft) < 0 ||
        cwj_draft_values(draft) < 0 || collect_settings(draft) < 0) {
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
    cwj_settings_clear(&draft.settings);
    cwj_arena_clear(&link.arena);
    Py_XDECREF(link.kept);
    Py_XDECREF(link.signatures);
    if (status < 0) {
        cwj_graph_plan_free(plan);
        plan = NULL;
    }
    return plan;
}
