/* construct.c: initialisers: how instances that Python code asks for begin.
 */
#include "instance.h"
#include "parts.h"

#include <stdint.h>
#include <stdlib.h>

/* Takes over what a function of C made: `made` is empty afterwards. */
static int
adopt(cwj_instance *self, PyObject *made)
{
    if (!cwj_is_instance(made) ||
        !cwj_layouts_agree(self->layout, ((cwj_instance *)made)->layout)) {
        PyErr_Format(PyExc_RuntimeError, "no %U was made: the initialiser returned %R",
                     self->layout->name, made);
        return -1;
    }
    cwj_instance *other = (cwj_instance *)made;
    if (other->uses > 0 || other->seen || other->pointer == NULL) {
        PyErr_Format(PyExc_RuntimeError, "the %U that the initialiser returned is in use",
                     self->layout->name);
        return -1;
    }
    free(self->memory);
    self->memory = other->memory;
    self->pointer = other->pointer;
    self->owned = other->owned || other->memory != NULL;
    other->pointer = other->memory = NULL;
    other->owned = false;
    other->stage = CWJ_INSTANCE_CLOSED;
    return 0;
}

/* Runs an initialiser that fills our memory: f(self, ...). */
static int
fill(cwj_instance *self, PyObject *function, PyObject *args, PyObject *kwargs)
{
    PyObject *all = PyTuple_New(PyTuple_GET_SIZE(args) + 1);
    if (all == NULL) {
        return -1;
    }
    PyTuple_SET_ITEM(all, 0, Py_NewRef(self));
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args); k++) {
        PyTuple_SET_ITEM(all, k + 1, Py_NewRef(PyTuple_GET_ITEM(args, k)));
    }
    self->stage = CWJ_INSTANCE_BEGUN;
    PyObject *result = PyObject_Call(function, all, kwargs);
    Py_DECREF(all);
    if (result == NULL) {
        self->stage = CWJ_INSTANCE_NEW;
        memset(self->memory, 0, self->layout->size);
        return -1;
    }
    Py_DECREF(result);
    self->owned = true;
    return 0;
}

const char cwj_construct_doc[] =
    "construct(instance, function, args, kwargs, adopt, /)\n--\n\n"
    "Initialise an instance, once: function(instance, *args, **kwargs), or, with adopt, by\n"
    "taking over what function(*args, **kwargs) returns.";

PyObject *
cwj_construct(PyObject *Py_UNUSED(extension), PyObject *args)
{
    PyObject *instance, *function, *given, *kwargs;
    int adopts, status;
    if (!PyArg_ParseTuple(args, "OOO!O!p:construct", &instance, &function, &PyTuple_Type, &given,
                          &PyDict_Type, &kwargs, &adopts)) {
        return NULL;
    }
    if (!cwj_is_instance(instance)) {
        return PyErr_Format(PyExc_TypeError, "construct(): %R is no instance", instance);
    }
    cwj_instance *self = (cwj_instance *)instance;
    if (self->stage != CWJ_INSTANCE_NEW || (!adopts && self->memory == NULL)) {
        return PyErr_Format(PyExc_TypeError, "this %U is initialised already", self->layout->name);
    }
    if (adopts) {
        PyObject *made = PyObject_Call(function, given, kwargs);
        status = made == NULL ? -1 : adopt(self, made);
        Py_XDECREF(made);
    } else {
        status = fill(self, function, given, kwargs);
    }
    if (status < 0) {
        return NULL;
    }
    self->stage = CWJ_INSTANCE_READY;
    Py_RETURN_NONE;
}

/* ---- instances at an address -------------------------------------------------------- */

const char cwj_instance_at_doc[] =
    "instance_at(cls, address, base=None, /)\n--\n\n"
    "An instance of cls around the C object at address, which base keeps alive.";

PyObject *
cwj_instance_at(PyObject *Py_UNUSED(extension), PyObject *args)
{
    PyObject *cls, *base = Py_None;
    unsigned long long address;
    if (!PyArg_ParseTuple(args, "OK|O:instance_at", &cls, &address, &base)) {
        return NULL;
    }
    if (address == 0) {
        return PyErr_Format(PyExc_ValueError, "instance_at(): the address is NULL");
    }
    return cwj_instance_inside(cls, (void *)(uintptr_t)address, base == Py_None ? NULL : base);
}

const char cwj_keep_doc[] = "keep(instance, object, /)\n--\n\n"
                            "C may point to object from now on: it lives as long as the instance.";

PyObject *
cwj_keep(PyObject *Py_UNUSED(extension), PyObject *args)
{
    PyObject *instance, *object;
    if (!PyArg_ParseTuple(args, "OO:keep", &instance, &object) ||
        cwj_instance_keep(instance, object) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}
