/* symbols.h: the entry points that csrc/ offers to compiled code. */
#pragma once

#include "base/api.h"

/* What one part of csrc/ offers. */
typedef struct cwj_symbols {
    const tj_symbol *items;
    size_t count;
} cwj_symbols;

/* What the small <numpy/arrayobject.h> declares; tools/embed.py writes it. Using one means calling into
 * Python. Call once NumPy has been imported. */
const cwj_symbols *cwj_numpy_symbols(void);

/* Says, once and at import, what the front ends offer: NULL-terminated, borrowed for good. */
void cwj_symbols_set(const cwj_symbols *const *front_ends);

/* Fills what compiled code gets of csrc/: symbols, host_prefixes and host_macros, all
 * there for the life of the process. Returns 0, or -1 with an exception. Call with the GIL. */
int cwj_symbols_offer(tj_environment_options *options);
