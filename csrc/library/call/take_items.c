/* take_items.c: copies tuples, lists and sets of numbers to temporary arrays.
 *
 * Every item is checked like a single number, except that a bool is no int here. Nested containers must be regular: a
 * shape of (2, 3) gives six numbers in a row. */
#include "library/call/steps.h"

typedef struct {
    cwj_library_frame *frame;
    int k;
    const cwj_parameter *parameter;
    npy_intp *shape;
    char *next; /* where the next item goes */
} filling;

/* The items as a tuple, which Python code cannot change; NULL with an exception set. */
static PyObject *
items_of(filling *this, PyObject *object, PyObject *whole)
{
    PyTypeObject *wanted = this->parameter->container;
    if (wanted == &PySet_Type ? !PyAnySet_Check(object) : !PyObject_TypeCheck(object, wanted)) {
        cwj_library_refuse_type(this->frame, this->k, "%s", Py_TYPE(whole)->tp_name);
        return NULL;
    }
    return PySequence_Tuple(object);
}

/* Finds the shape from the first item of each level; lengths below an empty level are 0. */
static int
measure(filling *this, PyObject *object, int level, PyObject *whole)
{
    PyObject *items = items_of(this, object, whole);
    if (items == NULL) {
        return -1;
    }
    int status = 0;
    this->shape[level] = PyTuple_GET_SIZE(items);
    if (level + 1 < this->parameter->ndim && this->shape[level] > 0) {
        status = measure(this, PyTuple_GET_ITEM(items, 0), level + 1, whole);
    }
    Py_DECREF(items);
    return status;
}

static int
fill_item(filling *this, PyObject *item)
{
    const cwj_library_type *type = this->parameter->type;
    cwj_slot slot;
    bool mistaken = PyBool_Check(item) && type->kind != 'b';
    cwj_fit fit =
        mistaken ? CWJ_NO_SUCH_KIND : cwj_scalar_take(type, this->frame->strict, item, &slot);
    if (fit != CWJ_FITS) {
        return cwj_library_refuse_number(this->frame, this->k, fit, item);
    }
    cwj_scalar_store(type, &slot, this->next);
    this->next += type->size;
    return 0;
}

static int
fill(filling *this, PyObject *object, int level, PyObject *whole)
{
    PyObject *items = items_of(this, object, whole);
    int status = items == NULL ? -1 : 0;
    if (status == 0 && PyTuple_GET_SIZE(items) != this->shape[level]) {
        status = cwj_library_refuse(this->frame, PyExc_ValueError,
                                    "argument %U: nested containers must have one length",
                                    cwj_library_name(this->frame, this->k));
    }
    for (Py_ssize_t i = 0; status == 0 && i < this->shape[level]; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        status = level + 1 < this->parameter->ndim ? fill(this, item, level + 1, whole)
                                                   : fill_item(this, item);
    }
    Py_XDECREF(items);
    return status;
}

int
cwj_library_take_items(cwj_library_frame *frame, int k, PyObject *object)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    filling this = {frame, k, parameter, frame->lengths + parameter->lengths_at, NULL};
    Py_ssize_t size = (Py_ssize_t)parameter->type->size;
    if (measure(&this, object, 0, object) < 0) {
        return -1;
    }
    for (int d = 0; d < parameter->ndim; d++) {
        if (__builtin_mul_overflow(size, this.shape[d], &size)) {
            PyErr_NoMemory();
            return -1;
        }
    }
    frame->made[k] = PyBytes_FromStringAndSize(NULL, size);
    if (frame->made[k] == NULL) {
        return -1;
    }
    this.next = PyBytes_AS_STRING(frame->made[k]);
    frame->slots[k + 1].p = this.next;
    return fill(&this, object, 0, object);
}
