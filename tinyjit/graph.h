/* graph.h: what the files of the graph front end share. Internal to tinyjit.
 *
 *     template.c         %(name)s
 *     declare.c          reading texts that only declare
 *     tokens.c           a text as an array of tokens, for the readers
 *     confine.c          what a text in a block must not do ...
 *     confine_walk.c     ... found in its statements ...
 *     confine_macros.c   ... and in the macros that it uses
 *     graph_check.c      all of these, over all texts of a graph
 *     emit_graph.c       the C text (emit_graph.h)
 *     graph.c            check, emit, compile
 */
#ifndef TJ_GRAPH_H
#define TJ_GRAPH_H

#include "emit.h"

/* ---- confine.c ------------------------------------------------------------- */

typedef enum tj_place {
    TJ_AT_FILE_LEVEL, /* support code */
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

/* The macros of texts read so far, and what using them does. */
typedef struct tj_habits tj_habits;

tj_habits *tj_habits_new(void);
void tj_habits_free(tj_habits *habits);

/* Reads a text that stands in a block, appends messages about what it must not
 * do, and remembers its macros. confined may be NULL; else it is to be cleared in
 * any case. Returns false without memory. */
bool tj_confine(tj_habits *habits, const tj_graph_text *text, tj_confined *confined,
                tj_messages *messages);
void tj_confined_clear(tj_confined *confined);

/* ---- graph_check.c --------------------------------------------------------- */

/* Calls visit with every text of the graph, in the order of the unit, until it
 * returns false. Texts that are absent are left out. */
bool tj_graph_each_text(const tj_graph *graph,
                        bool (*visit)(void *context, const tj_graph_text *text), void *context);

#endif
