/* truths.h: rewrites conditions that libtcc for arm64 would get wrong. Internal to tinyjit.
 *
 * libtcc for arm64 treats a long double condition as false, whatever its value: `if (x)`, `x && y`, `x ? y : z`. It
 * handles `!x` and `x != 0` correctly. */
#pragma once

#include "internal.h"

/* Appends the text on the same lines. If it names long double, a similar type or a function of them, it writes !!(x)
 * for each x that is certainly a condition, except in directives other than #define. `x ?: y` stays unchanged. */
void tj_truths_write(const char *text, tj_text *out);
