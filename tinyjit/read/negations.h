/* negations.h: unary minus, spelled so that libtcc survives it. Internal to tinyjit.
 *
 * libtcc's code generator for arm64 asserts, and so calls abort(), on -x for a floating point x in
 * code that is not evaluated or never runs: sizeof(-x), what _Generic() chooses by, as in exp(-x)
 * of <tgmath.h>, and all that stands behind a return. It has no trouble with -1 * x, which is the
 * same for all numbers; the sign of a NaN alone stays.
 */
#pragma once

#include "internal.h"

/* Appends the text on the same lines, with (-1*x) for each -x whose operand is certain and no
 * literal. Other directives than #define stay as they are. */
void tj_negations_write(const char *text, tj_text *out);
