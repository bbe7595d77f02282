/* values.c: see draft.h. The texts of variables, from their types.
 *
 * Declarations are asked for first, since they tell whether a variable has C at all, and so
 * whether its nodes do; the other texts when it is known which of them some step needs. */
#include "graph/link/draft.h"

#include "base/errors.h"
#include "base/tuples.h"
#include "graph/attributes.h"

static const char who[] = "link()";

/* ---- templates and failure codes --------------------------------------- */

const char *
cwj_draft_fail(cwj_draft *draft, int block, bool in_sync)
{
    tj_text text = {0};
    const char *copy = NULL;
    tj_graph_fail_text(block, in_sync, &text);
    if (text.failed) {
        PyErr_NoMemory();
    } else {
        copy = cwj_linking_copy(draft->link, text.data, text.length);
    }
    tj_text_clear(&text);
    return copy;
}

static void
raise_fill(const cwj_party *party, const char *method, const tj_error *error)
{
    if (error->status == TJ_BAD_SPEC) {
        cwj_refuse_answer(party, method, PyExc_ValueError, "is no template that can be filled: %s",
                          error->text != NULL ? error->text : error->brief);
    } else {
        cwj_raise(who, error, NULL);
    }
}

int
cwj_draft_fill(cwj_draft *draft, const cwj_party *party, const char *method,
               const tj_binding *bindings, size_t nbindings, tj_piece *piece)
{
    if (piece->text == NULL || memchr(piece->text, '%', piece->length) == NULL) {
        return 0;
    }
    tj_text text = {0};
    tj_error error;
    int status = -1;
    tj_error_init(&error);
    if (tj_template_fill(piece->text, piece->length, bindings, nbindings, &text, &error) != TJ_OK) {
        raise_fill(party, method, &error);
    } else if (text.failed) {
        PyErr_NoMemory();
    } else {
        piece->text = cwj_linking_copy(draft->link, text.data, text.length);
        piece->length = text.length;
        status = piece->text == NULL ? -1 : 0;
    }
    tj_text_clear(&text);
    tj_error_clear(&error);
    return status;
}

/* ---- one text ---------------------------------------------------------- */

static cwj_party
party_of(const cwj_draft *draft, int variable)
{
    const cwj_graph_plan_variable *from = &draft->plan->variables[variable];
    return (cwj_party){.object = from->type, .about = from->label, .piece = from->label};
}

/* The dict `sub`: the method's own to change. fail: NULL: the variable's. */
static PyObject *
sub_of(const cwj_draft *draft, int i, const char *fail)
{
    PyObject *sub = PyDict_Copy(draft->variables[i].sub);
    if (fail != NULL) {
        cwj_dict_put(&sub, "fail", PyUnicode_FromString(fail));
    }
    return sub;
}

/* Asks for one text of a variable. check_input: -1: the method knows nothing of it. 1 with the
 * text, 0 where there is none and none is required, -1. */
static int
ask_value(cwj_draft *draft, int i, const char *method, bool required, int check_input,
          tj_piece *piece)
{
    const cwj_draft_variable *variable = &draft->variables[i];
    bool in_sync = piece == &draft->texts[i].sync;
    const char *fail = in_sync ? cwj_draft_fail(draft, i + 1, true) : variable->fail;
    cwj_party party = party_of(draft, i);
    cwj_question question = {.method = method, .required = required};
    if (fail == NULL) {
        return -1;
    }
    if (variable->is_template) {
        tj_binding bindings[] = {{"name", draft->texts[i].name}, {"fail", fail}};
        int found = cwj_ask_text(draft->link, &party, &question, piece);
        bool bad = found > 0 && cwj_draft_fill(draft, &party, method, bindings, 2, piece) < 0;
        return bad ? -1 : found;
    }
    PyObject *sub = sub_of(draft, i, in_sync ? fail : NULL);
    PyObject *arguments[] = {variable->name, sub};
    question.arguments = arguments;
    question.narguments = 2;
    question.kind = check_input < 0 ? CWJ_ASK_PLAIN : CWJ_ASK_CHECK_INPUT;
    question.extra = check_input > 0 ? Py_True : Py_False;
    int found = sub == NULL ? -1 : cwj_ask_text(draft->link, &party, &question, piece);
    Py_XDECREF(sub);
    return found;
}

/* ---- declarations ------------------------------------------------------ */

static PyObject *
make_sub(const cwj_draft *draft, int variable)
{
    PyObject *name = draft->variables[variable].name;
    return Py_BuildValue("{s:s,s:i,s:s,s:N,s:N}", "fail", draft->variables[variable].fail, "id",
                         variable + 1, "failure_var", "failure", "py_ptr",
                         PyUnicode_FromFormat("py_%U", name), "stor_ptr",
                         PyUnicode_FromFormat("storage_%U", name));
}

/* "x (Double)" */
static const char *
label_text(cwj_draft *draft, int variable)
{
    PyObject *class = cwj_class_of(draft->plan->variables[variable].type);
    PyObject *label =
        class == NULL
            ? NULL
            : PyUnicode_FromFormat(
                  "%U (%U)%s", draft->plan->variables[variable].label, class,
                  draft->plan->variables[variable].overwritten ? ", overwritten by runs" : "");
    const char *text = label == NULL ? NULL : cwj_linking_utf8(draft->link, label, NULL);
    Py_XDECREF(class);
    Py_XDECREF(label);
    return text;
}

