/* operations.c: see draft.h. The texts of nodes, from their ops.
 *
 * Blocks of nodes follow those of variables: for each node a validate block where it has
 * one, then its code. A node that runs in Python has a number too, so that the numbers do
 * not depend on what has C. */
#include "graph/link/draft.h"

#include "base/tuples.h"
#include "base/errors.h"
#include "graph/attributes.h"

/* A node, while its op is being asked. */
typedef struct {
    cwj_draft *draft;
    int n;
    cwj_party party;
    bool required; /* it must have C: there is no way to run it in Python */
    const char *fail;
    PyObject *name, *sub; /* owned */
    tj_binding *bindings; /* of a template */
    size_t nbindings;
} asking;

static const cwj_graph_plan_node *
node_of(const asking *self)
{
    return &self->draft->plan->nodes[self->n];
}

/* ---- texts of templates ------------------------------------------------ */

static int
ask_raw(asking *self, const char *method, bool required, tj_piece *piece)
{
    cwj_question question = {.method = method, .required = required};
    return cwj_ask_text(self->draft->link, &self->party, &question, piece);
}

static int
fill(asking *self, const char *method, const char *fail, tj_piece *piece)
{
    self->bindings[0].text = fail;
    return cwj_draft_fill(self->draft, &self->party, method, self->bindings, self->nbindings,
                          piece);
}

/* The validate block, where the op has one and the caller wants it. Its number is the next. */
static int
ask_validate(asking *self, int *block, tj_graph_node *text)
{
    static const char method[] = "c_validate_update", cleanup[] = "c_validate_update_cleanup";
    cwj_draft_node *node = &self->draft->nodes[self->n];
    if (!self->draft->link->options->validate) {
        return 0;
    }
    if (ask_raw(self, method, false, &text->validate) < 0 ||
        ask_raw(self, cleanup, false, &text->validate_cleanup) < 0) {
        return -1;
    }
    if (text->validate.length == 0 && text->validate_cleanup.length == 0) {
        return 0;
    }
    node->validate_block = text->validate_block = ++*block;
    const char *fail = cwj_draft_fail(self->draft, *block, false);
    if (fail == NULL || fill(self, method, fail, &text->validate) < 0 ||
        fill(self, cleanup, fail, &text->validate_cleanup) < 0) {
        return -1;
    }
    return 0;
}

/* 1; 0: it has no C. */
static int
ask_template(asking *self, tj_graph_node *text)
{
    int found = ask_raw(self, "c_code", self->required, &text->code);
    if (found <= 0 || ask_raw(self, "c_code_cleanup", false, &text->code_cleanup) < 0 ||
        fill(self, "c_code", self->fail, &text->code) < 0 ||
        fill(self, "c_code_cleanup", self->fail, &text->code_cleanup) < 0) {
        return found == 0 ? 0 : -1;
    }
    return 1;
}

/* ---- texts that come filled -------------------------------------------- */

/* The C names of variables, in a list of the method's own. */
static PyObject *
list_names(const cwj_draft *draft, const int *variables, int count)
{
    PyObject *list = PyList_New(count);
    for (int i = 0; list != NULL && i < count; i++) {
        PyList_SET_ITEM(list, i, Py_NewRef(draft->variables[variables[i]].name));
    }
    return list;
}

/* c_code and c_code_cleanup. */
static int
ask_filled(asking *self, const char *method, bool required, tj_piece *piece)
{
    const cwj_graph_plan_node *node = node_of(self);
    PyObject *inputs = list_names(self->draft, node->inputs, node->ninputs);
    PyObject *outputs = list_names(self->draft, node->outputs, node->noutputs);
    PyObject *sub = PyDict_Copy(self->sub);
    PyObject *arguments[] = {node->node, self->name, inputs, outputs, sub};
    cwj_question question = {
        .method = method, .arguments = arguments, .narguments = 5, .required = required};
    int found = inputs == NULL || outputs == NULL || sub == NULL
                    ? -1
                    : cwj_ask_text(self->draft->link, &self->party, &question, piece);
    Py_XDECREF(inputs);
    Py_XDECREF(outputs);
    Py_XDECREF(sub);
    return found;
}

