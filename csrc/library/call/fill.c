/* fill.c: computes hidden integers and strides and makes new outputs, once all symbols are known. */
#include "library/call/steps.h"
#include "library/objects/instance.h"

static int
put_integer(cwj_library_frame *frame, int k, npy_int64 value)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    if (!cwj_store_integer(value, parameter->type->typenum, &frame->targets[k])) {
        return cwj_library_refuse(frame, PyExc_ValueError,
                                  "%U would be %lld, which is out of range of its type %s",
                                  parameter->name, (long long)value, parameter->type->name);
    }
    if (parameter->by_pointer || parameter->role == CWJ_LENGTH) {
        frame->slots[k + 1].p = &frame->targets[k];
    } else {
        cwj_scalar_load(parameter->type, &frame->targets[k], &frame->slots[k + 1]);
    }
    return 0;
}

static int
make_array(cwj_library_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    npy_intp shape[NPY_MAXDIMS];
    if (cwj_library_shape(frame, parameter, shape) < 0) {
        return -1;
    }
    /* Zeros: a routine may return early and write nothing, as BLAS does for matrices without columns. */
    frame->made[k] =
        PyArray_Zeros(parameter->ndim, shape, (PyArray_Descr *)Py_NewRef(parameter->descr),
                      parameter->order == CWJ_ORDER_F);
    if (frame->made[k] == NULL) {
        return -1;
    }
    frame->slots[k + 1].p = PyArray_DATA((PyArrayObject *)frame->made[k]);
    return 0;
}

/* Makes zeroed memory for the pointers of a list and a final NULL. */
static int
make_list(cwj_library_frame *frame, int k)
{
    npy_intp count, size;
    if (cwj_library_shape(frame, &frame->function->parameters[k], &count) < 0) {
        return -1;
    }
    if (__builtin_mul_overflow(count + 1, (npy_intp)sizeof(void *), &size)) {
        PyErr_NoMemory();
        return -1;
    }
    frame->made[k] = PyBytes_FromStringAndSize(NULL, size);
    if (frame->made[k] == NULL) {
        return -1;
    }
    frame->slots[k + 1].p = memset(PyBytes_AS_STRING(frame->made[k]), 0, (size_t)size);
    return 0;
}

/* k: the parameter, or nparameters for what C returns. */
static int
make_struct(cwj_library_frame *frame, int k, cwj_struct_layout *layout, cwj_slot *slot)
{
    frame->made[k] = cwj_instance_empty(layout, &slot->p);
    return frame->made[k] == NULL ? -1 : 0;
}

/* The stride of an array's axis in elements. For an axis of one element, or an array of none, it is a contiguous
 * array's, because libraries check leading dimensions. */
static npy_int64
stride_of(const cwj_library_frame *frame, int of, int axis)
{
    npy_int64 natural = 1;
    PyObject *given = cwj_library_given(frame, of);
    PyArrayObject *array = (PyArrayObject *)(given != NULL ? given : frame->made[of]);
    if (array == NULL) {
        return 0;
    }
    if (PyArray_DIM(array, axis) > 1 && PyArray_SIZE(array) > 0) {
        return PyArray_STRIDE(array, axis) / PyArray_ITEMSIZE(array);
    }
    bool fortran = frame->function->parameters[of].order == CWJ_ORDER_F;
    int from = fortran ? 0 : axis + 1, to = fortran ? axis : PyArray_NDIM(array);
    for (int d = from; d < to; d++) {
        npy_int64 length = PyArray_DIM(array, d) > 0 ? PyArray_DIM(array, d) : 1;
        if (__builtin_mul_overflow(natural, length, &natural)) {
            return 1; /* nothing will be read */
        }
    }
    return natural;
}

static int
fill_one(cwj_library_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    bool out = parameter->intent == CWJ_INTENT_OUT;
    npy_int64 value;
    switch (parameter->role) {
    case CWJ_HIDDEN:
        return cwj_library_evaluate(frame, &parameter->value, parameter->name, &value) < 0
                   ? -1
                   : put_integer(frame, k, value);
    case CWJ_ARRAY:
        return out ? make_array(frame, k) : 0;
    case CWJ_TEXTS:
    case CWJ_HANDLES:
        return out ? make_list(frame, k) : 0;
    case CWJ_STRUCT:
        return out ? make_struct(frame, k, parameter->layout, &frame->slots[k + 1]) : 0;
    case CWJ_LENGTH: /* if an argument says this length, C can read it before it writes another */
        if (parameter->symbol >= 0 && frame->sources[parameter->symbol] >= 0) {
            return put_integer(frame, k, frame->symbols[parameter->symbol]);
        }
        break;
    case CWJ_DATA:
    case CWJ_STATUS:
        break;
    case CWJ_ADDRESS:
    case CWJ_STRING:
    case CWJ_VALUE:
    case CWJ_HANDLE:
        if (out) {
            break;
        }
        return 0;
    default:
        return 0;
    }
    frame->slots[k + 1].p = &frame->targets[k]; /* C writes the output there */
    return 0;
}

int
cwj_library_fill(cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
    for (int k = 0; k < function->nparameters; k++) {
        if (fill_one(frame, k) < 0) {
            return -1;
        }
    }
    for (int k = 0; k < function->nparameters; k++) { /* last, as they need the outputs */
        const cwj_parameter *p = &function->parameters[k];
        if (p->role == CWJ_STRIDE && put_integer(frame, k, stride_of(frame, p->of, p->axis)) < 0) {
            return -1;
        }
    }
    const cwj_parameter *result = &function->result;
    return result->role == CWJ_STRUCT
               ? make_struct(frame, function->nparameters, result->layout, &frame->slots[0])
               : 0;
}
