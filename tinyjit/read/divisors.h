/* divisors.h: hides divisors from a rewrite of gcc's that traps. Internal to tinyjit.
 *
 * With -fwrapv gcc turns -(a / b) into a / -b while it reads the text, if b is an expression that it can negate, such
 * as n + 1: fold_negate_expr() in its fold-const.c. For b == 1 and the most negative a that is a division by -1, which
 * ends the process, though the text is defined. What stands behind a cast of an address it leaves alone.
 */
#ifndef TJ_READ_DIVISORS_H
#define TJ_READ_DIVISORS_H

#include "internal.h"

/* What stands in front of texts written by tj_divisors_write(). */
const char *tj_divisors_macro(void);
/* Appends the text on the same lines, with cwj_divisor(b) for each a / b and a % b in a function or in a macro, if it
 * is certain where b ends and b is no literal; macros of a text with #if stay. Constants stay constants, and optimizers see through the rest. */
void tj_divisors_write(const char *text, tj_text *out);

#endif
