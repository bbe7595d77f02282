/* axes.h: axes of a loop over several operands: for the call path of functions, whose text m.write()
 * embeds, and for elementwise ops of graphs.
 */
#pragma once

/* Python.h and numpy/arrayobject.h come before this file. */

/* True when one step along the outer axis equals a whole turn of the inner one, for each operand,
 * and both as one still have a length. */
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

/* Joins neighbouring axes, the last of which is the inner one: lengths, none of them 0, and a row of
 * steps per axis. Returns how many are left. */
static inline int
cwj_join_axes(int naxes, int noperands, npy_intp *lengths, npy_intp *steps)
{
    size_t row = (size_t)noperands;
    int last = 0; /* of those that are final */
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
