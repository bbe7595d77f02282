/* confine.h: what a text must not do that stands in a block of a graph. Internal to
 * tinyjit. */
#pragma once

#include "read/scan.h"

typedef enum tj_place {
    TJ_AT_FILE_LEVEL, /* support code */
    TJ_REPEATS,       /* expressions of a loop over elements, in support code */
    TJ_DECLARES,      /* c_declare: belongs to a variable */
    TJ_DECLARES_ANY,  /* members of the state: belongs to a node */
    TJ_IN_LOAD,       /* init code: nothing to fail to */
    TJ_BEGINS,        /* in braces of its own, may fail */
    TJ_SHARES,        /* c_code: what it declares is there in its cleanup, may fail */
    TJ_SYNCS,         /* may fail to its cleanup where the type's protocol knows that */
    TJ_CLEANS         /* must not fail */
} tj_place;

/* A text of a graph, and what it is there for. */
typedef struct tj_graph_text {
    const tj_piece *piece;
    tj_place place;
    int block;        /* 0: none */
    bool sync_fails;  /* TJ_SYNCS */
    const char *name; /* TJ_DECLARES: the variable's */
} tj_graph_text;

/* What emitting must know of a text in a block. */
typedef struct tj_confined {
    tj_words labels; /* owned: its own ones */
    tj_words arrays; /* owned: those it declares behind a failure code, which must have a
                        constant size */
    int *lines;      /* owned: of the arrays */
    size_t capacity;
} tj_confined;

/* Looks at a text that stands in a block, behind its macros, and appends messages about
 * what it must not do. confined may be NULL; else it is to be cleared in any case. Returns
 * false without memory. */
bool tj_confine(const tj_expanded *expanded, const tj_graph_text *text, tj_confined *confined,
                tj_messages *messages);
void tj_confined_clear(tj_confined *confined);
