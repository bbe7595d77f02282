/* entries.h: what compiled code calls of the call path. */
#ifndef CWJ_FUNCTION_ENTRIES_H
#define CWJ_FUNCTION_ENTRIES_H

#include "base/symbols.h"

extern const cwj_symbols cwj_function_symbols;

#endif
