/* nesting.h: brackets, and how deep a C parser descends. Internal to tinyjit.
 *
 * libtcc is a recursive parser that ends the process when its stack is used up. So a
 * text is measured before it sees it, behind its macros: brackets, unary operators,
 * chains of `?:`, `=` and statements. The measure is of the form of the text alone and
 * errs on the large side.
 */
#ifndef TJ_READ_NESTING_H
#define TJ_READ_NESTING_H

#include "read/tokens.h"

enum {
    TJ_MAX_DEPTH = 5000 /* the parser survives 20,000 on TJ_COMPILE_STACK */
};

/* Looks for what is wrong; is_expression: with depth alone, the compiler finds the
 * brackets. Returns false without memory. */
bool tj_nesting_check(const tj_tokens *tokens, bool is_expression, tj_fault *fault);

#endif
