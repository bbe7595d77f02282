/* patterns.h: fills new outputs with patterns that reveal unwritten elements, for debug=True.
 *
 * Floating numbers are signalling NaNs: arithmetic on one gives the quiet NaN of the same bits, which we find in the
 * outputs afterwards. Integers are unlikely results. Types of less than four bytes have too few such numbers. */
#pragma once

#include "base/api.h"

typedef enum cwj_trace {
    CWJ_WRITTEN,
    CWJ_UNWRITTEN, /* the pattern is unchanged */
    CWJ_READ       /* the result of arithmetic on the pattern */
} cwj_trace;

/* Fills count elements; does nothing for types without a pattern. */
void cwj_pattern_fill(char *memory, size_t count, int type_num, size_t itemsize);
/* Returns the state of the first of count elements that is not CWJ_WRITTEN, or CWJ_WRITTEN. */
cwj_trace cwj_pattern_find(const char *memory, size_t count, int type_num, size_t itemsize,
                           size_t *index);
