/* construct.c: initialises the instances that Python code creates. */
#include "library/objects/instance.h"
#include "library/objects/looks.h"
#include "library/objects/owners.h"

#include <stdint.h>

static bool
is_in_use(cwj_instance *self)
{
    return self->uses > 0 || self->holders > 0 || self->binders > 0 || cwj_looks_into(self);
}

/* Takes over the C object of `made`, which is empty afterwards. */
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
    if (is_in_use(self) || is_in_use(other) || other->pointer == NULL) {
        PyErr_Format(PyExc_RuntimeError, "the %U that the initialiser returned is in use",
                     self->layout->name);
        return -1;
    }
    cwj_owners_remove(self);
    cwj_instance_free_memory(self);
    self->memory = other->memory;
    self->pointer = self->address = other->pointer;
    self->owned = other->owned || other->memory != NULL;
    self->bound = other->bound; /* it has none yet, as it was not initialised */
    other->bound = NULL;
    other->pointer = other->memory = NULL;
    if (other->owned) { /* the destructor of its own layout ends it */
        Py_SETREF(self->layout, (cwj_struct_layout *)Py_NewRef(other->layout));
    }
    Py_XSETREF(self->base, Py_XNewRef(other->base)); /* NULL: the memory is C's */
    self->lies = other->lies;
    self->root = other->root == other ? self : other->root;
    PyObject *references = self->references; /* entries of the empty memory, made by Python code */
    self->references = other->references;
    other->references = references;
    other->owned = false;
    other->stage = CWJ_INSTANCE_CLOSED;
    if (other->listed && other->layout->size == self->layout->size) {
        cwj_owners_move(other, self);
        return 0;
    }
    cwj_owners_remove(other);
    if (self->memory != NULL || self->owned) {
        cwj_owners_add(self);
    }
    return 0;
}

/* Returns 1 with TypeError set if the instance cannot be initialised now, else 0. */
static int
refuse_to_begin(cwj_instance *self, bool adopts)
{
    if (self->stage == CWJ_INSTANCE_NEW && (adopts || self->memory != NULL)) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "this %U %s", self->layout->name,
                 self->stage == CWJ_INSTANCE_BEGUN    ? "is being initialised already"
                 : self->stage == CWJ_INSTANCE_CLOSED ? "was freed: make a new one"
                 : self->stage == CWJ_INSTANCE_NEW
                     ? "has no memory, because it was made before its members were known: make a "
                       "new one"
                     : "is initialised already");
    return 1;
}

PyObject *
cwj_construct(PyObject *function, bool adopts, PyObject *const *args, size_t nargs,
              PyObject *kwnames)
{
    cwj_instance *self = (cwj_instance *)args[0];
    int status = -1;
    if (refuse_to_begin(self, adopts)) {
        return NULL;
    }
    self->stage = CWJ_INSTANCE_BEGUN;
    self->thread = PyThread_get_thread_ident();
    PyObject *made = adopts ? PyObject_Vectorcall(function, args + 1, nargs - 1, kwnames)
                            : PyObject_Vectorcall(function, args, nargs, kwnames);
    if (made != NULL && adopts) {
        status = adopt(self, made);
    } else if (made != NULL) {
        self->owned = true;
        status = 0;
    } else if (!adopts) {
        memset(self->memory, 0, self->layout->size);
    }
    Py_XDECREF(made);
    self->stage = status < 0 ? CWJ_INSTANCE_NEW : CWJ_INSTANCE_READY;
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

PyObject *
cwj_instance_bind(PyObject *op, PyObject *instance, PyObject *Py_UNUSED(type))
{
    return instance == NULL || instance == Py_None ? Py_NewRef(op) : PyMethod_New(op, instance);
}

static PyObject *
instance_at(PyObject *Py_UNUSED(extension), PyObject *args)
{
    PyObject *cls, *base = Py_None;
    unsigned long long address;
    if (!PyArg_ParseTuple(args, "OK|O:instance_at", &cls, &address, &base)) {
        return NULL;
    }
    if (address == 0) {
        return PyErr_Format(PyExc_ValueError, "instance_at(): the address is NULL");
    }
    cwj_struct_layout *layout = cwj_layout_of(cls);
    if (layout == NULL) {
        return NULL;
    }
    PyObject *owner = (PyObject *)cwj_owner_at((void *)(uintptr_t)address);
    base = owner != NULL ? owner : base == Py_None ? NULL : base;
    PyObject *made = cwj_instance_around(layout, (void *)(uintptr_t)address, false, NULL, base);
    Py_DECREF(layout);
    return made;
}

PyMethodDef cwj_instance_functions[] = {
    {"instance_at", instance_at, METH_VARARGS,
     "instance_at(cls, address, base=None, /)\n--\n\n"
     "An instance of cls around the C object at address, which base keeps alive, or the instance\n"
     "that owns it, where there is one."},
    {NULL, NULL, 0, NULL},
};
