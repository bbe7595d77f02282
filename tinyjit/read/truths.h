/* truths.h: rewrites conditions that libtcc for arm64 would get wrong. Internal to tinyjit.
 *
 * libtcc for arm64 treats a long double condition as false, whatever its value: `if (x)`, `x && y`, `x ? y : z`. It
 * handles `!x` and `x != 0` correctly. */
#pragma once

#include "internal.h"

/* Appends the text and keeps its lines. If the text uses long double, a type such as npy_longdouble, or a function
 * such as fmodl(), each x that is certainly a condition becomes !!(x). `x ?: y` and directives other than #define stay
 * unchanged. */
void tj_truths_write(const char *text, tj_text *out);
