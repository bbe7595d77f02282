/* shim.h: the functions that snippets get in place of NumPy's macros. */
#ifndef CWJ_BASE_SHIM_H
#define CWJ_BASE_SHIM_H

#include "base/symbols.h"

/* Names as NumPy and CPython have them. Using one means calling into Python. */
extern const cwj_symbols cwj_shim_symbols;

#endif
