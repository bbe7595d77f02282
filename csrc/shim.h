/* shim.h: the functions that snippets get in place of NumPy's macros. */
#ifndef CWJ_SHIM_H
#define CWJ_SHIM_H

#include "../tinyjit/tinyjit.h"

/* Names as NumPy and CPython have them. Using one means calling into Python. */
extern const tj_symbol cwj_shim_symbols[];
extern const size_t cwj_shim_count;

#endif
