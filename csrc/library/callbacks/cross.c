/* cross.c: converts a callback's arguments and result. Python sees arguments in C's memory only during the call. */
#include "library/callbacks/callback.h"

#include "base/errors.h"
#include "base/raised.h"
#include "base/tuples.h"
#include "library/objects/foreign_memory.h"
#include "library/objects/instance.h"
#include "library/objects/owners.h"
#include "library/objects/pointer.h"

/* ---- arrays ------------------------------------------------------------------------ */

static int
set_shape(const cwj_callback_kind *kind, const cwj_passed *passed, const npy_int64 *symbols,
          npy_intp *shape)
{
    for (int d = 0; d < passed->ndim; d++) {
        npy_int64 value;
        if (!cwj_dim_evaluate(&passed->dims[d], symbols, &value) || value < 0) {
            return cwj_refuse_by(kind->who, PyExc_ValueError,
                                 "dim %d of %U is negative, or too large a number", d,
                                 passed->name);
        }
        shape[d] = (npy_intp)value;
    }
    return 0;
}

/* Returns a view of *root. NumPy shortens chains of bases, so views of that view have *root as their base: afterwards
 * the reference counts of both show whether Python has kept one. */
static PyObject *
array_in(const cwj_callback_kind *kind, const cwj_passed *passed, const npy_int64 *symbols,
         void *data, PyObject **root)
{
    npy_intp shape[NPY_MAXDIMS];
    PyObject *view = NULL;
    if (set_shape(kind, passed, symbols, shape) == 0) {
        *root = cwj_array_over(passed->descr, passed->ndim, shape, NULL, false, data,
                               !passed->readonly, NULL);
    }
    if (*root != NULL) {
        view = cwj_array_over(passed->descr, passed->ndim, shape, NULL, false, data,
                              !passed->readonly, *root);
    }
    if (view == NULL) {
        Py_CLEAR(*root);
    }
    return view;
}

/* Gives an array that Python has kept its own copy of the memory. */
static int
separate(PyArrayObject *array)
{
    PyObject *copy = PyArray_NewCopy(array, NPY_CORDER);
    if (copy == NULL) {
        return -1;
    }
    PyArrayObject_fields *fields = (PyArrayObject_fields *)array;
    fields->data = PyArray_DATA((PyArrayObject *)copy);
    Py_SETREF(fields->base, copy);
    return 0;
}

static int
refuse_view(const cwj_callback_kind *kind, const cwj_passed *passed)
{
    return cwj_refuse_by(kind->who, PyExc_RuntimeError,
                         "a view of %U was kept, whose memory is C's after the call: keep a copy",
                         passed->name);
}

static int
array_end(const cwj_callback_kind *kind, const cwj_passed *passed, PyObject *array, PyObject *root)
{
    int status = 0;
    bool kept = Py_REFCNT(array) > 1;
    bool looked_at = Py_REFCNT(root) > 2; /* more than ours and the array's */
    if (kept && ((PyArrayObject_fields *)array)->_buffer_info != NULL) {
        looked_at = true; /* a memoryview may keep it: NumPy does not count these */
    }
    if (kept && PyArray_BASE((PyArrayObject *)array) == root) {
        status = separate((PyArrayObject *)array);
    }
    return looked_at && status == 0 ? refuse_view(kind, passed) : status;
}

/* ---- the other arguments ------------------------------------------------------------- */

static PyObject *
number_in(const cwj_library_type *type, const cwj_slot *slot)
{
    switch (type->kind) {
    case 'b':
        return PyBool_FromLong(slot->i != 0);
    case 'i':
        return PyLong_FromLongLong(slot->i);
    case 'u':
        return PyLong_FromUnsignedLongLong(slot->u);
    case 'f':
        return PyFloat_FromDouble(type->size == 4 ? (double)slot->f : slot->d);
    case 'g':
        return cwj_scalar_object(type, slot);
    default:
        return type->size == 8 ? PyComplex_FromDoubles(slot->c.re, slot->c.im)
                               : PyComplex_FromDoubles(slot->z.re, slot->z.im);
    }
}

static PyObject *
instance_in(const cwj_passed *passed, void *pointer)
{
    return cwj_instance_around(passed->layout, pointer, false, NULL,
                               (PyObject *)cwj_owner_at(pointer));
}

