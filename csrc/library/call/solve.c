/* solve.c: finds the values of all symbols in a call, then checks all dims. */
#include "library/call/steps.h"

/* The shape of the argument of parameter k, or NULL if it is absent or has no shape. */
static const npy_intp *
given_shape(const cwj_library_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    if (parameter->role == CWJ_ARRAY) {
        PyArrayObject *array = (PyArrayObject *)cwj_library_given(frame, k);
        return array == NULL ? NULL : PyArray_DIMS(array);
    }
    bool is_there = cwj_role_is(parameter->role, CWJ_COUNTED) && frame->slots[k + 1].p != NULL;
    return is_there ? frame->lengths + parameter->lengths_at : NULL;
}

static int
refuse_dim(const cwj_library_frame *frame, int k, int d, npy_intp got, npy_int64 wanted)
{
    PyObject *text = cwj_library_text_of_dim(frame, &frame->function->parameters[k].dims[d]);
    if (text != NULL) {
        cwj_library_refuse(frame, PyExc_ValueError,
                           "dim %d of argument %U is %zd, but must be %lld (%U)", d,
                           cwj_library_name(frame, k), (Py_ssize_t)got, (long long)wanted, text);
        Py_DECREF(text);
    }
    return -1;
}

static int
check_dims(const cwj_library_frame *frame, int k, const npy_intp *shape)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    for (int d = 0; d < parameter->ndim; d++) {
        const cwj_dim *dim = &parameter->dims[d];
        npy_int64 wanted;
        if (dim->count == 0) {
            continue;
        }
        if (cwj_library_evaluate(frame, dim, cwj_library_name(frame, k), &wanted) < 0) {
            return -1;
        }
        if (wanted != (npy_int64)shape[d]) {
            return refuse_dim(frame, k, d, shape[d], wanted);
        }
    }
    return 0;
}

/* Marks the symbols of sizes and hidden parameters, so that they do not get their values from shapes. */
static void
reserve(cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
    for (int i = 0; i < function->nsizes; i++) {
        frame->sources[function->sizes[i].symbol] = function->nparameters;
    }
    for (int k = 0; k < function->nparameters && function->presets; k++) {
        const cwj_parameter *p = &function->parameters[k];
        if (p->role == CWJ_HIDDEN && p->symbol >= 0) {
            frame->sources[p->symbol] = function->nparameters;
        }
    }
}

/* Sets their values, which may depend on symbols from shapes. */
static int
set_reserved(cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
    if (cwj_library_set_sizes(frame) < 0) {
        return -1;
    }
    for (int k = 0; k < function->nparameters && function->presets; k++) {
        const cwj_parameter *p = &function->parameters[k];
        if (p->role == CWJ_HIDDEN && p->symbol >= 0 &&
            cwj_library_evaluate(frame, &p->value, p->name, &frame->symbols[p->symbol]) < 0) {
            return -1;
        }
    }
    return 0;
}

int
cwj_library_solve(cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
    bool reserved = function->nsizes > 0 || function->presets;
    if (reserved) {
        reserve(frame);
    }
    for (int k = 0; k < function->nparameters; k++) {
        const npy_intp *shape = given_shape(frame, k);
        for (int d = 0; shape != NULL && d < function->parameters[k].ndim; d++) {
            int symbol = cwj_dim_symbol(&function->parameters[k].dims[d]);
            if (symbol >= 0 && frame->sources[symbol] < 0) {
                frame->symbols[symbol] = shape[d];
                frame->sources[symbol] = k;
            }
        }
    }
    if (reserved && set_reserved(frame) < 0) {
        return -1;
    }
    for (int k = 0; k < function->nparameters; k++) {
        const npy_intp *shape = given_shape(frame, k);
        if (shape != NULL && check_dims(frame, k, shape) < 0) {
            return -1;
        }
    }
    return 0;
}