/* Which protocol the type follows, and what it is like. */
static int
classify(cwj_draft *draft, int i)
{
    cwj_draft_variable *variable = &draft->variables[i];
    PyObject *type = draft->plan->variables[i].type;
    PyObject *extract_out = NULL;
    int found = cwj_flag(type, "c_templates", 0);
    if (found == 0) {
        found = cwj_takes_nothing(draft->link, type, "c_declare");
    }
    variable->is_template = found > 0;
    if (found >= 0) {
        found = cwj_flag(type, "c_is_simple", 0);
        variable->is_simple = found > 0;
    }
    if (found >= 0) {
        found = cwj_graph_attribute(type, "c_extract_out", &extract_out);
        variable->fetches = found > 0 && extract_out != Py_None;
    }
    Py_XDECREF(extract_out);
    return found < 0 ? -1 : 0;
}

static int
prepare(cwj_draft *draft, int i)
{
    cwj_draft_variable *variable = &draft->variables[i];
    if (classify(draft, i) < 0) {
        return -1;
    }
    draft->texts[i].name = cwj_linking_utf8(draft->link, variable->name, NULL);
    draft->texts[i].label = label_text(draft, i);
    variable->fail = cwj_draft_fail(draft, i + 1, false);
    if (draft->texts[i].name == NULL || draft->texts[i].label == NULL || variable->fail == NULL) {
        return -1;
    }
    if (!variable->is_template) {
        variable->sub = cwj_linking_keep(draft->link, make_sub(draft, i));
    }
    return variable->is_template || variable->sub != NULL ? 0 : -1;
}

static int
declare(cwj_draft *draft, int i, bool required)
{
    const cwj_draft_variable *variable = &draft->variables[i];
    bool by_clients = variable->has_client ? variable->client_checks : variable->owner < 0;
    return ask_value(draft, i, "c_declare", required, by_clients || variable->owner_checks,
                     &draft->texts[i].declare);
}

/* Which checks the ops around a variable want; each op says it for all its variables. */
static int
read_checks(cwj_draft *draft)
{
    for (int n = 0; n < draft->plan->nnodes; n++) {
        const cwj_graph_plan_node *node = &draft->plan->nodes[n];
        int checks = cwj_flag(node->op, "check_input", 1);
        if (checks < 0) {
            return -1;
        }
        for (int i = 0; i < node->nused; i++) {
            cwj_draft_variable *variable = &draft->variables[node->inputs[i]];
            if (i >= node->ninputs && i < node->ninputs + node->noutputs) {
                variable->owner_checks = checks > 0;
            } else {
                variable->has_client = true;
                variable->client_checks |= checks > 0;
            }
        }
    }
    return 0;
}

int
cwj_draft_declarations(cwj_draft *draft)
{
    if (read_checks(draft) < 0) {
        return -1;
    }
    for (int i = 0; i < draft->nnumbered; i++) {
        int found = prepare(draft, i) < 0 ? -1 : declare(draft, i, false);
        if (found < 0) {
            return -1;
        }
        draft->variables[i].has_c = found > 0;
    }
    return 0;
}

int
cwj_draft_refuse_variable(cwj_draft *draft, int variable)
{
    if (declare(draft, variable, true) >= 0) { /* it changed its mind */
        cwj_refuse(who, PyExc_NotImplementedError, "variable %U has no C",
                   draft->plan->variables[variable].label);
    }
    return -1;
}

/* ---- the other texts --------------------------------------------------- */

/* The texts that the steps of variable i need. */
static int
ask_texts(cwj_draft *draft, int i)
{
    const cwj_draft_variable *variable = &draft->variables[i];
    const cwj_graph_plan_variable *planned = &draft->plan->variables[i];
    tj_graph_variable *text = &draft->texts[i];
    bool clients_check = !variable->has_client || variable->client_checks;
    const char *begin = planned->fetched ? "c_extract_out" : "c_init";
    int begin_checks = planned->fetched ? variable->owner_checks : -1;
    return (variable->extracted &&
            ask_value(draft, i, "c_extract", true, clients_check, &text->extract) < 0) ||
                   (variable->begun &&
                    ask_value(draft, i, begin, true, begin_checks, &text->init) < 0) ||
                   (planned->is_output &&
                    ask_value(draft, i, "c_sync", true, -1, &text->sync) < 0) ||
                   ask_value(draft, i, "c_cleanup", false, -1, &text->cleanup) < 0
               ? -1
               : 0;
}

int
cwj_draft_values(cwj_draft *draft)
{
    for (int i = 0; i < draft->nnumbered; i++) {
        const cwj_draft_variable *variable = &draft->variables[i];
        const cwj_graph_plan_variable *planned = &draft->plan->variables[i];
        tj_graph_variable *text = &draft->texts[i];
        text->fetched = planned->fetched;
        text->kept = planned->kept;
        text->sync_fails = !variable->is_template;
        if (!variable->extracted && !variable->begun) { /* no step has it */
            text->declare = (tj_piece){0};
            continue;
        }
        if (ask_texts(draft, i) < 0) {
            return -1;
        }
    }
    return 0;
}
