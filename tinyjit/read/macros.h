/* macros.h: a table of macros. Internal to tinyjit. */
#pragma once

#include "read/tokens.h"

typedef struct tj_macro {
    char *text;            /* owned: what stands behind #define */
    size_t length;
    tj_tokens tokens;      /* owned: of text, from the first use on */
    size_t body;           /* its first token; 0: not read yet */
    size_t nparameters;
    size_t branch;         /* of the condition that it stands in; 0: none */
    bool is_function;
    bool takes_rest;       /* the last parameter takes all arguments that are left */
    bool busy;             /* in effect: its name is none */
} tj_macro;

/* The branch of all macros of the prelude: conditions there decide which of several
 * definitions is in effect. */
#define TJ_PRELUDE_BRANCH SIZE_MAX

/* Macros by their names, with those of the prelude. Definitions live as long as the
 * table, because tokens point into them. */
typedef struct tj_macros tj_macros;

tj_macros *tj_macros_new(void);
void tj_macros_free(tj_macros *macros);
/* text is what stands behind #define. Returns false without memory. */
bool tj_macros_define(tj_macros *macros, const char *text, size_t length, const tj_token *name,
                      size_t branch);
bool tj_macros_undefine(tj_macros *macros, const tj_token *name);
/* Returns NULL where it is no macro, and without memory: then *fine becomes false. */
tj_macro *tj_macros_find(tj_macros *macros, const tj_token *name, bool *fine);
/* The parameter that token i of the body is, or the number of parameters. */
size_t tj_macro_parameter(const tj_macro *macro, size_t i);
