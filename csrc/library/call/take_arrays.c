/* take_arrays.c: takes arrays as arguments. It never copies: an array fits or is refused. */
#include "library/call/steps.h"

#include "base/masked.h"

/* ---- how arrays lie -------------------------------------------------------------- */

/* Faults of an array's layout; NULL stands for none. */
static const char IN_THE_OTHER_ORDER[] = "is in the other order";
static const char WITH_GAPS[] = "is not contiguous";
/* A leading dimension is negative, or less than the length of a row or column. */
static const char OVERLAPPED[] = "has rows or columns that overlap or run backwards";
/* C gets the stride of an axis, but nothing says what a negative one means. */
static const char BACKWARDS[] = "runs backwards";
static const char BETWEEN_ITEMS[] = "has a stride that is no multiple of its items' size";

/* Checks an array with stride parameters: all other axes must have the strides of the order. */
static const char *
fault_of_axes(PyArrayObject *array, const cwj_parameter *parameter)
{
    int ndim = PyArray_NDIM(array);
    npy_intp itemsize = PyArray_ITEMSIZE(array), expected = itemsize;
    bool inner_is_dense = false; /* then the next stride is a leading dimension, as in BLAS */
    for (int i = 0; i < ndim; i++) {
        int d = parameter->order == CWJ_ORDER_F ? i : ndim - 1 - i;
        npy_intp length = PyArray_DIM(array, d), stride = PyArray_STRIDE(array, d);
        bool strided = (parameter->strided >> d & 1) != 0;
        inner_is_dense = inner_is_dense || !strided;
        if (length <= 1) {
            continue;
        }
        if (!strided && stride != expected) {
            return WITH_GAPS;
        }
        if (strided && inner_is_dense && stride < expected) {
            return OVERLAPPED;
        }
        if (stride < 0 && (parameter->backwards >> d & 1) == 0) {
            return BACKWARDS;
        }
        if (stride % itemsize != 0) {
            return BETWEEN_ITEMS;
        }
        expected = stride * length;
    }
    return NULL;
}

static bool
is_in_order(PyArrayObject *array, cwj_order order)
{
    return PyArray_CHKFLAGS(array,
                            order == CWJ_ORDER_F ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS);
}

static const char *
layout_fault(PyArrayObject *array, const cwj_parameter *parameter)
{
    cwj_order other = parameter->order == CWJ_ORDER_F ? CWJ_ORDER_C : CWJ_ORDER_F;
    if (parameter->strided != 0) {
        return PyArray_SIZE(array) == 0 ? NULL : fault_of_axes(array, parameter);
    }
    return is_in_order(array, parameter->order) ? NULL
           : is_in_order(array, other)          ? IN_THE_OTHER_ORDER
                                                : WITH_GAPS;
}

/* ---- faults ------------------------------------------------------------------------ */

static bool
has_type(PyArrayObject *array, const cwj_parameter *parameter)
{
    const cwj_library_type *type = parameter->type;
    int typenum = PyArray_TYPE(array);
    if (type == NULL) {
        return parameter->descr == NULL ||
               PyArray_EquivTypes(PyArray_DESCR(array), parameter->descr);
    }
    return ((typenum == type->typenum || PyArray_EquivTypenums(typenum, type->typenum)) &&
            PyArray_ISNOTSWAPPED(array));
}

/* Raises one TypeError that lists all faults: dtype, rank, ordering. */
static int
refuse_array(const cwj_library_frame *frame, int k, PyArrayObject *array, bool type, bool rank,
             bool order)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    const char *orders = !order                            ? ""
                         : parameter->order == CWJ_ORDER_F ? "ordering is C, not F (order='F')"
                                                           : "ordering is F, not C (order='C')";
    PyObject *types =
        type ? PyUnicode_FromFormat("dtype is %S, not %S", PyArray_DESCR(array), parameter->descr)
             : PyUnicode_FromString("");
    PyObject *ranks =
        rank ? PyUnicode_FromFormat("rank is %d, not %d", PyArray_NDIM(array), parameter->ndim)
             : PyUnicode_FromString("");
    if (types != NULL && ranks != NULL) {
        cwj_library_refuse_type(frame, k, "an array whose %U%s%U%s%s", types,
                                type && rank ? "; " : "", ranks,
                                (type || rank) && order ? "; " : "", orders);
    }
    CWJ_RELEASE(types, ranks);
    return -1;
}

