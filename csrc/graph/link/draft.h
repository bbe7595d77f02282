/* draft.h: a plan in the making: what link time knows of variables and nodes beyond what
 * the plan keeps. Everything here lives as long as link. */
#ifndef CWJ_GRAPH_LINK_DRAFT_H
#define CWJ_GRAPH_LINK_DRAFT_H

#include "graph/link/ask.h"
#include "graph/plan.h"

typedef struct cwj_draft_variable {
    PyObject *name;   /* borrowed from link: its C name, or the literal's text */
    PyObject *sub;    /* borrowed from link: the dict for types that fill themselves; NULL */
    const char *fail; /* its block's failure code */
    int owner;        /* the node that computes it, or -1 */
    bool is_input, is_constant;
    bool is_template; /* its methods take nothing and return templates */
    bool has_c;
    bool is_simple;
    bool has_client, client_checks, owner_checks; /* check_input of the ops around it */
    bool fetches; /* its type has c_extract_out */
    bool wanted;  /* by the caller, or by an update */
    bool in_python; /* a Python step reads or writes it, or check compares it */
    bool extracted, begun; /* by some C step */
    int last_step;         /* the newest C step with it, for counting; -1: none */
    int nsteps;            /* how many C steps have it */
} cwj_draft_variable;

typedef struct cwj_draft_node {
    PyObject *outputs; /* borrowed from link: their labels, "q, r" */
    bool shares;       /* outputs may be inputs, in part or whole */
    bool is_template;
    bool in_c;
    int step;    /* of the plan */
    int number;  /* among the nodes of the tj_graph, or -1 */
    int validate_block; /* 0: none */
    const char *name; /* "node_1" */
} cwj_draft_node;

typedef struct cwj_draft {
    cwj_linking *link;
    cwj_graph_plan *plan;
    int nnumbered; /* variables with a block: all but literals, which come last */
    cwj_draft_variable *variables; /* as plan->variables */
    cwj_draft_node *nodes;         /* as plan->nodes */
    tj_graph_variable *texts;      /* of the numbered variables */
    tj_graph_node *node_texts;
    tj_graph graph;
} cwj_draft;

/* numbering.c: fills plan->variables, ->nodes, ->outputs with what the walk through the graph found. */
int cwj_draft_number(cwj_draft *draft);

/* operations.c: the texts of all nodes; their blocks; which of them run in Python. */
int cwj_draft_operations(cwj_draft *draft);

/* op_names.c: the bindings of a template op, the failure code in front, which is still empty. */
int cwj_draft_bind(cwj_draft *draft, int n, const cwj_party *party, tj_binding **bindings,
                   size_t *nbindings);

/* steps.c: cuts the nodes into steps and says what each variable is there. */
int cwj_draft_steps(cwj_draft *draft);

/* values.c: whether variables have C at all, before nodes are asked; ... */
int cwj_draft_declarations(cwj_draft *draft);
/* ... and the texts that their steps need, after that. */
int cwj_draft_values(cwj_draft *draft);
/* NotImplementedError that says why the variable has no C. Returns -1. */
int cwj_draft_refuse_variable(cwj_draft *draft, int variable);

/* settings.c: headers, support code, init code, folders, libraries, arguments, a compiler, versions, of
 * all whose texts are in the graph, into graph, options and request; all of it lives as long as link. */
int cwj_draft_settings(cwj_draft *draft, tj_environment_options *options,
                       cwj_graph_request *request);

/* Fills piece, a template, in place. party and method are for the message. */
int cwj_draft_fill(cwj_draft *draft, const cwj_party *party, const char *method,
                   const tj_binding *bindings, size_t nbindings, tj_piece *piece);
/* The failure code of a block; alive as long as link. */
const char *cwj_draft_fail(cwj_draft *draft, int block, bool in_sync);

#endif
