/* emit_graph.h: what the files that write a graph's C text share. Internal to tinyjit. */
#pragma once

#include "emit/emit.h"
#include "unit/graph.h"

/* ---- emit_graph_text.c ---------------------------------------------------------- */

typedef struct tj_graph_emitter {
    const tj_graph *graph;
    tj_emitter lines; /* #line and what it counts */
    tj_text *out;
    tj_names *names;    /* owned: the identifiers of all texts */
    tj_expander *expander;  /* owned: of the texts so far */
    tj_messages unsaid; /* owned: what was said when the graph was checked */
    bool raises;        /* support code may raise: all texts that call may, too */
    bool has_state;
    bool begins, ends, renews; /* there is such a function: cwj_begin, cwj_end, cwj_renew */
    int depth; /* of indentation */
    /* What each variable is in the whole of the graph: */
    bool *stored;        /* owned: it has a storage */
    tj_graph_role *kept; /* owned: the role in which it is kept, TJ_GRAPH_INPUT: it is not */
} tj_graph_emitter;

/* Reads a text of the graph behind those before. confined is NULL, or to be cleared in any
 * case. Nothing is said here that was not said when the graph was checked. */
void tj_graph_read(tj_graph_emitter *this, const tj_graph_text *text, tj_confined *confined);
/* True for a text of blanks and comments at most. */
bool tj_piece_is_empty(const tj_piece *piece);
/* It names what may raise an exception. */
bool tj_piece_may_raise(const tj_piece *piece);
/* It names the identifier made of these two, or may do so by ##. */
bool tj_piece_names(const tj_piece *piece, const char *prefix, const char *name);
void tj_graph_indent(tj_graph_emitter *this);
/* Words that come from outside, as a comment can hold them. */
void tj_graph_words(tj_text *out, const char *words);
/* A line of generated text, indented. */
void tj_graph_line(tj_graph_emitter *this, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A comment made of somebody else's words. */
void tj_graph_comment(tj_graph_emitter *this, int block, const char *label, const char *what);
/* The user's text on lines of its own, under its own numbering, which goes on. */
void tj_graph_numbered(tj_graph_emitter *this, const tj_piece *piece);
/* ... and back to that of the generated text. */
void tj_graph_piece(tj_graph_emitter *this, const tj_piece *piece);
/* A text of a block, which what follows shares. */
void tj_graph_shared(tj_graph_emitter *this, const tj_graph_text *text);
/* ... in braces of its own. */
void tj_graph_braced(tj_graph_emitter *this, const tj_graph_text *text);
/* What stands behind a text that may raise without failing. */
void tj_graph_test(tj_graph_emitter *this, const tj_piece *piece, int block);
/* #define return, and the end of it: macros of headers may hide one. */
void tj_graph_hide_return(tj_graph_emitter *this, bool hide);
/* The texts name the identifier made of these two. */
bool tj_graph_names(const tj_graph_emitter *this, const char *prefix, const char *name);

/* ---- emit_graph_step.c ----------------------------------------------------- */

/* The function of a step, and the one that the descriptor names. */
void tj_emit_graph_step(tj_graph_emitter *this, int number);

/* ---- emit_graph_state.c ---------------------------------------------------- */

/* Lives in the state where it has this role. */
bool tj_graph_keeps(const tj_graph *graph, int variable, tj_graph_role role);
/* Fills `stored` and `kept`. Returns false without memory. */
bool tj_graph_look(tj_graph_emitter *this);

/* The struct of the state, and how texts reach its members. */
void tj_emit_graph_state(tj_graph_emitter *this);
/* Functions that begin and end what is kept. */
void tj_emit_graph_lives(tj_graph_emitter *this);
/* #define, or #undef, of a node's members around its texts. */
void tj_graph_members(tj_graph_emitter *this, int node, bool define);
/* #define, or #undef, of what a kept variable declares. */
void tj_graph_kept_names(tj_graph_emitter *this, int variable, bool define);
