/* steps.c: see draft.h. Neighbouring nodes run as one C function, unless each shall be one
 * for itself; a node in Python stands between two of them. What goes from step to step, to
 * Python or to the caller goes through a storage. */
#include "graph/link/draft.h"

/* ---- cutting ----------------------------------------------------------- */

/* Puts each node into a step. */
static int
cut(cwj_draft *draft)
{
    cwj_graph_plan *plan = draft->plan;
    bool alone = draft->link->options->per_op || draft->link->options->check;
    bool open = false; /* the newest step takes more nodes */
    int nc = 0;
    plan->steps = cwj_allocate((size_t)plan->nnodes + 1, sizeof(*plan->steps));
    if (plan->steps == NULL) {
        return -1;
    }
    for (int n = 0; n < plan->nnodes; n++) {
        bool in_c = draft->nodes[n].in_c;
        if (!open || !in_c) {
            cwj_graph_plan_step step = {.node = alone || !in_c ? n : -1, .c = in_c ? nc++ : -1};
            plan->steps[plan->nsteps++] = step;
        }
        open = in_c && !alone;
        draft->nodes[n].step = plan->nsteps - 1;
    }
    draft->graph.nsteps = nc;
    return 0;
}

/* ---- what variables are ------------------------------------------------ */

/* The step that computes a variable; -1: none does. */
static int
step_of(const cwj_draft *draft, int variable)
{
    int owner = draft->variables[variable].owner;
    return owner < 0 ? -1 : draft->nodes[owner].step;
}

static void
mark_use(cwj_draft *draft, int variable, int step)
{
    cwj_graph_plan_variable *planned = &draft->plan->variables[variable];
    bool crosses = step_of(draft, variable) != step;
    if (draft->plan->steps[step].c < 0 || draft->link->options->check) {
        draft->variables[variable].in_python = true;
    }
    if (crosses && !planned->literal) {
        planned->stored = true;
    }
}

static void
mark_node(cwj_draft *draft, int n)
{
    const cwj_graph_plan_node *node = &draft->plan->nodes[n];
    for (int i = 0; i < node->nused; i++) {
        mark_use(draft, node->inputs[i], draft->nodes[n].step);
    }
}

static void
find_stored(cwj_draft *draft)
{
    for (int n = 0; n < draft->plan->nnodes; n++) {
        mark_node(draft, n);
    }
    for (int i = 0; i < draft->plan->nvariables; i++) {
        const cwj_draft_variable *variable = &draft->variables[i];
        cwj_graph_plan_variable *planned = &draft->plan->variables[i];
        planned->stored |= variable->is_input || variable->wanted || variable->in_python ||
                           (variable->is_constant && !planned->literal);
    }
}

/* ---- the uses of a step ------------------------------------------------ */

typedef struct {
    cwj_draft *draft;
    tj_graph_use *uses; /* all steps' */
    int nuses;
    int step, first; /* the newest step's uses start here */
} uses;

static void
add_use(uses *self, int variable)
{
    cwj_draft_variable *more = &self->draft->variables[variable];
    cwj_graph_plan_variable *planned = &self->draft->plan->variables[variable];
    if (planned->literal || more->last_step == self->step) {
        return;
    }
    tj_graph_role role = TJ_GRAPH_INPUT;
    more->last_step = self->step;
    more->nsteps++;
    if (more->owner >= 0 && step_of(self->draft, variable) == self->step) {
        role = planned->stored ? TJ_GRAPH_OUTPUT : TJ_GRAPH_TEMPORARY;
        planned->is_output = role == TJ_GRAPH_OUTPUT;
        planned->fetched = planned->is_output && more->fetches;
        more->begun = true;
    } else {
        role = more->is_constant ? TJ_GRAPH_CONSTANT : TJ_GRAPH_INPUT;
        more->extracted = true;
    }
    self->uses[self->nuses++] = (tj_graph_use){.variable = variable, .role = role};
}

static void
add_node(uses *self, int n)
{
    const cwj_graph_plan_node *node = &self->draft->plan->nodes[n];
    for (int i = 0; i < node->nused; i++) {
        add_use(self, node->inputs[i]);
    }
}

/* A graph looks at all its inputs, also at those that no node uses: the first C function
 * does. */
static void
add_unused_inputs(uses *self)
{
    const cwj_graph_plan *plan = self->draft->plan;
    for (int i = 0; i < plan->ninputs && plan->steps[self->step].c == 0; i++) {
        const cwj_draft_variable *variable = &self->draft->variables[i];
        if (variable->has_c && (plan->nsteps == 1 || !variable->has_client)) {
            add_use(self, i);
        }
    }
}

