/* typeless.h: what libtcc takes in silence and gets wrong. Internal to tinyjit. */
#ifndef TJ_READ_TYPELESS_H
#define TJ_READ_TYPELESS_H

#include "read/scan.h"

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

#endif
