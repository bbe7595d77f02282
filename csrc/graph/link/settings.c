/* settings.c: see draft.h. What types and ops want for the unit as a whole is asked for by Python, which
 * knows what the words mean (cwrapjit/graph/words.py). */
#include "graph/link/draft.h"

#include "base/tuples.h"

/* The types of the variables that are in C. */
static PyObject *
list_types(const cwj_draft *draft)
{
    PyObject *types = PyList_New(0);
    for (int i = 0; i < draft->plan->nvariables; i++) {
        const cwj_draft_variable *variable = &draft->variables[i];
        const cwj_graph_plan_variable *planned = &draft->plan->variables[i];
        if (planned->literal || variable->begun || variable->extracted) {
            cwj_list_add(&types, PyTuple_Pack(2, planned->type, planned->label));
        }
    }
    return types;
}

static PyObject *
list_nodes(const cwj_draft *draft)
{
    PyObject *nodes = PyList_New(0);
    for (int n = 0; n < draft->plan->nnodes; n++) {
        const cwj_graph_plan_node *node = &draft->plan->nodes[n];
        if (draft->nodes[n].in_c) {
            cwj_list_add(&nodes, Py_BuildValue("(OOOs)", node->op, node->label, node->node,
                                               draft->nodes[n].name));
        }
    }
    return nodes;
}

/* ---- for tinyjit ------------------------------------------------------- */

/* A NULL-terminated array of the texts in a tuple of bytes. */
static const char *const *
list_texts(cwj_linking *link, PyObject *tuple)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    const char **list = cwj_arena_alloc(&link->arena, (size_t)count + 1, sizeof(*list));
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        list[i] = PyBytes_AsString(PyTuple_GET_ITEM(tuple, i));
        if (list[i] == NULL) {
            return NULL;
        }
    }
    return list;
}

/* Of pairs of a text and its name. */
static const tj_piece *
list_pieces(cwj_linking *link, PyObject *tuple, int *count)
{
    *count = (int)PyTuple_GET_SIZE(tuple);
    tj_piece *list = cwj_arena_alloc(&link->arena, (size_t)*count + 1, sizeof(*list));
    for (int i = 0; list != NULL && i < *count; i++) {
        Py_ssize_t length;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, i), "y#y", &list[i].text, &length,
                              &list[i].file)) {
            return NULL;
        }
        list[i].length = (size_t)length;
    }
    return list;
}

int
cwj_draft_settings(cwj_draft *draft, tj_environment_options *options, cwj_graph_request *request)
{
    cwj_linking *link = draft->link;
    tj_graph *graph = &draft->graph;
    PyObject *headers, *supports, *inits, *dirs, *macros, *compiler, *versions;
    PyTypeObject *t = &PyTuple_Type;
    PyObject *found =
        cwj_linking_keep(link, cwj_ask_python("cwrapjit.graph.words", "read_settings", "(NN)",
                                              list_types(draft), list_nodes(draft)));
    if (found == NULL ||
        !PyArg_ParseTuple(found, "O!O!O!O!O!O!O!OO", t, &headers, t, &supports, t, &inits, t, &dirs,
                          t, &request->libraries, t, &request->library_dirs, t, &macros, &compiler,
                          &versions)) {
        return -1;
    }
    request->compiler = compiler == Py_None ? NULL : compiler;
    request->versions = versions == Py_None ? NULL : versions;
    graph->headers = list_texts(link, headers);
    graph->nheaders = (int)PyTuple_GET_SIZE(headers);
    graph->supports = list_pieces(link, supports, &graph->nsupports);
    graph->inits = list_pieces(link, inits, &graph->ninits);
    options->include_dirs = list_texts(link, dirs);
    options->define_macros = list_texts(link, macros);
    return graph->headers == NULL || graph->supports == NULL || graph->inits == NULL ||
                   options->include_dirs == NULL || options->define_macros == NULL
               ? -1
               : 0;
}
