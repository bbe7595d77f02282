/* typeless.h: what libtcc takes in silence and gets wrong. Internal to tinyjit. */
#ifndef TJ_READ_TYPELESS_H
#define TJ_READ_TYPELESS_H

#include "read/scan.h"

/* What the texts of one unit declare as types. */
typedef struct tj_typeless tj_typeless;

tj_typeless *tj_typeless_new(void);
void tj_typeless_free(tj_typeless *typeless);
/* Refuses what C once took for int: `auto v = 1.5;`, `static f(double x) {...}`, a
 * parameter of an old definition that nothing declares. includes: as
 * tj_expander_includes(). Returns false without memory; what is found is an error message. */
bool tj_typeless_check(tj_typeless *typeless, const tj_expanded *text, bool includes,
                       const tj_piece *piece, tj_scope scope, tj_messages *messages);

/* ---- aligned.c --------------------------------------------------------------- */

/* Refuses locals with more alignment than libtcc gives. Returns false without memory. */
bool tj_aligned_check(const tj_tokens *tokens, const tj_piece *piece, tj_scope scope,
                      tj_messages *messages);

/* ---- addresses.c ------------------------------------------------------------- */

/* Refuses accesses to addresses that libtcc would cut. Returns false without memory. */
bool tj_addresses_check(const tj_tokens *tokens, const tj_piece *piece, tj_messages *messages);

/* ---- rows.c ------------------------------------------------------------------ */

/* Refuses parameters such as `double (*a)[n]`. Returns false without memory. */
bool tj_rows_check(const tj_tokens *tokens, const tj_piece *piece, tj_messages *messages);

/* ---- large.c ----------------------------------------------------------------- */

/* Refuses arrays of 2 GiB and more. Returns false without memory. */
bool tj_large_check(const tj_tokens *tokens, const tj_piece *piece, tj_messages *messages);

#endif
