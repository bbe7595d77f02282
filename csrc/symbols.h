/* symbols.h: the entry points that csrc/ offers to compiled code. */
#ifndef CWJ_SYMBOLS_H
#define CWJ_SYMBOLS_H

#include "api.h"

/* One table for the life of the process; NULL with MemoryError set. Call with
 * the GIL. */
const tj_symbol *cwj_symbols(size_t *count);

#endif
