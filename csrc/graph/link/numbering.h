/* numbering.h: what numbering.c and constants.c share. */
#ifndef CWJ_GRAPH_LINK_NUMBERING_H
#define CWJ_GRAPH_LINK_NUMBERING_H

#include "graph/link/draft.h"

/* A constant before it has its number. */
typedef struct {
    PyObject *variable; /* borrowed; NULL: parameters */
    PyObject *type, *value; /* kept by link */
    PyObject *literal;  /* kept by link: its text in brackets, or NULL */
    PyObject *label;    /* kept by link: for parameters */
    int index;          /* in the end */
} cwj_constant;

typedef struct {
    cwj_draft *draft;
    cwj_identity known; /* variable -> number of an input or of what is computed, or -2 - i for
                           constants[i] */
    cwj_constant *constants; /* owned */
    int nconstants, capacity;
    PyObject *by_value; /* owned dict: (type, parameters) -> position in constants */
} cwj_numbering;

/* constants.c: meets all constants and all parameters of nodes. params[n]: the position of
 * the parameters of node n, or -1. */
int cwj_collect_constants(cwj_numbering *self, int *params);

#endif
