/* negations.h: rewrites unary minus, because libtcc for arm64 aborts on it. Internal to tinyjit.
 *
 * libtcc's code generator for arm64 has an assertion that fails, and so calls abort(), on -x for a floating
 * point x in code that is not evaluated or never runs: sizeof(-x), the controlling expression of _Generic()
 * (such as exp(-x) with <tgmath.h>), and all code after a return. It handles -1 * x, which gives the same
 * result for all numbers; only the sign of a NaN stays unchanged. */
#pragma once

#include "internal.h"

/* Appends the text on the same lines, with (-1*x) for each -x whose operand is certain and not a literal.
 * Directives other than #define stay unchanged. */
void tj_negations_write(const char *text, tj_text *out);