static int
compare_uses(const void *left, const void *right)
{
    return ((const tj_graph_use *)left)->variable - ((const tj_graph_use *)right)->variable;
}

static size_t
count_uses(const cwj_draft *draft)
{
    size_t count = (size_t)draft->plan->ninputs;
    for (int n = 0; n < draft->plan->nnodes; n++) {
        count += (size_t)draft->plan->nodes[n].nused;
    }
    return count;
}

/* Fills the tj_graph's steps, whose nodes stand one behind the other. */
static int
fill_steps(cwj_draft *draft)
{
    cwj_arena *arena = &draft->link->arena;
    cwj_graph_plan *plan = draft->plan;
    tj_graph_step *steps = cwj_arena_alloc(arena, (size_t)draft->graph.nsteps + 1, sizeof(*steps));
    int *nodes = cwj_arena_alloc(arena, (size_t)plan->nnodes + 1, sizeof(*nodes));
    uses self = {.draft = draft};
    self.uses = cwj_arena_alloc(arena, count_uses(draft) + 1, sizeof(*self.uses));
    if (steps == NULL || nodes == NULL || self.uses == NULL) {
        return -1;
    }
    int node = 0, nodes_in_c = 0;
    for (; self.step < plan->nsteps; self.step++) {
        tj_graph_step made = {.uses = self.uses + self.nuses, .nodes = nodes + nodes_in_c};
        self.first = self.nuses;
        for (; node < plan->nnodes && draft->nodes[node].step == self.step; node++) {
            if (draft->nodes[node].in_c) {
                add_node(&self, node);
                nodes[nodes_in_c++] = draft->nodes[node].number;
                made.nnodes++;
            }
        }
        if (made.nnodes > 0) {
            add_unused_inputs(&self);
            made.nuses = self.nuses - self.first;
            qsort(self.uses + self.first, (size_t)made.nuses, sizeof(*self.uses), compare_uses);
            steps[plan->steps[self.step].c] = made;
        }
    }
    draft->graph.steps = steps;
    return 0;
}

/* ---- what stays from run to run ---------------------------------------- */

/* Memory that the caller may see through a view must not be used again: escapes[v] says that
 * variable v, or something that shares memory with it, leaves C. Nodes stand in order, so what
 * uses a variable comes behind it. */
static void
find_escapes(const cwj_draft *draft, bool *escapes)
{
    for (int n = draft->plan->nnodes - 1; n >= 0; n--) {
        const cwj_graph_plan_node *node = &draft->plan->nodes[n];
        bool escape = false;
        for (int i = 0; i < node->noutputs && draft->nodes[n].shares; i++) {
            escape |= draft->plan->variables[node->outputs[i]].stored || escapes[node->outputs[i]];
        }
        for (int i = 0; i < node->ninputs && escape; i++) {
            escapes[node->inputs[i]] = true;
        }
    }
}

static int
find_kept(cwj_draft *draft)
{
    bool *escapes =
        cwj_arena_alloc(&draft->link->arena, (size_t)draft->plan->nvariables + 1, sizeof(*escapes));
    if (escapes == NULL) {
        return -1;
    }
    find_escapes(draft, escapes);
    for (int i = 0; i < draft->nnumbered; i++) {
        const cwj_draft_variable *variable = &draft->variables[i];
        cwj_graph_plan_variable *planned = &draft->plan->variables[i];
        if (variable->is_constant) {
            planned->kept = draft->plan->struct_form && variable->extracted;
        } else {
            planned->kept = draft->plan->struct_form && variable->begun && !variable->is_simple &&
                            !planned->fetched && !escapes[i] && variable->nsteps == 1;
        }
    }
    return 0;
}

static void
name_variable_blocks(cwj_draft *draft)
{
    for (int i = 0; i < draft->nnumbered; i++) {
        const cwj_draft_variable *variable = &draft->variables[i];
        const cwj_graph_plan_variable *planned = &draft->plan->variables[i];
        cwj_graph_plan_block *block = &draft->plan->blocks[i];
        if (variable->begun || variable->extracted) {
            block->object = planned->label;
            block->method = planned->fetched  ? "c_extract_out"
                            : variable->begun ? "c_init"
                                              : "c_extract";
        }
    }
}

int
cwj_draft_steps(cwj_draft *draft)
{
    if (cut(draft) < 0) {
        return -1;
    }
    find_stored(draft);
    if (fill_steps(draft) < 0 || find_kept(draft) < 0) {
        return -1;
    }
    name_variable_blocks(draft);
    return 0;
}
