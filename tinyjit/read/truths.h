/* truths.h: conditions, spelled so that libtcc asks what was meant. Internal to tinyjit.
 *
 * libtcc for arm64 takes a long double that is a condition for false, whatever it is: `if (x)`,
 * `x && y`, `x ? y : z`. Its `!x` and `x != 0` are right.
 */
#pragma once

#include "internal.h"

/* Appends the text on the same lines. If it names long double, one of its kin or a function of
 * them, there is !!(x) for each x that is certainly a condition, in all but the directives other
 * than #define. `x ?: y` stays. */
void tj_truths_write(const char *text, tj_text *out);
