/* macros.h: declares a table of macros. Internal to tinyjit. */
#pragma once

#include "read/tokens.h"

typedef struct tj_macro {
    char *text;            /* owned: the text after #define */
    size_t length;
    tj_tokens tokens;      /* owned: the tokens of text, after the first use */
    size_t body;           /* index of the first body token; 0: not read yet */
    size_t nparameters;
    size_t branch;         /* number of the branch that defines it; 0: none */
    bool is_function;
    bool takes_rest;       /* the last parameter takes all remaining arguments */
    bool busy;             /* being expanded: its name is not expanded again */
} tj_macro;

/* The branch of all macros of the prelude. The conditions there decide which of several definitions is used. */
#define TJ_PRELUDE_BRANCH SIZE_MAX

/* Macros by name, with those of the prelude. Definitions live as long as the table: tokens point into them. */
typedef struct tj_macros tj_macros;

tj_macros *tj_macros_new(void);
void tj_macros_free(tj_macros *macros);
/* Defines a macro; text is the text after #define; NULL: #undef. Returns false if out of memory. */
bool tj_macros_define(tj_macros *macros, const char *text, size_t length, const tj_token *name,
                      size_t branch);
/* Returns NULL if the name is not a macro, or if out of memory; then it also sets *fine to false. */
tj_macro *tj_macros_find(tj_macros *macros, const tj_token *name, bool *fine);
/* Returns the number of the parameter that token i of the body names, or the number of parameters if it names none. */
size_t tj_macro_parameter(const tj_macro *macro, size_t i);
