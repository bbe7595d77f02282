/* results.c: from slots to what the call returns: None, one object, or a tuple. */
#include "instance.h"
#include "wrap.h"

/* ---- who owns ---------------------------------------------------------------------- */

static const char VIEW[] = "cwrapjit.view";

static void
end_view(PyObject *capsule)
{
    Py_DECREF((PyObject *)PyCapsule_GetPointer(capsule, VIEW));
}

/* What keeps an argument's memory in place; new reference. Of a bytearray and its like that
 * is a memoryview, in a capsule so that nobody can release it. */
static PyObject *
pin(PyObject *given)
{
    if (PyArray_Check(given) || PyBytes_Check(given) || cwj_is_instance(given) ||
        !PyObject_CheckBuffer(given)) {
        return Py_NewRef(given);
    }
    PyObject *view = PyMemoryView_FromObject(given);
    PyObject *capsule = view == NULL ? NULL : PyCapsule_New(view, VIEW, end_view);
    if (capsule == NULL) {
        Py_XDECREF(view);
    }
    return capsule;
}

/* The arguments that a result points into, as a tuple; new reference. */
static PyObject *
bases_of(const cwj_wrap_frame *frame)
{
    const cwj_result *result = &frame->function->result;
    PyObject *list = PyList_New(0);
    for (int i = 0; i < result->nof && list != NULL; i++) {
        PyObject *given = frame->given[result->of[i]];
        PyObject *base = given == NULL ? NULL : pin(given);
        if (given != NULL && (base == NULL || PyList_Append(list, base) < 0)) {
            Py_CLEAR(list);
        }
        Py_XDECREF(base);
    }
    PyObject *tuple = list == NULL ? NULL : PyList_AsTuple(list);
    Py_XDECREF(list);
    return tuple;
}

/* What an array over an argument's memory keeps alive: that argument, or all of them. */
static PyObject *
base_of(const cwj_wrap_frame *frame)
{
    if (frame->function->result.owner != CWJ_OWNER_ARGUMENT) {
        return Py_NewRef(frame->function->owner); /* memory of the library's */
    }
    PyObject *bases = bases_of(frame);
    for (Py_ssize_t i = 0; bases != NULL && i < PyTuple_GET_SIZE(bases); i++) {
        cwj_instance_mark_seen(PyTuple_GET_ITEM(bases, i));
    }
    if (bases != NULL && PyTuple_GET_SIZE(bases) == 1) {
        Py_SETREF(bases, Py_NewRef(PyTuple_GET_ITEM(bases, 0)));
    }
    return bases;
}

static bool
has_writeable_memory(PyObject *given)
{
    Py_buffer view;
    if (PyArray_Check(given)) {
        return PyArray_ISWRITEABLE((PyArrayObject *)given);
    }
    if (cwj_is_instance(given) || !PyObject_CheckBuffer(given)) {
        return !PyUnicode_Check(given);
    }
    if (PyObject_GetBuffer(given, &view, PyBUF_WRITABLE) < 0) {
        PyErr_Clear();
        return false;
    }
    PyBuffer_Release(&view);
    return true;
}

/* Nothing that is read-only becomes writeable by being returned. */
static bool
is_writeable(const cwj_wrap_frame *frame)
{
    const cwj_result *result = &frame->function->result;
    bool writeable = !result->readonly;
    for (int i = 0; i < result->nof && result->owner == CWJ_OWNER_ARGUMENT; i++) {
        PyObject *given = frame->given[result->of[i]];
        writeable = writeable && (given == NULL || has_writeable_memory(given));
    }
    return writeable;
}

/* ---- arrays -------------------------------------------------------------------------- */

/* An array at data, or a new one without items for NULL. data's ownership is taken. */
static PyObject *
pack_memory(const cwj_wrap_frame *frame, const cwj_type *type, int ndim, const npy_intp *shape,
            const npy_intp *strides, char order, void *data, void (*release)(void *),
            PyObject *base, bool writeable, PyObject *what)
{
    if (data == NULL) {
        for (int d = 0; d < ndim; d++) {
            if (shape[d] == 0) {
                return PyArray_New(&PyArray_Type, ndim, shape, type->typenum, NULL, NULL, 0,
                                   order == 'F', NULL);
            }
        }
        cwj_wrap_refuse(frame, PyExc_RuntimeError, "%U is NULL where an array was promised", what);
        return NULL;
    }
    if (PyArray_OverflowMultiplyList(shape, ndim) < 0) {
        cwj_wrap_refuse(frame, PyExc_ValueError, "%U would have too many items", what);
        if (release != NULL) {
            release(data);
        }
        return NULL;
    }
    return cwj_array_around(type, ndim, shape, strides, order, data, release, base, writeable);
}

