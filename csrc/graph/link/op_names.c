/* op_names.c: see draft.h. What a template op calls its variables: two lists of names, or that
 * as text, as the oldest of the protocols has it. */
#include "graph/link/draft.h"

#include "base/errors.h"
#include "graph/link/labels.h"

/* An op, while its names are being bound. */
typedef struct {
    cwj_draft *draft;
    const cwj_graph_plan_node *node;
    const cwj_party *party;
    tj_binding *bindings;
    size_t nbindings;
} binding;

/* The object behind the text "[['x', 'y'], ['z']]"; steals text. */
static PyObject *
parse_names(const cwj_party *party, PyObject *text)
{
    PyObject *ast = cwj_import("ast");
    PyObject *value = ast == NULL ? NULL : PyObject_CallMethod(ast, "literal_eval", "O", text);
    if (value == NULL && ast != NULL &&
        cwj_clear_expected(PyExc_ValueError, PyExc_SyntaxError, PyExc_TypeError, NULL)) {
        cwj_refuse_answer(party, "c_var_names", PyExc_ValueError,
                          "must be like [['x', 'y'], ['z']], also as text, not %R", text);
    }
    Py_XDECREF(ast);
    Py_DECREF(text);
    return value;
}

/* What the op says, a method or an attribute, as text or as lists. */
static PyObject *
ask_names(binding *self)
{
    PyObject *answer = NULL;
    if (cwj_graph_attribute(self->party->object, "c_var_names", &answer) < 0) {
        return NULL;
    }
    if (answer != NULL && PyCallable_Check(answer)) {
        cwj_question question = {.method = "c_var_names", .required = true};
        Py_CLEAR(answer);
        cwj_ask(self->draft->link, self->party, &question, &answer);
    }
    return answer != NULL && PyUnicode_Check(answer) ? parse_names(self->party, answer) : answer;
}

/* A list of names as a tuple, or NULL. */
static PyObject *
check_names(PyObject *list)
{
    if (!PyList_Check(list) && !PyTuple_Check(list)) {
        return NULL;
    }
    PyObject *names = PySequence_Tuple(list);
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        if (!PyUnicode_Check(PyTuple_GET_ITEM(names, i))) {
            Py_CLEAR(names);
        }
    }
    return names;
}

static PyObject *
names_as_tuples(const binding *self, PyObject *answer)
{
    PyObject *inputs = NULL, *outputs = NULL, *pair = NULL;
    PyObject *both =
        PyList_Check(answer) || PyTuple_Check(answer) ? PySequence_Tuple(answer) : NULL;
    if (both != NULL && PyTuple_GET_SIZE(both) == 2) {
        inputs = check_names(PyTuple_GET_ITEM(both, 0));
        outputs = inputs == NULL ? NULL : check_names(PyTuple_GET_ITEM(both, 1));
    }
    if (outputs != NULL) {
        pair = PyTuple_Pack(2, inputs, outputs);
    } else if (!PyErr_Occurred()) {
        cwj_refuse_answer(self->party, "c_var_names", PyExc_TypeError,
                          "must be two lists of str, like [['x', 'y'], ['z']], not %R", answer);
    }
    Py_XDECREF(both);
    Py_XDECREF(inputs);
    Py_XDECREF(outputs);
    return pair;
}

static int
check_counts(const binding *self, PyObject *pair)
{
    const cwj_graph_plan_node *node = self->node;
    Py_ssize_t ninputs = PyTuple_GET_SIZE(PyTuple_GET_ITEM(pair, 0));
    Py_ssize_t noutputs = PyTuple_GET_SIZE(PyTuple_GET_ITEM(pair, 1));
    if (ninputs != node->ninputs || noutputs != node->noutputs) {
        return cwj_refuse_answer(self->party, "c_var_names", PyExc_ValueError,
                                 "names %zd input(s) and %zd output(s), but the node has %d and %d",
                                 ninputs, noutputs, node->ninputs, node->noutputs);
    }
    return 0;
}

/* Binds one side's names to the C names of its variables. */
static int
bind_side(binding *self, PyObject *names, const int *variables)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        const char *utf8 = cwj_linking_utf8(self->draft->link, name, NULL);
        const char *text = utf8 == NULL
                               ? NULL
                               : cwj_linking_utf8(self->draft->link,
                                                  self->draft->variables[variables[i]].name, NULL);
        if (text == NULL) {
            return -1;
        }
        for (size_t k = 0; k < self->nbindings; k++) {
            if (strcmp(self->bindings[k].name, utf8) == 0) {
                return cwj_refuse_answer(self->party, "c_var_names", PyExc_ValueError,
                                         k == 0 ? "names a variable '%s', which is the failure code"
                                                : "names '%s' twice",
                                         utf8);
            }
        }
        self->bindings[self->nbindings++] = (tj_binding){utf8, text};
    }
    return 0;
}

/* Makes the bindings of a template op: fail first, then its variables. */
static int
bind_names(binding *self)
{
    const cwj_graph_plan_node *node = self->node;
    cwj_draft *draft = self->draft;
    size_t most = (size_t)node->ninputs + (size_t)node->noutputs + 2;
    PyObject *answer = ask_names(self);
    PyObject *pair = answer == NULL ? NULL : names_as_tuples(self, answer);
    Py_XDECREF(answer);
    pair = cwj_linking_keep(draft->link, pair);
    if (pair == NULL || check_counts(self, pair) < 0) {
        return -1;
    }
    self->bindings = cwj_arena_alloc(&draft->link->arena, most, sizeof(*self->bindings));
    if (self->bindings == NULL) {
        return -1;
    }
    self->bindings[self->nbindings++] = (tj_binding){"fail", ""}; /* differs from block to block */
    if (bind_side(self, PyTuple_GET_ITEM(pair, 0), node->inputs) < 0 ||
        bind_side(self, PyTuple_GET_ITEM(pair, 1), node->outputs) < 0) {
        return -1;
    }
    if (node->params >= 0) {
        const char *text = cwj_linking_utf8(draft->link, draft->variables[node->params].name, NULL);
        if (text == NULL) {
            return -1;
        }
        self->bindings[self->nbindings++] = (tj_binding){"params", text};
    }
    return 0;
}

int
cwj_draft_bind(cwj_draft *draft, int n, const cwj_party *party, tj_binding **bindings,
               size_t *nbindings)
{
    binding self = {.draft = draft, .node = &draft->plan->nodes[n], .party = party};
    int status = bind_names(&self);
    *bindings = self.bindings;
    *nbindings = self.nbindings;
    return status;
}