/* The methods for a node as such: (node, name), and sub for one of them. */
static int
ask_own(asking *self, const char *method, bool with_sub, tj_piece *piece)
{
    PyObject *arguments[] = {node_of(self)->node, self->name, self->sub};
    cwj_question question = {
        .method = method, .arguments = arguments, .narguments = with_sub ? 3 : 2};
    return cwj_ask_text(self->draft->link, &self->party, &question, piece);
}

/* Parameters are there when a state begins only where it keeps them. */
static int
check_struct_init(const asking *self, const tj_piece *piece)
{
    const cwj_graph_plan *plan = self->draft->plan;
    int params = node_of(self)->params;
    if (plan->struct_form || params < 0 || plan->variables[params].literal || piece->length == 0) {
        return 0;
    }
    if (strstr(piece->text, self->draft->texts[params].name) != NULL) {
        return cwj_refuse_answer(&self->party, "c_init_code_struct", PyExc_ValueError,
                                 "uses parameters, which takes mode='struct'");
    }
    return 0;
}

static int
ask_own_texts(asking *self, tj_graph_node *text)
{
    if (ask_own(self, "c_support_code_apply", false, &text->support) < 0 ||
        ask_own(self, "c_element_code", false, &text->element) < 0 ||
        ask_own(self, "c_support_code_struct", false, &text->struct_declare) < 0 ||
        ask_own(self, "c_init_code_struct", true, &text->struct_init) < 0 ||
        ask_own(self, "c_cleanup_code_struct", false, &text->struct_cleanup) < 0) {
        return -1;
    }
    return check_struct_init(self, &text->struct_init);
}

/* ---- one node ---------------------------------------------------------- */

/* The first variable without C, or -1. */
static int
find_foreign(const asking *self)
{
    const cwj_graph_plan_node *node = node_of(self);
    for (int i = 0; i < node->nused; i++) {
        int variable = node->inputs[i];
        if (!self->draft->plan->variables[variable].literal &&
            !self->draft->variables[variable].has_c) {
            return variable;
        }
    }
    return -1;
}

static PyObject *
make_sub(const asking *self, int block)
{
    PyObject *sub =
        Py_BuildValue("{s:s,s:i,s:s}", "fail", self->fail, "id", block, "failure_var", "failure");
    int params = node_of(self)->params;
    if (params >= 0) {
        cwj_dict_put(&sub, "params", Py_NewRef(self->draft->variables[params].name));
    }
    return sub;
}

/* Names the node, for C, for its pieces and for comments. */
static int
prepare(asking *self, tj_graph_node *text)
{
    const cwj_graph_plan_node *node = node_of(self);
    cwj_draft *draft = self->draft;
    int fallback = cwj_flag(node->op, "python_fallback", 0);
    if (fallback < 0) {
        return -1;
    }
    PyObject *outputs = draft->nodes[self->n].outputs;
    PyObject *label = PyUnicode_FromFormat("%U = %U", outputs, node->label);
    self->party =
        (cwj_party){.object = node->op, .about = node->label, .piece = outputs, .is_op = true};
    self->required = !draft->link->options->python && fallback == 0;
    self->name = PyUnicode_FromFormat("node_%d", self->n + 1);
    if (self->name != NULL && label != NULL) {
        text->name = draft->nodes[self->n].name = cwj_linking_utf8(draft->link, self->name, NULL);
        text->label = cwj_linking_utf8(draft->link, label, NULL);
    }
    Py_XDECREF(label);
    return text->name == NULL || text->label == NULL ? -1 : 0;
}

