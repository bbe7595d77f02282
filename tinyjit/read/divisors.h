/* divisors.h: hides operands from wrong rewrites of gcc. Internal to tinyjit.
 *
 * Divisors: with -fwrapv, gcc's parser rewrites -(a / b) as a / -b if it can negate the expression b, such as
 * n + 1 (fold_negate_expr() in fold-const.c). For b == 1 and the most negative a this is a division by -1,
 * which ends the process, although the original expression is defined.
 *
 * Operands after a zero: gcc 12 rewrites 0.0 - b as -b if b cannot be -0.0, such as fabs(x) or (double)i
 * (fold_real_zero_addition_p() in the same file). For b == 0.0 the result is then -0.0. It also drops the
 * zero of 0.0 + -fabs(x).
 *
 * gcc does not look through a cast of an address, so we hide operands behind one. */
#pragma once

#include "internal.h"

/* Returns the macro that must precede texts written by tj_divisors_write(). */
const char *tj_divisors_macro(void);
/* Appends the text on the same lines. In functions and macros it writes cwj_hidden(z, b) for b in each a / b,
 * a % b, 0 - b and 0 + b, if the end of b is certain and b is not a literal. A text with an #if that names a
 * macro keeps its macros unchanged. Constants stay constants, and optimizers see through the rest. */
void tj_divisors_write(const char *text, tj_text *out);