/* Makes a list, with None for NULL; if there is no dim, NULL ends it. *items: a tuple of the instances, as Python may
 * remove some from the list. */
static PyObject *
list_in(const cwj_callback_kind *kind, const cwj_passed *passed, const npy_int64 *symbols,
        void *const *pointers, PyObject **items)
{
    npy_intp count[NPY_MAXDIMS] = {0};
    while (passed->ndim == 0 && pointers[count[0]] != NULL) {
        count[0]++;
    }
    PyObject *list = set_shape(kind, passed, symbols, count) < 0 ? NULL : PyList_New(0);
    for (npy_intp i = 0; list != NULL && i < count[0]; i++) {
        PyObject *item = pointers[i] == NULL      ? Py_NewRef(Py_None)
                         : passed->layout != NULL ? instance_in(passed, pointers[i])
                                                  : PyUnicode_FromString(pointers[i]);
        cwj_list_add(&list, item);
    }
    if (list != NULL && passed->layout != NULL && (*items = PyList_AsTuple(list)) == NULL) {
        Py_CLEAR(list);
    }
    return list;
}

PyObject *
cwj_cross_in(const cwj_callback_kind *kind, const cwj_passed *passed, const npy_int64 *symbols,
             cwj_slot *slot, PyObject **root)
{
    PyObject *made;
    void *memory;
    if (passed->crossing == CWJ_CROSS_NUMBER) {
        return number_in(passed->type, slot);
    }
    if (slot->p == NULL) {
        return Py_NewRef(Py_None);
    }
    switch (passed->crossing) {
    case CWJ_CROSS_REFERENCE: {
        cwj_slot number;
        cwj_scalar_load(passed->type, slot->p, &number);
        return number_in(passed->type, &number);
    }
    case CWJ_CROSS_STRING:
        return PyUnicode_FromString(slot->p);
    case CWJ_CROSS_TEXTS:
        return list_in(kind, passed, symbols, slot->p, root);
    case CWJ_CROSS_ARRAY:
        return array_in(kind, passed, symbols, slot->p, root);
    case CWJ_CROSS_INSTANCE:
        return instance_in(passed, slot->p);
    case CWJ_CROSS_STRUCT:
        if ((made = cwj_instance_empty(passed->layout, &memory)) != NULL) {
            memcpy(memory, slot->p, ((cwj_instance *)made)->layout->size);
        }
        return made;
    default:
        return passed->converter != NULL ? cwj_function_at(passed->converter, slot->p, NULL)
                                         : cwj_pointer_around(kind->pointer_type, slot->p,
                                                              passed->item, passed->readonly, NULL);
    }
}

/* made: an instance, or None. */
static int
instance_end(const cwj_callback_kind *kind, const cwj_passed *passed, PyObject *made)
{
    bool is_borrowed = cwj_is_instance(made) && ((cwj_instance *)made)->base == NULL;
    return is_borrowed && cwj_instance_forget((cwj_instance *)made) < 0 ? refuse_view(kind, passed)
                                                                        : 0;
}

int
cwj_cross_end(const cwj_callback_kind *kind, const cwj_passed *passed, PyObject *made,
              PyObject *root)
{
    int status = 0;
    PyObject *raised = cwj_raised_take();
    if (root != NULL && PyTuple_CheckExact(root)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(root); i++) {
            status |= instance_end(kind, passed, PyTuple_GET_ITEM(root, i));
        }
    } else if (root != NULL && made != NULL) {
        status = array_end(kind, passed, made, root);
    } else if (passed->crossing == CWJ_CROSS_INSTANCE && made != NULL && Py_REFCNT(made) > 1) {
        status = instance_end(kind, passed, made);
    }
    CWJ_RELEASE(made, root);
    if (raised != NULL) { /* the first exception counts */
        cwj_raised_set(raised);
    }
    return status;
}

/* ---- the result ------------------------------------------------------------------------ */

static int
refuse_result(const cwj_callback_kind *kind, PyObject *type, PyObject *text)
{
    if (text != NULL) {
        PyErr_Format(type, "%U: it returned %U", kind->who, text);
        Py_DECREF(text);
    }
    return -1;
}

