/* confine.h: checks that a text in a block of a graph does nothing that is not allowed there. Internal to tinyjit. */
#pragma once

#include "read/scan.h"

typedef enum tj_place {
    TJ_AT_FILE_LEVEL, /* support code */
    TJ_REPEATS, /* expressions in a loop over elements, in support code */
    TJ_DECLARES, /* c_declare: belongs to a variable */
    TJ_DECLARES_ANY, /* members of the state: belongs to a node */
    TJ_IN_LOAD, /* init code: it has no block that can fail */
    TJ_BEGINS, /* in its own braces; may fail */
    TJ_SHARES, /* c_code: its cleanup sees its declarations; may fail */
    TJ_SYNCS, /* may fail to its cleanup if the type's protocol allows it */
    TJ_CLEANS /* must not fail */
} tj_place;

/* A text of a graph and its purpose. */
typedef struct tj_graph_text {
    const tj_piece *piece;
    tj_place place;
    int block; /* 0: none */
    bool sync_fails; /* TJ_SYNCS */
    const char *name; /* TJ_DECLARES: the name of the variable */
} tj_graph_text;

/* The facts that emitting needs about a text in a block. */
typedef struct tj_confined {
    tj_words labels; /* owned: the labels of the text */
    tj_words arrays; /* owned: the arrays that it declares after a failure code; their size must be
                        constant */
    int *lines; /* owned: the lines of the arrays */
    size_t capacity;
} tj_confined;

/* Checks a text of a block after macro expansion, and appends messages about everything that is not allowed
 * there. confined may be NULL; otherwise the caller must always clear it. Returns false if out of memory. */
bool tj_confine(const tj_expanded *expanded, const tj_graph_text *text, tj_confined *confined,
                tj_messages *messages);
void tj_confined_clear(tj_confined *confined);
