/* expand.h: a C text as the compiler sees it behind its macros. Internal to tinyjit. */
#pragma once

#include "read/macros.h"

enum {
    TJ_MAX_EXPANSION = 1 << 20, /* tokens that the macros of one text may make ... */
    TJ_MAX_EXPANSION_RATE = 16, /* ... and so many more for each of its own */
    TJ_MAX_MACRO_LEVELS = 200   /* macros that use macros that ... */
};

/* The macros of the texts of one unit, read in order. */
typedef struct tj_expander tj_expander;

/* A text behind its macros, without directives. Conditions are not evaluated, except
 * `#if 0`, `#if 1` and `#ifdef __cplusplus`: what they take out is left out. All other
 * branches are there, between tokens of kinds of their own. Tokens that macros make live as
 * long as the expander. */
typedef struct tj_expanded {
    tj_tokens raw;    /* owned: as it was written */
    tj_tokens tokens; /* owned; spells nothing itself */
    bool doubts;      /* there is a TJ_TOKEN_DOUBT */
    tj_fault fault;   /* why tokens end early */
} tj_expanded;

tj_expander *tj_expander_new(void);
void tj_expander_free(tj_expander *expander);
/* Reads a text behind those read before, and keeps its macros. Returns false without
 * memory; to be cleared in any case. */
bool tj_expand(tj_expander *expander, const tj_piece *piece, tj_expanded *expanded);
void tj_expanded_clear(tj_expanded *expanded);
/* A file was included that may define any macro and type: none of the headers of C, POSIX,
 * CPython and NumPy. */
bool tj_expander_includes(const tj_expander *expander);
/* The name is a macro now, whatever conditions say. */
bool tj_expander_defines(const tj_expander *expander, const tj_token *name);
