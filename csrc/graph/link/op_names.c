/* op_names.c: see draft.h. What a template op calls its variables. */
#include "graph/link/draft.h"

#include "graph/attributes.h"

/* What the op says, a method or an attribute. */
static PyObject *
ask_names(cwj_linking *link, const cwj_party *party)
{
    PyObject *answer = NULL;
    int found = cwj_graph_attribute(party->object, "c_var_names", &answer);
    if (found == 0 || (found > 0 && PyCallable_Check(answer))) { /* 0: it has gone meanwhile */
        cwj_question question = {.method = "c_var_names", .required = true};
        Py_CLEAR(answer);
        cwj_ask(link, party, &question, &answer);
    }
    return answer;
}

/* The names of inputs and outputs, in one tuple; borrowed from link. */
static PyObject *
read_names(cwj_linking *link, const cwj_graph_plan_node *node, const cwj_party *party)
{
    PyObject *answer = ask_names(link, party);
    return cwj_linking_keep(link,
                            cwj_ask_python("cwrapjit.graph.words", "read_names", "((OOOs)Nii)",
                                           party->object, party->about, Py_True, "c_var_names",
                                           answer, node->ninputs, node->noutputs));
}

int
cwj_draft_bind(cwj_draft *draft, int n, const cwj_party *party, tj_binding **bindings,
               size_t *nbindings)
{
    const cwj_graph_plan_node *node = &draft->plan->nodes[n];
    PyObject *names = read_names(draft->link, node, party);
    tj_binding *made = cwj_arena_alloc(&draft->link->arena, (size_t)node->nused + 1, sizeof(*made));
    if (names == NULL || made == NULL) {
        return -1;
    }
    *bindings = made;
    *nbindings = (size_t)node->nused + 1;
    *made++ = (tj_binding){"fail", ""}; /* differs from block to block */
    for (int i = 0; i < node->nused; i++, made++) {
        bool is_params = i == node->ninputs + node->noutputs;
        PyObject *name = is_params ? NULL : PyTuple_GetItem(names, i);
        made->name = is_params      ? "params"
                     : name == NULL ? NULL
                                    : cwj_linking_utf8(draft->link, name, NULL);
        made->text = cwj_linking_utf8(draft->link, draft->variables[node->inputs[i]].name, NULL);
        if (made->name == NULL || made->text == NULL) {
            return -1;
        }
    }
    return 0;
}