static int
refuse_layout(const cwj_library_frame *frame, int k, PyArrayObject *array, const char *fault)
{
    PyObject *strides = PyArray_IntTupleFromIntp(PyArray_NDIM(array), PyArray_STRIDES(array));
    if (strides != NULL) {
        cwj_library_refuse(frame, PyExc_ValueError, "argument %U %s: its strides are %R bytes",
                           cwj_library_name(frame, k), fault, strides);
    }
    Py_XDECREF(strides);
    return -1;
}

static int
refuse_backwards(const cwj_library_frame *frame, int k, PyArrayObject *array)
{
    const cwj_library_function *function = frame->function;
    for (int s = 0; s < function->nparameters; s++) {
        const cwj_parameter *stride = &function->parameters[s];
        if (stride->role == CWJ_STRIDE && stride->of == k && stride->negative == CWJ_REFUSED &&
            PyArray_STRIDE(array, stride->axis) < 0) {
            return cwj_library_refuse(
                frame, PyExc_ValueError,
                "argument %U runs backwards along axis %d, and what %U means then "
                "is not said: strides={\"%U\": (\"%U\", %d, \"first\")} gives C the "
                "first item's address, \"lowest\" the lowest",
                cwj_library_name(frame, k), stride->axis, stride->name, stride->name,
                function->parameters[k].name, stride->axis);
        }
    }
    return refuse_layout(frame, k, array, BACKWARDS);
}

/* ---- taking one ---------------------------------------------------------------------- */

/* The address that C gets: the lowest one along the axes of the bit set `lowest`, the first item's along others. */
static char *
address_of(PyArrayObject *array, uint64_t lowest)
{
    char *data = PyArray_BYTES(array);
    for (int d = 0; d < PyArray_NDIM(array) && PyArray_SIZE(array) > 0; d++) {
        if (PyArray_STRIDE(array, d) < 0 && (lowest >> d & 1) != 0) {
            data += PyArray_STRIDE(array, d) * (PyArray_DIM(array, d) - 1);
        }
    }
    return data;
}

/* True in the usual case, by one comparison of each property. check_array() knows the others. */
static bool
fits_plainly(PyArrayObject *array, const cwj_parameter *parameter)
{
    int wanted =
        NPY_ARRAY_ALIGNED | (parameter->intent == CWJ_INTENT_IN ? 0 : NPY_ARRAY_WRITEABLE) |
        (parameter->order == CWJ_ORDER_F ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS);
    return parameter->type != NULL && PyArray_TYPE(array) == parameter->type->typenum &&
           PyArray_NDIM(array) == parameter->ndim && parameter->ndim > 0 &&
           PyArray_ISNOTSWAPPED(array) && (PyArray_FLAGS(array) & wanted) == wanted;
}

/* NumPy packs structs by default, so for these the alignment that C needs is the parameter's dtype's. */
static bool
is_aligned(PyArrayObject *array, const cwj_parameter *parameter)
{
    bool is_struct = parameter->type == NULL && parameter->descr != NULL;
    return PyArray_ISALIGNED(array) &&
           (!is_struct ||
            (uintptr_t)PyArray_DATA(array) % (uintptr_t)PyDataType_ALIGNMENT(parameter->descr) ==
                0);
}

