/* scan.h: finds text that must not reach libtcc, before libtcc reads it. Internal to tinyjit. */
#pragma once

#include "read/expand.h"

/* A condition for #if: true if one of the words that generated text must use is a macro. */
#define TJ_OUR_WORDS                                                                              \
    "defined char || defined const || defined else || defined for || defined goto || defined if " \
    "|| defined int || defined return || defined sizeof || defined static || defined struct || "  \
    "defined typedef || defined void || defined while"

/* The place of a text. */
typedef enum tj_scope {
    TJ_FILE_SCOPE, /* declarations and functions */
    TJ_BLOCK_SCOPE /* statements, an expression, members of a struct */
} tj_scope;

/* The state that the texts of one unit share while they are scanned, in order. */
typedef struct tj_scanner tj_scanner;

/* Creates a scanner that knows the macros of the environment (NULL: none); faults in them become messages.
 * is_part: generated text follows. spec: the function that the text belongs to (NULL: none). Returns NULL if
 * out of memory; messages->failed is then set. */
tj_scanner *tj_scanner_new(const tj_environment *environment, bool is_part, const tj_spec *spec,
                           tj_messages *messages);
void tj_scanner_free(tj_scanner *scanner);
/* Like tj_scan_check(), for a text after those scanned before. */
tj_status tj_scanner_check(tj_scanner *scanner, const tj_piece *piece, tj_scope scope,
                           tj_messages *messages);
/* Returns the text that was scanned last; valid until the next one. */
const tj_expanded *tj_scanner_text(const tj_scanner *scanner);

/* ---- typeless.c -------------------------------------------------------------- */

/* The known types of the texts of one unit. */
typedef struct tj_declared {
    tj_map types;  /* owned: all names that typedefs define */
    bool complete; /* no other type names exist */
    bool includes; /* like tj_expander_includes() */
} tj_declared;

/* Refuses declarations without a type, which C once took for int: `auto v = 1.5;`, `static f(double x)
 * {...}`, undeclared parameters of old-style definitions. Also makes the checks of silent.c. Appends an error
 * message for each fault. Returns false if out of memory. */
bool tj_typeless_check(tj_declared *declared, const tj_expanded *text, const tj_piece *piece,
                       tj_scope scope, tj_messages *messages);

/* ---- silent.c ---------------------------------------------------------------- */

/* Refuses locals with more alignment than libtcc gives, accesses to addresses that libtcc would truncate,
 * arrays of 2 GiB and more, and parameters such as `double (*a)[n]`. */
void tj_silent_check(const tj_tokens *tokens, const tj_piece *piece, tj_scope scope,
                     tj_messages *messages);
