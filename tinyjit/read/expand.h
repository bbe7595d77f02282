/* expand.h: expands the macros of a C text, as the compiler does. Internal to tinyjit. */
#pragma once

#include "read/macros.h"

enum {
    TJ_MAX_EXPANSION = 1 << 20, /* most tokens that the macros of one text may create ... */
    TJ_MAX_EXPANSION_RATE = 16, /* ... plus this many for each token of the text */
    TJ_MAX_MACRO_LEVELS = 200   /* most levels of macros that use macros */
};

/* The macros of the texts of one unit, read in order. */
typedef struct tj_expander tj_expander;

/* A text after macro expansion, without directives. Conditions are not evaluated, except `#if 0`, `#if 1` and
 * `#ifdef __cplusplus`, whose dead branches are left out. All other branches are kept, between tokens of
 * special kinds. Tokens made by macros live as long as the expander. */
typedef struct tj_expanded {
    tj_tokens raw;    /* owned: the text as written */
    tj_tokens tokens; /* owned; does not own the spellings */
    bool doubts;      /* it contains a TJ_TOKEN_DOUBT */
    tj_fault fault;   /* the reason why tokens end early */
} tj_expanded;

tj_expander *tj_expander_new(void);
void tj_expander_free(tj_expander *expander);
/* Reads a text after others, and remembers its macros. Returns false if out of memory. Always clear expanded. */
bool tj_expand(tj_expander *expander, const tj_piece *piece, tj_expanded *expanded);
void tj_expanded_clear(tj_expanded *expanded);
/* Returns true if a text includes a file other than the headers of C, POSIX, CPython and NumPy. */
bool tj_expander_includes(const tj_expander *expander);
/* Returns true if the name is currently a macro and no condition encloses its definition. */
bool tj_expander_defines(const tj_expander *expander, const tj_token *name);
