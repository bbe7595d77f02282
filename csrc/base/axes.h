/* axes.h: merges axes of a loop over several operands, for the calls of functions (m.write() embeds this text) and
 * elementwise ops of graphs. */
#pragma once

/* Python.h and numpy/arrayobject.h come before this file. */

/* Returns true if, for each operand, a step along the outer axis equals the length of the inner axis, and the merged
 * length does not overflow. */
static inline int
cwj_axes_join(int noperands, npy_intp outer, const npy_intp *outer_steps, npy_intp inner,
              const npy_intp *inner_steps)
{
    if (outer > NPY_MAX_INTP / inner) {
        return 0;
    }
    for (int k = 0; k < noperands; k++) {
        if (outer_steps[k] != inner_steps[k] * inner) {
            return 0;
        }
    }
    return 1;
}

/* Merges neighbouring axes, the last of which is innermost; returns their number. lengths: not 0. steps: a row per
 * axis. */
static inline int
cwj_join_axes(int naxes, int noperands, npy_intp *lengths, npy_intp *steps)
{
    size_t row = (size_t)noperands;
    int last = 0; /* index of the last final axis */
    for (int axis = 1; axis < naxes; axis++) {
        npy_intp *outer = steps + (size_t)last * row, *inner = steps + (size_t)axis * row;
        if (cwj_axes_join(noperands, lengths[last], outer, lengths[axis], inner)) {
            lengths[last] *= lengths[axis];
            memcpy(outer, inner, row * sizeof(*steps));
        } else {
            last++;
            lengths[last] = lengths[axis];
            memmove(outer + row, inner, row * sizeof(*steps));
        }
    }
    return last + 1;
}
