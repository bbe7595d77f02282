/* lengths.c: reads the lengths that C wrote, and cuts outputs to them. */
#include "library/call/steps.h"
#include "library/objects/foreign_memory.h"

static int
read_length(cwj_library_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    npy_int64 *symbol = &frame->symbols[parameter->symbol], before = *symbol;
    cwj_slot slot;
    cwj_scalar_load(parameter->type, &frame->targets[k], &slot);
    if (!cwj_scalar_count(parameter->type, &slot, symbol)) {
        return cwj_library_refuse(frame, PyExc_ValueError, "%U is too large for a length",
                                  parameter->name);
    }
    if (parameter->is_capacity && (*symbol < 0 || *symbol > before)) {
        return cwj_library_refuse(frame, PyExc_ValueError,
                                  "%U is %lld after the call; the arrays were made for %lld",
                                  parameter->name, (long long)*symbol, (long long)before);
    }
    return 0;
}

/* Replaces the output of parameter k by a view of the shape that its dims have after the call. */
static int
cut_output(cwj_library_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    PyArrayObject *made = (PyArrayObject *)frame->made[k];
    npy_intp shape[NPY_MAXDIMS];
    bool changed = false;
    if (cwj_library_shape(frame, parameter, shape) < 0) {
        return -1;
    }
    for (int d = 0; d < parameter->ndim; d++) {
        npy_intp room = PyArray_DIM(made, d);
        changed |= shape[d] != room;
        if (shape[d] > room) {
            return cwj_library_refuse(
                frame, PyExc_ValueError,
                "dim %d of %U would be %zd after the call; it was made for %zd", d, parameter->name,
                (Py_ssize_t)shape[d], (Py_ssize_t)room);
        }
    }
    if (changed) {
        frame->made[k] =
            cwj_array_over(PyArray_DESCR(made), PyArray_NDIM(made), shape, PyArray_STRIDES(made),
                           false, PyArray_DATA(made), true, (PyObject *)made);
        Py_DECREF(made);
    }
    return frame->made[k] == NULL ? -1 : 0;
}

int
cwj_library_read_lengths(cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
    for (int k = 0; k < function->nparameters; k++) {
        if (cwj_is_written_length(&function->parameters[k]) && frame->slots[k + 1].p != NULL &&
            read_length(frame, k) < 0) {
            return -1;
        }
    }
    for (int k = 0; k < function->nparameters; k++) {
        if (function->parameters[k].role == CWJ_ARRAY && frame->made[k] != NULL &&
            cut_output(frame, k) < 0) {
            return -1;
        }
    }
    return 0;
}
