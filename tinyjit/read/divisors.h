/* divisors.h: hides operands from rewrites of gcc's that are wrong. Internal to tinyjit.
 *
 * Divisors: with -fwrapv gcc turns -(a / b) into a / -b while it reads the text, if b is an expression that it can
 * negate, such as n + 1: fold_negate_expr() in its fold-const.c. For b == 1 and the most negative a that is a division
 * by -1, which ends the process, though the text is defined.
 *
 * What stands behind a zero: gcc 12 turns 0.0 - b into -b if b cannot be -0.0, as fabs(x) and (double)i cannot:
 * fold_real_zero_addition_p() there. For b == 0.0 that is -0.0. 0.0 + -fabs(x) loses the zero, too.
 *
 * What stands behind a cast of an address it leaves alone.
 */
#pragma once

#include "internal.h"

/* What stands in front of texts written by tj_divisors_write(). */
const char *tj_divisors_macro(void);
/* Appends the text on the same lines, with cwj_hidden(z, b) for each a / b, a % b, 0 - b and 0 + b in a function or in a
 * macro, if it is certain where b ends and b is no literal; macros stay in a text with an #if that names one.
 * Constants stay constants, and optimizers see through the rest. */
void tj_divisors_write(const char *text, tj_text *out);
