/* pack.c: from slots to what the call returns: None, one object, or a tuple. */
#include "library/objects/foreign_memory.h"
#include "library/objects/instance.h"
#include "library/objects/looks.h"
#include "library/call/steps.h"

/* ---- arrays -------------------------------------------------------------------------- */

/* An array at data, or a new one without items for NULL. data's ownership is taken. */
static PyObject *
pack_memory(const cwj_library_frame *frame, const cwj_library_type *type, int ndim,
            const npy_intp *shape, cwj_order order, void *data, void (*release)(void *),
            PyObject *base, bool writeable, PyObject *what)
{
    if (data == NULL) {
        for (int d = 0; d < ndim; d++) {
            if (shape[d] == 0) {
                return PyArray_New(&PyArray_Type, ndim, shape, type->typenum, NULL, NULL, 0,
                                   order == CWJ_ORDER_F, NULL);
            }
        }
        cwj_library_refuse(frame, PyExc_RuntimeError, "%U is NULL where an array was promised",
                           what);
        return NULL;
    }
    if (PyArray_OverflowMultiplyList(shape, ndim) < 0) {
        cwj_library_refuse(frame, PyExc_ValueError, "%U would have too many items", what);
        if (release != NULL) {
            release(data);
        }
        return NULL;
    }
    return cwj_array_around(type, ndim, shape, order == CWJ_ORDER_F, data, release, base,
                            writeable);
}

static PyObject *
pack_array(cwj_library_frame *frame)
{
    const cwj_result *result = &frame->function->result;
    npy_intp shape[NPY_MAXDIMS];
    void *data = frame->slots[0].p;
    PyObject *packed = NULL;
    PyObject *what = PyUnicode_FromString("the result");
    PyObject *base = cwj_library_base(frame);
    int writeable = what != NULL && base != NULL ? cwj_library_may_write(frame) : -1;
    if (writeable >= 0 && cwj_library_shape(frame, result->dims, result->ndim, what, shape) == 0) {
        void (*release)(void *) = result->owner == CWJ_OWNER_CALLEE ? result->free : NULL;
        frame->slots[0].p = NULL; /* taken */
        packed = pack_memory(frame, result->type, result->ndim, shape, result->order, data, release,
                             base, writeable > 0, what);
        if (packed != NULL && cwj_looks_add(packed, base, base, data) < 0) {
            Py_CLEAR(packed);
        }
    } else if (result->owner == CWJ_OWNER_CALLEE && result->free != NULL && data != NULL) {
        result->free(data);
    }
    Py_XDECREF(what);
    Py_XDECREF(base);
    return packed;
}

static PyObject *
pack_data(cwj_library_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    npy_intp shape[NPY_MAXDIMS];
    if (cwj_library_shape(frame, parameter->dims, parameter->ndim, parameter->name, shape) < 0) {
        return NULL;
    }
    void *data = frame->targets[k].p;
    frame->targets[k].p = NULL; /* taken */
    return pack_memory(frame, parameter->type, parameter->ndim, shape, parameter->order, data,
                       parameter->free, frame->function->owner, true, parameter->name);
}

/* ---- texts and instances ----------------------------------------------------------------- */

static PyObject *
pack_string(cwj_library_frame *frame)
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
pack_handle(cwj_library_frame *frame)
{
    const cwj_result *result = &frame->function->result;
    if (frame->slots[0].p == NULL) {
        return Py_NewRef(Py_None);
    }
    PyObject *keeper = cwj_library_keeper(frame), *instance = NULL;
    if (keeper != NULL || !PyErr_Occurred()) {
        instance = cwj_instance_around(result->cls, frame->slots[0].p,
                                       result->owner == CWJ_OWNER_CALLEE, keeper);
    }
    Py_XDECREF(keeper);
    return instance;
}

/* ---- one result, all results ----------------------------------------------------------------- */

static PyObject *
pack_result(cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
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
        if (cwj_library_keep_arguments(frame, made) < 0) {
            Py_CLEAR(made);
        }
        return made;
    }
    default:
        return NULL;
    }
}

/* Frees what the callee gave away, while an exception is on its way. */
static void
drop_result(cwj_library_frame *frame)
{
    const cwj_result *result = &frame->function->result;
    PyObject *type, *value, *traceback;
    if (result->role == CWJ_ARRAY && result->owner == CWJ_OWNER_CALLEE && result->free != NULL &&
        frame->slots[0].p != NULL) {
        result->free(frame->slots[0].p);
    } else if (result->role == CWJ_STRING || result->role == CWJ_HANDLE) {
        PyErr_Fetch(&type, &value, &traceback);
        Py_XDECREF(pack_result(frame));
        PyErr_Restore(type, value, traceback); /* over an error of its own: this one is first */
    }
}

static PyObject *
pack_value(cwj_library_frame *frame, int k)
{
    const cwj_library_type *type = frame->function->parameters[k].type;
    cwj_slot slot;
    if (frame->slots[k + 1].p == NULL) {
        return Py_NewRef(Py_None); /* absent */
    }
    cwj_scalar_load(type, &frame->targets[k], &slot);
    return cwj_scalar_object(type, &slot);
}

/* What a result that came through parameter k is; new reference. */
static PyObject *
pack_parameter(cwj_library_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    PyObject *made = frame->made[k];
    switch (parameter->role) {
    case CWJ_VALUE:
    case CWJ_STATUS:
        return pack_value(frame, k);
    case CWJ_STRUCT:
        if (cwj_library_keep_arguments(frame, made) < 0) {
            return NULL;
        }
        /* fall through */
    case CWJ_ARRAY:
        frame->made[k] = NULL;
        return made;
    case CWJ_HANDLE:
        return frame->targets[k].p == NULL
                   ? Py_NewRef(Py_None)
                   : cwj_instance_around(parameter->cls, frame->targets[k].p, 1, NULL);
    default:
        return pack_data(frame, k);
    }
}

/* ---- the whole -------------------------------------------------------------------------------- */

/* Puts an object where it belongs: alone, or next in the tuple. Steals it; NULL: returns -1. */
static int
add(PyObject **all, Py_ssize_t *position, int nresults, PyObject *object)
{
    if (object == NULL) {
        return -1;
    }
    if (nresults == 1) {
        *all = object;
    } else {
        PyTuple_SET_ITEM(*all, (*position)++, object);
    }
    return 0;
}

PyObject *
cwj_library_pack(cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
    PyObject *all = NULL;
    Py_ssize_t position = 0;
    if (function->nlengths_read > 0 && cwj_library_read_lengths(frame) < 0) {
        drop_result(frame);
        return NULL;
    }
    if (function->nresults == 0) {
        return Py_NewRef(Py_None);
    }
    if (function->nresults > 1 && (all = PyTuple_New(function->nresults)) == NULL) {
        drop_result(frame);
        return NULL;
    }
    /* First of all: it may be memory that has to be freed. */
    if (function->result.role != CWJ_NONE && function->result.role != CWJ_STATUS &&
        add(&all, &position, function->nresults, pack_result(frame)) < 0) {
        goto failed;
    }
    for (int k = 0; k < function->nparameters; k++) {
        if (cwj_is_result(&function->parameters[k]) &&
            add(&all, &position, function->nresults, pack_parameter(frame, k)) < 0) {
            goto failed;
        }
    }
    return all;
failed:
    Py_XDECREF(all);
    return NULL;
}