/* The strides of the argument that an array of any order points into, or NULL. */
static const npy_intp *
strides_of(const cwj_wrap_frame *frame)
{
    const cwj_result *result = &frame->function->result;
    if (result->order != 'A' || result->owner != CWJ_OWNER_ARGUMENT || result->nof != 1) {
        return NULL;
    }
    PyObject *given = frame->given[result->of[0]];
    if (given == NULL || !PyArray_Check(given)) {
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)given;
    return PyArray_NDIM(array) == result->ndim &&
                   PyArray_ITEMSIZE(array) == (npy_intp)result->type->size
               ? PyArray_STRIDES(array)
               : NULL;
}

static PyObject *
pack_array(cwj_wrap_frame *frame)
{
    const cwj_result *result = &frame->function->result;
    npy_intp shape[NPY_MAXDIMS];
    void *data = frame->slots[0].p;
    PyObject *packed = NULL;
    PyObject *what = PyUnicode_FromString("the result");
    PyObject *base = base_of(frame);
    if (what != NULL && base != NULL &&
        cwj_wrap_shape(frame, result->dims, result->ndim, what, shape) == 0) {
        void (*release)(void *) = result->owner == CWJ_OWNER_CALLEE ? result->free : NULL;
        frame->slots[0].p = NULL; /* taken */
        packed = pack_memory(frame, result->type, result->ndim, shape, strides_of(frame),
                             result->order, data, release, base, is_writeable(frame), what);
    } else if (result->owner == CWJ_OWNER_CALLEE && result->free != NULL && data != NULL) {
        result->free(data);
    }
    Py_XDECREF(what);
    Py_XDECREF(base);
    return packed;
}

static PyObject *
pack_data(cwj_wrap_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    npy_intp shape[NPY_MAXDIMS];
    if (cwj_wrap_shape(frame, parameter->dims, parameter->ndim, parameter->name, shape) < 0) {
        return NULL;
    }
    void *data = frame->targets[k].p;
    frame->targets[k].p = NULL; /* taken */
    return pack_memory(frame, parameter->type, parameter->ndim, shape, NULL, parameter->order, data,
                       parameter->free, frame->function->owner, true, parameter->name);
}

/* ---- texts and instances ----------------------------------------------------------------- */

static PyObject *
pack_string(cwj_wrap_frame *frame)
{
    const cwj_result *result = &frame->function->result;
    char *text = frame->slots[0].p;
    if (text == NULL) {
        return Py_NewRef(Py_None);
    }
    PyObject *object = result->bytes ? PyBytes_FromString(text) : PyUnicode_FromString(text);
    if (result->owner == CWJ_OWNER_CALLEE && result->free != NULL) {
        result->free(text);
    }
    return object;
}

static PyObject *
pack_handle(cwj_wrap_frame *frame)
{
    const cwj_result *result = &frame->function->result;
    if (frame->slots[0].p == NULL) {
        return Py_NewRef(Py_None);
    }
    PyObject *bases = result->owner == CWJ_OWNER_ARGUMENT ? bases_of(frame) : NULL;
    PyObject *instance = NULL;
    if (bases != NULL || !PyErr_Occurred()) {
        instance = cwj_instance_around(result->cls, frame->slots[0].p,
                                       result->owner == CWJ_OWNER_CALLEE, bases);
    }
    Py_XDECREF(bases);
    return instance;
}

/* ---- one result, all results ----------------------------------------------------------------- */

static PyObject *
pack_result(cwj_wrap_frame *frame)
{
    const cwj_wrapped *function = frame->function;
    switch (function->result.role) {
    case CWJ_VALUE:
        return cwj_scalar_object(function->result.type, &frame->slots[0]);
    case CWJ_STRING:
        return pack_string(frame);
    case CWJ_ARRAY:
        return pack_array(frame);
    case CWJ_HANDLE:
        return pack_handle(frame);
    case CWJ_STRUCT: {
        PyObject *made = frame->made[function->nparameters];
        frame->made[function->nparameters] = NULL;
        return made;
    }
    default:
        return NULL;
    }
}

