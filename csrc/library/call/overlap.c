/* overlap.c: refuses arrays that C writes if they share memory with other arguments or have several items in one place,
 * and arrays inside a struct that C writes, or the reverse. Two structs may be the same, as in add(&a, &a, &b). */
#include "library/call/steps.h"
#include "library/objects/instance.h"

#include "base/extent.h"

/* The caller's memory that C reads or writes through parameter k; empty if there is none. */
static cwj_extent
extent_of(const cwj_library_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    PyObject *given = cwj_library_given(frame, k);
    if (given != NULL && parameter->role == CWJ_ARRAY) {
        PyArrayObject *array = (PyArrayObject *)given;
        return extent_of_memory(PyArray_BYTES(array), PyArray_NDIM(array), PyArray_DIMS(array),
                                PyArray_STRIDES(array), PyArray_ITEMSIZE(array));
    }
    const char *data = frame->slots[k + 1].p;
    if (given != NULL && parameter->role == CWJ_HANDLE && cwj_is_instance(given)) {
        return (cwj_extent){data, data + ((cwj_instance *)given)->layout->size};
    }
    bool is_buffer = given != NULL && data != NULL && parameter->role == CWJ_BUFFER;
    return is_buffer ? (cwj_extent){data, data + frame->lengths[parameter->lengths_at]}
                     : (cwj_extent){NULL, NULL};
}

static int
check_pair(const cwj_library_frame *frame, int k, cwj_extent one, int other)
{
    const cwj_parameter *parameters = frame->function->parameters;
    if (parameters[k].role == CWJ_HANDLE && parameters[other].role == CWJ_HANDLE) {
        return 0;
    }
    cwj_extent against = extent_of(frame, other);
    if (against.low == against.high || one.high <= against.low || against.high <= one.low) {
        return 0;
    }
    int shared = 1;
    if (parameters[k].role == CWJ_ARRAY && parameters[other].role == CWJ_ARRAY) {
        shared = shares_exactly((PyArrayObject *)cwj_library_given(frame, k),
                                (PyArrayObject *)cwj_library_given(frame, other));
    }
    if (shared > 0) {
        cwj_library_refuse(frame, PyExc_ValueError,
                           "argument %U shares memory with argument %U; wanted separate arrays "
                           "(overlap=\"allow\" says that the routine permits it)",
                           cwj_library_name(frame, k), cwj_library_name(frame, other));
    }
    return shared == 0 ? 0 : -1;
}

/* Checks memory that C writes against memory that C only reads, and memory that it writes through later parameters. */
static int
check_written(const cwj_library_frame *frame, int k)
{
    const cwj_library_function *function = frame->function;
    cwj_extent extent = extent_of(frame, k);
    if (extent.low == extent.high) {
        return 0;
    }
    if (function->parameters[k].role == CWJ_ARRAY) {
        PyArrayObject *array = (PyArrayObject *)cwj_library_given(frame, k);
        int apart =
            PyArray_IS_C_CONTIGUOUS(array)
                ? 1
                : elements_are_apart(PyArray_BYTES(array), PyArray_NDIM(array), PyArray_DIMS(array),
                                     PyArray_STRIDES(array), PyArray_ITEMSIZE(array));
        if (apart != 1) {
            return apart < 0 ? -1
                             : cwj_library_refuse(
                                   frame, PyExc_ValueError,
                                   "argument %U is written, and may hold several items in the same "
                                   "memory: its strides are zero or overlap",
                                   cwj_library_name(frame, k));
        }
    }
    for (int other = 0; other < function->nparameters && !function->may_overlap; other++) {
        bool later = other > k || !cwj_is_written_memory(&function->parameters[other]);
        if (other != k && later && check_pair(frame, k, extent, other) < 0) {
            return -1;
        }
    }
    return 0;
}

int
cwj_library_check_overlap(const cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
    for (int k = 0; k < function->nparameters; k++) {
        if (cwj_is_written_memory(&function->parameters[k]) && check_written(frame, k) < 0) {
            return -1;
        }
    }
    return 0;
}
