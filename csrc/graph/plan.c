/* plan.c: what a plan owns. */
#include "graph/plan.h"

static void
clear_variable(cwj_graph_plan_variable *variable)
{
    Py_XDECREF(variable->variable);
    Py_XDECREF(variable->type);
    Py_XDECREF(variable->label);
    Py_XDECREF(variable->value);
    Py_XDECREF(variable->filter);
}

static void
clear_node(cwj_graph_plan_node *node)
{
    Py_XDECREF(node->node);
    Py_XDECREF(node->op);
    Py_XDECREF(node->label);
    PyMem_Free(node->inputs);
}

void
cwj_graph_plan_free(cwj_graph_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    for (int i = 0; plan->variables != NULL && i < plan->nvariables; i++) {
        clear_variable(&plan->variables[i]);
    }
    for (int i = 0; i < plan->nnodes; i++) {
        clear_node(&plan->nodes[i]);
    }
    cwj_graph_code_unref(plan->code);
    Py_XDECREF(plan->name);
    Py_XDECREF(plan->input_names);
    Py_XDECREF(plan->blocks);
    PyMem_Free(plan->variables);
    PyMem_Free(plan->nodes);
    PyMem_Free(plan->steps);
    PyMem_Free(plan->outputs);
    PyMem_Free(plan);
}

int
cwj_graph_plan_traverse(cwj_graph_plan *plan, visitproc visit, void *arg)
{
    for (int i = 0; i < plan->nvariables; i++) {
        Py_VISIT(plan->variables[i].variable);
        Py_VISIT(plan->variables[i].type);
        Py_VISIT(plan->variables[i].value);
        Py_VISIT(plan->variables[i].filter);
    }
    for (int i = 0; i < plan->nnodes; i++) {
        Py_VISIT(plan->nodes[i].node);
        Py_VISIT(plan->nodes[i].op);
    }
    return 0;
}