static PyObject *
pack_value(cwj_wrap_frame *frame, int k)
{
    const cwj_type *type = frame->function->parameters[k].type;
    cwj_slot slot;
    if (frame->slots[k + 1].p == NULL) {
        return Py_NewRef(Py_None); /* absent */
    }
    cwj_scalar_load(type, &frame->targets[k], &slot);
    return cwj_scalar_object(type, &slot);
}

/* The new object that an output became, or the one that was given for it. */
static PyObject *
pack_made(cwj_wrap_frame *frame, int k)
{
    PyObject *made = frame->made[k];
    frame->made[k] = NULL;
    return made != NULL ? made : Py_XNewRef(cwj_wrap_given(frame, k));
}

/* *packed stays NULL where parameter k is no result. Returns 0, or -1. */
static int
pack_parameter(cwj_wrap_frame *frame, int k, PyObject **packed)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    bool out = parameter->intent == CWJ_OUT;
    switch (parameter->role) {
    case CWJ_VALUE:
        if (parameter->intent == CWJ_IN) {
            return 0;
        }
        *packed = pack_value(frame, k);
        break;
    case CWJ_ARRAY:
    case CWJ_BUFFER:
        if (!out) {
            return 0;
        }
        *packed = pack_made(frame, k);
        break;
    case CWJ_HANDLE:
        if (!out) {
            return 0;
        }
        *packed = frame->targets[k].p == NULL
                      ? Py_NewRef(Py_None)
                      : cwj_instance_around(parameter->cls, frame->targets[k].p, 1, NULL);
        break;
    case CWJ_DATA:
        *packed = pack_data(frame, k);
        break;
    default:
        return 0;
    }
    return *packed == NULL ? -1 : 0;
}

/* What the callee said of lengths. */
static int
read_lengths(cwj_wrap_frame *frame)
{
    const cwj_wrapped *function = frame->function;
    for (int k = 0; k < function->nparameters; k++) {
        const cwj_parameter *parameter = &function->parameters[k];
        cwj_slot slot;
        if (parameter->role != CWJ_LENGTH || parameter->symbol < 0) {
            continue;
        }
        cwj_scalar_load(parameter->type, &frame->targets[k], &slot);
        if (!cwj_scalar_count(parameter->type, &slot, &frame->symbols[parameter->symbol])) {
            return cwj_wrap_refuse(frame, PyExc_ValueError, "%U is too large for a length",
                                   parameter->name);
        }
    }
    return 0;
}

/* Puts an object where it belongs: alone, or next in the tuple. Steals it. */
static void
add(PyObject **all, Py_ssize_t *position, int nresults, PyObject *object)
{
    if (nresults == 1) {
        *all = object;
    } else {
        PyTuple_SET_ITEM(*all, (*position)++, object);
    }
}

PyObject *
cwj_wrap_pack(cwj_wrap_frame *frame)
{
    const cwj_wrapped *function = frame->function;
    bool returns = function->result.role != CWJ_NONE && function->result.role != CWJ_STATUS;
    PyObject *all = NULL, *first = NULL;
    Py_ssize_t position = 0;
    if (function->nlengths_read > 0 && read_lengths(frame) < 0) {
        goto failed;
    }
    if (returns) { /* first of all: it may be memory that has to be freed */
        first = pack_result(frame);
        if (first == NULL) {
            goto failed;
        }
    }
    if (function->nresults == 0) {
        return Py_NewRef(Py_None);
    }
    if (function->nresults > 1) {
        all = PyTuple_New(function->nresults);
        if (all == NULL) {
            goto failed;
        }
    }
    if (returns && function->result_first) {
        add(&all, &position, function->nresults, first);
        first = NULL;
    }
    for (int k = 0; k < function->nparameters; k++) {
        PyObject *packed = NULL;
        if (pack_parameter(frame, k, &packed) < 0) {
            goto failed;
        }
        if (packed != NULL) {
            add(&all, &position, function->nresults, packed);
        }
    }
    if (first != NULL) {
        add(&all, &position, function->nresults, first);
    }
    return all;
failed:
    Py_XDECREF(first);
    Py_XDECREF(all);
    return NULL;
}
