/* emit_graph.h: declarations that the files that write a graph's C text share. Internal to tinyjit. */
#pragma once

#include "emit/emit.h"
#include "unit/graph.h"

/* ---- emit_graph_text.c ---------------------------------------------------------- */

typedef struct tj_graph_emitter {
    const tj_graph *graph;
    tj_emitter lines; /* for #line and the line count */
    tj_text *out;
    tj_names *names; /* owned: the identifiers of all texts */
    tj_expander *expander; /* owned: has read the texts so far */
    tj_messages unsaid; /* owned: messages that the check of the graph has reported already */
    bool raises; /* support code may raise, so every text that calls a function may, too */
    bool has_state;
    bool begins, ends, renews; /* the functions cwj_begin, cwj_end and cwj_renew exist */
    int depth; /* depth of indentation */
    /* The use of each variable in the whole graph: */
    bool *stored; /* owned: it has a storage */
    tj_graph_role *kept; /* owned: the role in which it is kept; TJ_GRAPH_INPUT: not kept */
} tj_graph_emitter;

/* Reads one text of the graph after those read before. confined may be NULL; otherwise the caller must always
 * clear it. Repeats no message of the check of the graph. */
void tj_graph_read(tj_graph_emitter *this, const tj_graph_text *text, tj_confined *confined);
/* Returns true if the text is empty or contains only blanks and comments. */
bool tj_piece_is_empty(const tj_piece *piece);
/* Returns true if the text names something that may raise an exception. */
bool tj_piece_may_raise(const tj_piece *piece);
/* Returns true if the text contains the identifier PREFIXNAME, or may form it with ##. */
bool tj_piece_names(const tj_piece *piece, const char *prefix, const char *name);
void tj_graph_indent(tj_graph_emitter *this);
/* Appends words from outside so that they cannot end a comment. */
void tj_graph_words(tj_text *out, const char *words);
/* Emits an indented line of generated text. */
void tj_graph_line(tj_graph_emitter *this, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Emits a comment made of words from outside. */
void tj_graph_comment(tj_graph_emitter *this, int block, const char *label, const char *what);
/* Emits the user's text on separate lines, under its own line numbers, which then continue. */
void tj_graph_numbered(tj_graph_emitter *this, const tj_piece *piece);
/* The same, and returns to the line numbers of the generated text. */
void tj_graph_piece(tj_graph_emitter *this, const tj_piece *piece);
/* Emits a text of a block without braces, so that later texts see its declarations. */
void tj_graph_shared(tj_graph_emitter *this, const tj_graph_text *text);
/* Emits it in its own braces. */
void tj_graph_braced(tj_graph_emitter *this, const tj_graph_text *text);
/* Emits a check for an exception after a text that may raise without failing. */
void tj_graph_test(tj_graph_emitter *this, const tj_piece *piece, int block);
/* Emits #define return, or #undef return: a macro of a header may hide a `return`. */
void tj_graph_hide_return(tj_graph_emitter *this, bool hide);
/* Returns true if the texts contain the identifier PREFIXNAME. */
bool tj_graph_names(const tj_graph_emitter *this, const char *prefix, const char *name);

/* ---- emit_graph_step.c ----------------------------------------------------- */

/* Emits the function of a step, and the function that the descriptor names. */
void tj_emit_graph_step(tj_graph_emitter *this, int number);

/* ---- emit_graph_state.c ---------------------------------------------------- */

/* Returns true if the variable is kept in the state in this role. */
bool tj_graph_keeps(const tj_graph *graph, int variable, tj_graph_role role);
/* Fills `stored` and `kept`. Returns false if out of memory. */
bool tj_graph_look(tj_graph_emitter *this);

/* Emits the struct of the state, and macros by which texts reach its members. */
void tj_emit_graph_state(tj_graph_emitter *this);
/* Emits functions that begin and end the kept variables. */
void tj_emit_graph_lives(tj_graph_emitter *this);
/* Emits #define or #undef for a node's members, around its texts. */
void tj_graph_members(tj_graph_emitter *this, int node, bool define);
/* Emits #define or #undef for the declarations of a kept variable. */
void tj_graph_kept_names(tj_graph_emitter *this, int variable, bool define);
