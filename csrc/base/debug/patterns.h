/* patterns.h: what new outputs hold before anybody has written to them, for debug=True.
 *
 * Floating numbers are signalling NaNs: what computes with one gets the quiet NaN of the same
 * bits, which is found in the outputs afterwards. Integers are numbers that are unlikely to be
 * a result. Types of less than four bytes have too few of those.
 */
#pragma once

#include "base/api.h"

typedef enum cwj_trace {
    CWJ_WRITTEN,
    CWJ_UNWRITTEN, /* the pattern is there */
    CWJ_READ       /* what comes of computing with it */
} cwj_trace;

/* Fills count elements; nothing happens for types that have no pattern. */
void cwj_pattern_fill(char *memory, size_t count, int type_num, size_t itemsize);
/* The first element of count that shows one of these, or CWJ_WRITTEN. */
cwj_trace cwj_pattern_find(const char *memory, size_t count, int type_num, size_t itemsize,
                           size_t *index);