/* Asks for all texts of a node whose variables have C. 1; 0: it has no C; -1. */
static int
ask_texts(asking *self, int *block, tj_graph_node *text)
{
    PyObject *names = NULL;
    int found = cwj_graph_attribute(self->party.object, "c_var_names", &names);
    bool is_template = found > 0 && names != Py_None;
    self->draft->nodes[self->n].is_template = is_template;
    Py_XDECREF(names);
    if (found < 0 ||
        (is_template && cwj_draft_bind(self->draft, self->n, &self->party, &self->bindings,
                                       &self->nbindings) < 0) ||
        (is_template && ask_validate(self, block, text) < 0)) {
        return -1;
    }
    text->code_block = *block + 1;
    self->fail = cwj_draft_fail(self->draft, text->code_block, false);
    self->sub = self->fail == NULL ? NULL : make_sub(self, text->code_block);
    if (self->sub == NULL) {
        return -1;
    }
    if (is_template) {
        found = ask_template(self, text);
    } else {
        found = ask_filled(self, "c_code", self->required, &text->code);
        if (found > 0 && ask_filled(self, "c_code_cleanup", false, &text->code_cleanup) < 0) {
            return -1;
        }
    }
    return found > 0 && ask_own_texts(self, text) < 0 ? -1 : found;
}

/* A node without C needs perform(). */
static int
check_perform(const asking *self)
{
    PyObject *perform = NULL;
    int found = cwj_graph_attribute(self->party.object, "perform", &perform);
    Py_XDECREF(perform);
    if (found == 0) {
        PyObject *name =
            cwj_ask_python("cwrapjit.graph.labels", "op_label", "(O)", self->party.object);
        if (name != NULL) {
            cwj_refuse("link()", PyExc_NotImplementedError,
                       "op %S has neither c_code nor perform, one of which %U needs", name,
                       self->party.about);
        }
        Py_XDECREF(name);
    }
    return found > 0 ? 0 : -1;
}

static void
name_block(cwj_draft *draft, int block, PyObject *label, const char *method)
{
    draft->plan->blocks[block - 1] = (cwj_graph_plan_block){.object = label, .method = method};
}

/* Asks node n; block is the newest number so far. */
static int
ask_node(asking *self, int *block)
{
    cwj_draft *draft = self->draft;
    cwj_graph_plan_node *planned = &draft->plan->nodes[self->n];
    cwj_draft_node *node = &draft->nodes[self->n];
    tj_graph_node *text = &draft->node_texts[draft->graph.nnodes];
    if (prepare(self, text) < 0) {
        return -1;
    }
    int foreign = find_foreign(self);
    if (foreign >= 0 && self->required) {
        return cwj_draft_refuse_variable(draft, foreign);
    }
    int found = foreign >= 0 ? 0 : ask_texts(self, block, text);
    if (found < 0 || (found == 0 && check_perform(self) < 0)) {
        return -1;
    }
    planned->code_block = ++*block;
    node->in_c = found > 0;
    node->number = node->in_c ? draft->graph.nnodes++ : -1;
    if (node->validate_block > 0) {
        name_block(draft, node->validate_block, planned->label, "c_validate_update");
    }
    name_block(draft, *block, planned->label, node->in_c ? "c_code" : "perform");
    if (!node->in_c) {
        *text = (tj_graph_node){0};
    }
    return 0;
}

int
cwj_draft_operations(cwj_draft *draft)
{
    cwj_graph_plan *plan = draft->plan;
    int block = draft->nnumbered, status = 0;
    size_t most = (size_t)draft->nnumbered + 2 * (size_t)plan->nnodes;
    plan->blocks = cwj_allocate(most + 1, sizeof(*plan->blocks));
    if (plan->blocks == NULL) {
        return -1;
    }
    for (int n = 0; n < plan->nnodes && status == 0; n++) {
        asking self = {.draft = draft, .n = n};
        status = ask_node(&self, &block);
        Py_XDECREF(self.name);
        Py_XDECREF(self.sub);
    }
    plan->nblocks = block;
    return status;
}
