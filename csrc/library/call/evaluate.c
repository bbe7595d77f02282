/* evaluate.c: computes the values of dims in a call. */
#include "library/call/steps.h"

int
cwj_library_evaluate(const cwj_library_frame *frame, const cwj_dim *dim, PyObject *what,
                     npy_int64 *value)
{
    if (!cwj_dim_evaluate(dim, frame->symbols, value)) {
        return cwj_library_refuse(frame, PyExc_ValueError,
                                  "computing %U: a division by zero, or a number too large", what);
    }
    return 0;
}

int
cwj_library_shape(const cwj_library_frame *frame, const cwj_parameter *p, npy_intp *shape)
{
    for (int d = 0; d < p->ndim; d++) {
        npy_int64 value;
        if (cwj_library_evaluate(frame, &p->dims[d], p->name, &value) < 0) {
            return -1;
        }
        if (value < 0) {
            return cwj_library_refuse(frame, PyExc_ValueError, "dim %d of %U would be %lld", d,
                                      p->name, (long long)value);
        }
        shape[d] = (npy_intp)value;
    }
    return 0;
}