static int
refuse_kind(const cwj_callback_kind *kind, const char *wanted, PyObject *given)
{
    return refuse_result(
        kind, PyExc_TypeError,
        PyUnicode_FromFormat("%s, where C wants %s", Py_TYPE(given)->tp_name, wanted));
}

static int
number_out(const cwj_callback_kind *kind, PyObject *given, cwj_slot *slot)
{
    const cwj_library_type *type = kind->result.type;
    if (type->typenum == NPY_FLOAT64 && PyFloat_CheckExact(given)) {
        slot->d = PyFloat_AS_DOUBLE(given);
        return 0;
    }
    cwj_fit fit = cwj_scalar_take(type, false, given, slot);
    if (fit == CWJ_FITS) {
        return 0;
    }
    PyObject *fault = cwj_scalar_fault(fit, type, given);
    if (fault != NULL && fit == CWJ_NO_SUCH_KIND) {
        Py_SETREF(fault, PyUnicode_FromFormat("%U, where C wants %s", fault, type->name));
    }
    return refuse_result(kind, fit == CWJ_NO_SUCH_KIND ? PyExc_TypeError : cwj_scalar_error(type),
                         fault);
}

static int
string_out(const cwj_callback_kind *kind, PyObject *given, cwj_slot *slot)
{
    if (PyBytes_Check(given)) {
        slot->p = PyBytes_AS_STRING(given);
    } else if (PyUnicode_Check(given)) {
        slot->p = (void *)PyUnicode_AsUTF8(given);
    } else {
        return refuse_kind(kind, "str, bytes or None", given);
    }
    return slot->p == NULL ? -1 : 0;
}

static int
instance_out(const cwj_callback_kind *kind, PyObject *given, cwj_slot *slot)
{
    void *pointer = NULL;
    int fits = cwj_instance_pointer(kind->result.layout, given, &pointer);
    if (fits == 0) {
        PyObject *name = PyObject_GetAttrString(kind->result.layout->cls, "__name__");
        const char *word = name == NULL ? NULL : PyUnicode_AsUTF8(name);
        if (word != NULL) {
            refuse_kind(kind, word, given);
        }
        Py_XDECREF(name);
        return -1;
    }
    if (fits > 0 && kind->result.crossing == CWJ_CROSS_STRUCT) {
        memcpy(slot->p, pointer, ((cwj_instance *)given)->layout->size);
    } else if (fits > 0) {
        slot->p = pointer;
    }
    return fits < 0 ? -1 : 0;
}

int
cwj_cross_out(const cwj_callback_kind *kind, PyObject *given, cwj_slot *slot, PyObject **keeper)
{
    const cwj_passed *result = &kind->result;
    if (result->crossing == CWJ_CROSS_NOTHING) {
        return 0;
    }
    if (result->crossing == CWJ_CROSS_NUMBER) {
        return number_out(kind, given, slot);
    }
    int status = 0;
    if (result->crossing == CWJ_CROSS_ADDRESS && result->converter != NULL) {
        *keeper = PyObject_CallOneArg(result->converter, given); /* (address, what keeps it ...) */
        slot->p = *keeper == NULL ? NULL : PyLong_AsVoidPtr(PyTuple_GET_ITEM(*keeper, 0));
        return *keeper == NULL ? -1 : 0;
    }
    if (given == Py_None && result->crossing != CWJ_CROSS_STRUCT) {
        return 0; /* the slot is NULL */
    }
    if (result->crossing == CWJ_CROSS_STRING) {
        status = string_out(kind, given, slot);
    } else if (result->crossing == CWJ_CROSS_INSTANCE || result->crossing == CWJ_CROSS_STRUCT) {
        status = PyCapsule_CheckExact(given) ? refuse_kind(kind, "an instance", given)
                                             : instance_out(kind, given, slot);
    } else if (!cwj_is_pointer(given) ||
               !cwj_items_agree(((cwj_pointer *)given)->item, result->item)) {
        status = refuse_kind(kind, "a cwrapjit.Pointer or None", given);
    } else {
        slot->p = ((cwj_pointer *)given)->address;
    }
    *keeper = status == 0 ? Py_NewRef(given) : NULL;
    return status;
}