static int
check_array(cwj_library_frame *frame, int k, PyArrayObject *array)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    bool unchecked = parameter->ndim == 0; /* a pointer without dims */
    if (PyDataType_REFCHK(PyArray_DESCR(array))) {
        return cwj_library_refuse_type(frame, k, "an array of Python objects");
    }
    bool type = !has_type(array, parameter);
    bool rank = !unchecked && PyArray_NDIM(array) != parameter->ndim;
    bool comparable = !unchecked && PyArray_NDIM(array) > 1 && parameter->ndim > 1;
    const char *fault = rank || unchecked ? NULL : layout_fault(array, parameter);
    bool order = fault == IN_THE_OTHER_ORDER || (rank && comparable && parameter->strided == 0 &&
                                                 !is_in_order(array, parameter->order));
    if (type || rank || order) {
        return refuse_array(frame, k, array, type, rank, order);
    }
    if (fault != NULL) {
        return fault == BACKWARDS ? refuse_backwards(frame, k, array)
                                  : refuse_layout(frame, k, array, fault);
    }
    if (!is_aligned(array, parameter)) {
        return cwj_library_refuse(frame, PyExc_ValueError, "argument %U is not aligned",
                                  cwj_library_name(frame, k));
    }
    if (parameter->intent != CWJ_INTENT_IN && !PyArray_ISWRITEABLE(array)) {
        return cwj_library_refuse(frame, PyExc_ValueError,
                                  "argument %U is written, but is read-only",
                                  cwj_library_name(frame, k));
    }
    return 0;
}

/* C's bool must be 0 or 1, but NumPy's may be any byte. In memory that C writes, other bytes become 1 before the call;
 * memory that C only reads must not be changed: returns false if it has such a byte. */
static bool
settle_truths(npy_bool *at, npy_intp count, bool written)
{
    for (npy_intp i = 0; i < count; i++) {
        if (at[i] > 1 && !written) {
            return false;
        }
        if (at[i] > 1) {
            at[i] = 1;
        }
    }
    return true;
}

static int
check_truths(cwj_library_frame *frame, int k, PyArrayObject *array)
{
    bool written = frame->function->parameters[k].intent != CWJ_INTENT_IN, fine = true;
    if (PyArray_ISONESEGMENT(array)) {
        fine = settle_truths(PyArray_DATA(array), PyArray_SIZE(array), written);
    } else {
        PyArrayIterObject *iter = (PyArrayIterObject *)PyArray_IterNew((PyObject *)array);
        if (iter == NULL) {
            return -1;
        }
        while (fine && PyArray_ITER_NOTDONE(iter)) {
            fine = settle_truths(PyArray_ITER_DATA(iter), 1, written);
            PyArray_ITER_NEXT(iter);
        }
        Py_DECREF(iter);
    }
    return fine ? 0
                : cwj_library_refuse(
                      frame, PyExc_ValueError,
                      "argument %U holds bytes other than 0 and 1, which C's bool must "
                      "not: give x != 0",
                      cwj_library_name(frame, k));
}

/* True for bytes or a bytearray that is given for `const uint8_t x[n]`, as in C code for protocols. */
static bool
is_bytes(const cwj_library_frame *frame, const cwj_parameter *parameter, PyObject *object)
{
    return (PyBytes_Check(object) || PyByteArray_Check(object)) && !frame->strict &&
           parameter->ndim == 1 && parameter->type != NULL && parameter->type->typenum == NPY_UINT8;
}

int
cwj_library_take_array(cwj_library_frame *frame, int k, PyObject *object)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    if (is_bytes(frame, parameter, object)) {
        object = frame->made[k] =
            PyArray_FromBuffer(object, PyArray_DescrFromType(NPY_UINT8), -1, 0);
        if (object == NULL) {
            return -1;
        }
        frame->given[parameter->argument] = object;
    }
    if (!PyArray_Check(object)) {
        return cwj_library_refuse_type(frame, k, "%s", Py_TYPE(object)->tp_name);
    }
    int masked = cwj_is_masked(object);
    if (masked != 0) {
        return masked < 0 ? -1
                          : cwj_library_refuse_type(
                                frame, k, "an array with masked elements, which would be lost");
    }
    PyArrayObject *array = (PyArrayObject *)object;
    if ((!fits_plainly(array, parameter) && check_array(frame, k, array) < 0) ||
        (PyArray_TYPE(array) == NPY_BOOL && check_truths(frame, k, array) < 0)) {
        return -1;
    }
    frame->slots[k + 1].p =
        parameter->lowest != 0 ? address_of(array, parameter->lowest) : PyArray_BYTES(array);
    return 0;
}
