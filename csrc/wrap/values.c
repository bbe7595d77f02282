/* values.c: numbers, from arguments into slots; hidden integers, from shapes. */
#include "wrap.h"

static int
refuse_value(const cwj_wrap_frame *frame, int k, PyObject *object)
{
    const cwj_type *type = frame->function->parameters[k].type;
    const char *fault = type->kind == 'i' || type->kind == 'u' ? "out of range of" : "not exact in";
    return cwj_wrap_refuse(frame, PyExc_ValueError, "argument %U: %R is %s %s",
                           cwj_wrap_name(frame, k), object, fault, type->name);
}

static int
take_symbol(cwj_wrap_frame *frame, int k, const cwj_slot *slot)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    npy_int64 value;
    if (!cwj_scalar_count(parameter->type, slot, &value)) {
        return cwj_wrap_refuse(frame, PyExc_ValueError, "argument %U is too large for a dim",
                               cwj_wrap_name(frame, k));
    }
    if (frame->sources[parameter->symbol] < 0) {
        frame->symbols[parameter->symbol] = value;
        frame->sources[parameter->symbol] = k;
    }
    return 0;
}

int
cwj_wrap_take_value(cwj_wrap_frame *frame, int k, PyObject *object)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    cwj_slot *slot = &frame->slots[k + 1], value;
    if (object == NULL) { /* absent, or an output */
        slot->p = parameter->intent == CWJ_OUT ? (void *)&frame->targets[k] : NULL;
        return 0;
    }
    switch (cwj_scalar_take(parameter->type, parameter->strict || frame->strict, object, &value)) {
    case CWJ_TAKEN_ERROR:
        return -1;
    case CWJ_WRONG_TYPE:
        return cwj_wrap_refuse_type(frame, k, object, NULL);
    case CWJ_WRONG_VALUE:
        return refuse_value(frame, k, object);
    case CWJ_TAKEN:
        break;
    }
    if (parameter->symbol >= 0 && take_symbol(frame, k, &value) < 0) {
        return -1;
    }
    if (parameter->by_pointer) {
        cwj_scalar_store(parameter->type, &value, &frame->targets[k]);
        slot->p = &frame->targets[k];
    } else {
        *slot = value;
    }
    return 0;
}

static int
put_integer(cwj_wrap_frame *frame, int k, npy_int64 value)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    cwj_slot *slot = &frame->slots[k + 1];
    if (!cwj_type_holds(parameter->type, value)) {
        return cwj_wrap_refuse(frame, PyExc_ValueError,
                               "%U would be %lld, which is out of range of its type %s",
                               parameter->name, (long long)value, parameter->type->name);
    }
    cwj_scalar_put(parameter->type, value, slot);
    if (parameter->by_pointer) {
        cwj_scalar_store(parameter->type, slot, &frame->targets[k]);
        slot->p = &frame->targets[k];
    }
    return 0;
}

/* ---- outputs and what shapes say, once all symbols are known ------------------------- */

static int
make_array(cwj_wrap_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    npy_intp shape[NPY_MAXDIMS];
    if (cwj_wrap_given(frame, k) != NULL) {
        return 0;
    }
    if (cwj_wrap_shape(frame, parameter->dims, parameter->ndim, cwj_wrap_name(frame, k), shape) <
        0) {
        return -1;
    }
    frame->made[k] = PyArray_New(&PyArray_Type, parameter->ndim, shape, parameter->type->typenum,
                                 NULL, NULL, 0, parameter->order == 'F', NULL);
    if (frame->made[k] == NULL) {
        return -1;
    }
    frame->slots[k + 1].p = PyArray_DATA((PyArrayObject *)frame->made[k]);
    return 0;
}

static int
make_bytes(cwj_wrap_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    npy_intp length;
    if (cwj_wrap_shape(frame, parameter->dims, 1, cwj_wrap_name(frame, k), &length) < 0) {
        return -1;
    }
    frame->made[k] = PyBytes_FromStringAndSize(NULL, length);
    if (frame->made[k] == NULL) {
        return -1;
    }
    memset(PyBytes_AS_STRING(frame->made[k]), 0, (size_t)length);
    frame->slots[k + 1].p = PyBytes_AS_STRING(frame->made[k]);
    return 0;
}

/* How axis `axis` of an array lies, in elements. Of an axis with one element, or of an array
 * with none, what a contiguous array would have: libraries check leading dimensions. */
static npy_int64
stride_of(PyArrayObject *array, int axis, char order)
{
    npy_int64 natural = 1;
    int ndim = PyArray_NDIM(array);
    if (PyArray_DIM(array, axis) > 1 && PyArray_SIZE(array) > 0) {
        return PyArray_STRIDE(array, axis) / PyArray_ITEMSIZE(array);
    }
    int from = order == 'F' ? 0 : axis + 1, to = order == 'F' ? axis : ndim;
    for (int d = from; d < to; d++) {
        npy_int64 length = PyArray_DIM(array, d) > 0 ? PyArray_DIM(array, d) : 1;
        if (__builtin_mul_overflow(natural, length, &natural)) {
            return 1; /* nothing will be read */
        }
    }
    return natural;
}

static int
fill_stride(cwj_wrap_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    PyArrayObject *array = cwj_wrap_array(frame, parameter->of);
    char order = frame->function->parameters[parameter->of].order;
    return put_integer(frame, k, array == NULL ? 0 : stride_of(array, parameter->axis, order));
}

static int
fill_hidden(cwj_wrap_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    npy_int64 value;
    if (cwj_wrap_evaluate(frame, &parameter->value, parameter->name, &value) < 0) {
        return -1;
    }
    return put_integer(frame, k, value);
}

static int
fill_one(cwj_wrap_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    switch (parameter->role) {
    case CWJ_HIDDEN:
        return fill_hidden(frame, k);
    case CWJ_ARRAY:
        return parameter->intent == CWJ_OUT ? make_array(frame, k) : 0;
    case CWJ_BUFFER:
        return parameter->intent == CWJ_OUT ? make_bytes(frame, k) : 0;
    case CWJ_DATA:
    case CWJ_LENGTH:
    case CWJ_STATUS:
        frame->slots[k + 1].p = &frame->targets[k];
        return 0;
    case CWJ_HANDLE:
        if (parameter->intent == CWJ_OUT) {
            frame->slots[k + 1].p = &frame->targets[k];
        }
        return 0;
    default:
        return 0;
    }
}

int
cwj_wrap_fill(cwj_wrap_frame *frame)
{
    const cwj_wrapped *function = frame->function;
    for (int k = 0; k < function->nparameters; k++) {
        if (fill_one(frame, k) < 0) {
            return -1;
        }
    }
    for (int k = 0; k < function->nparameters; k++) { /* outputs, too, are there now */
        if (function->parameters[k].role == CWJ_STRIDE && fill_stride(frame, k) < 0) {
            return -1;
        }
    }
    return 0;
}
