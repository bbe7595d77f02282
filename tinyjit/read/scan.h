/* scan.h: what must not reach libtcc, found before it sees a text. Internal to tinyjit. */
#pragma once

#include "read/expand.h"

/* Words that text of ours has no other spelling for, as a condition: none is a macro's name. */
#define TJ_OUR_WORDS                                                                              \
    "defined char || defined const || defined else || defined for || defined goto || defined if " \
    "|| defined int || defined return || defined sizeof || defined static || defined struct || "  \
    "defined typedef || defined void || defined while"

/* Where a text stands. */
typedef enum tj_scope {
    TJ_FILE_SCOPE, /* declarations and functions */
    TJ_BLOCK_SCOPE /* statements, an expression, members of a struct */
} tj_scope;

/* What the texts of one unit share while they are scanned, in order. */
typedef struct tj_scanner tj_scanner;

/* The scanner knows the macros of the environment (NULL: none); faults in them become
 * messages. is_part: text of ours follows; spec (NULL: none): of this function. Returns NULL without
 * memory; messages->failed is set then. */
tj_scanner *tj_scanner_new(const tj_environment *environment, bool is_part, const tj_spec *spec,
                           tj_messages *messages);
void tj_scanner_free(tj_scanner *scanner);
/* As tj_scan_check(), for a text that follows those scanned before. */
tj_status tj_scanner_check(tj_scanner *scanner, const tj_piece *piece, tj_scope scope,
                           tj_messages *messages);
/* The text that was scanned last, until the next one. */
const tj_expanded *tj_scanner_text(const tj_scanner *scanner);

/* ---- typeless.c -------------------------------------------------------------- */

/* What is known of the types in the texts of one unit. */
typedef struct tj_declared {
    tj_map types;  /* owned: all names in typedefs */
    bool complete; /* there are no others */
    bool includes; /* as tj_expander_includes() */
} tj_declared;

/* Refuses what C once took for int: `auto v = 1.5;`, `static f(double x) {...}`, a
 * parameter of an old definition that nothing declares; and what silent.c looks for.
 * Returns false without memory; what is found is an error message. */
bool tj_typeless_check(tj_declared *declared, const tj_expanded *text, const tj_piece *piece,
                       tj_scope scope, tj_messages *messages);

/* ---- silent.c ---------------------------------------------------------------- */

/* Refuses locals with more alignment than libtcc gives, accesses to addresses that it would
 * cut, arrays of 2 GiB and more, and parameters such as `double (*a)[n]`. */
void tj_silent_check(const tj_tokens *tokens, const tj_piece *piece, tj_scope scope,
                     tj_messages *messages);
