/* instance.c: type cwrapjit.Instance, the base of the classes that struct() and handle() make.
 *
 * An instance has a C pointer: into memory of its own, to what C allocated and gave away
 * (owned: freed once), or to what lies somewhere else (borrowed; base and references keep
 * that alive). While calls use the pointer, and while arrays look into it, nothing ends it.
 */
#include "instance.h"

#include "../errors.h"
#include "parts.h"

#include <stdlib.h>
#include <structmember.h>

static int instance_traverse(PyObject *op, visitproc visit, void *arg);

/* ---- memory ------------------------------------------------------------------------ */

static void *
make_memory(const cwj_layout *layout)
{
    size_t alignment = layout->alignment < 16 ? 16 : layout->alignment;
    size_t size = (layout->size + alignment - 1) / alignment * alignment;
    void *memory = aligned_alloc(alignment, size);
    if (memory == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    return memset(memory, 0, size);
}

/* Ends the object, once. What it refers to is still there. */
static void
end_object(cwj_instance *self)
{
    void *pointer = self->pointer;
    bool owned = self->owned && pointer != NULL;
    self->pointer = NULL;
    self->owned = false;
    self->stage = CWJ_INSTANCE_CLOSED;
    if (owned && self->layout->free != NULL) {
        self->layout->free(pointer);
    }
    free(self->memory);
    self->memory = NULL;
}

/* A type that Python code made has a tp_traverse of Python's own, its bases do not. */
int
cwj_is_instance_type(PyTypeObject *type)
{
    while (type != NULL && type->tp_traverse != instance_traverse) {
        type = type->tp_base;
    }
    return type != NULL;
}

static cwj_instance *
allocate(PyTypeObject *type, cwj_layout *layout)
{
    cwj_instance *self = (cwj_instance *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->layout = (cwj_layout *)Py_NewRef(layout);
        self->stage = CWJ_INSTANCE_READY;
    }
    return self;
}

/* ---- for the call path ------------------------------------------------------------- */

int
cwj_is_instance(PyObject *object)
{
    return cwj_is_instance_type(Py_TYPE(object));
}

/* A capsule of other code, named after the C type. */
static int
capsule_pointer(PyObject *capsule, const cwj_layout *wanted, void **pointer)
{
    const char *name = PyUnicode_AsUTF8(wanted->name);
    if (name == NULL) {
        return -1;
    }
    if (!PyCapsule_IsValid(capsule, name)) {
        return 0;
    }
    *pointer = PyCapsule_GetPointer(capsule, name);
    return 1;
}

static int
instance_pointer(PyObject *object, const cwj_layout *wanted, void **pointer)
{
    if (!cwj_is_instance(object)) {
        return PyCapsule_CheckExact(object) ? capsule_pointer(object, wanted, pointer) : 0;
    }
    const cwj_instance *self = (cwj_instance *)object;
    if (!cwj_layouts_agree(self->layout, wanted)) {
        return 0;
    }
    if (self->pointer == NULL || self->stage == CWJ_INSTANCE_NEW) {
        PyErr_Format(PyExc_ValueError, "this %U %s", wanted->name,
                     self->stage == CWJ_INSTANCE_CLOSED ? "was freed" : "was never initialised");
        return -1;
    }
    *pointer = self->pointer;
    return 1;
}

int
cwj_instance_pointer(PyObject *cls, PyObject *object, void **pointer)
{
    cwj_layout *wanted = cwj_layout_of(cls);
    int answer = wanted == NULL ? -1 : instance_pointer(object, wanted, pointer);
    Py_XDECREF(wanted);
    return answer;
}

void
cwj_instance_hold(PyObject *object)
{
    if (cwj_is_instance(object)) {
        ((cwj_instance *)object)->uses++;
    }
}

void
cwj_instance_release(PyObject *object)
{
    if (cwj_is_instance(object)) {
        ((cwj_instance *)object)->uses--;
    }
}

/* ---- new instances ----------------------------------------------------------------- */

PyObject *
cwj_instance_around(PyObject *cls, void *pointer, int owned, PyObject *bases)
{
    cwj_layout *layout = cwj_layout_of(cls);
    cwj_instance *self = layout == NULL ? NULL : allocate((PyTypeObject *)cls, layout);
    if (self == NULL && layout != NULL && owned && layout->free != NULL) {
        layout->free(pointer);
    }
    Py_XDECREF(layout);
    if (self == NULL) {
        return NULL;
    }
    self->pointer = pointer;
    self->owned = owned;
    for (Py_ssize_t k = 0; bases != NULL && k < PyTuple_GET_SIZE(bases); k++) {
        if (cwj_instance_keep((PyObject *)self, PyTuple_GET_ITEM(bases, k)) < 0) {
            Py_DECREF(self);
            return NULL;
        }
    }
    return (PyObject *)self;
}

PyObject *
cwj_instance_inside(PyObject *cls, void *pointer, PyObject *base)
{
    cwj_instance *self = (cwj_instance *)cwj_instance_around(cls, pointer, 0, NULL);
    if (self != NULL) {
        self->base = Py_XNewRef(base);
        if (base != NULL) {
            cwj_instance_mark_seen(base);
        }
    }
    return (PyObject *)self;
}

PyObject *
cwj_instance_empty(PyObject *cls, void **memory)
{
    cwj_layout *layout = cwj_layout_of(cls);
    cwj_instance *self = NULL;
    if (layout != NULL && layout->size == 0) {
        PyErr_Format(PyExc_TypeError, "%U is opaque: only C makes objects of it", layout->name);
    } else if (layout != NULL) {
        self = allocate((PyTypeObject *)cls, layout);
    }
    Py_XDECREF(layout);
    if (self == NULL) {
        return NULL;
    }
    self->pointer = self->memory = make_memory(self->layout);
    if (self->memory == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    *memory = self->memory;
    return (PyObject *)self;
}

int
cwj_instance_keep(PyObject *instance, PyObject *object)
{
    if (!cwj_is_instance(instance)) {
        return 0;
    }
    cwj_instance *self = (cwj_instance *)instance;
    if (self->references == NULL && (self->references = PyList_New(0)) == NULL) {
        return -1;
    }
    cwj_instance_mark_seen(object);
    return PyList_Append(self->references, object);
}

void
cwj_instance_mark_seen(PyObject *object)
{
    if (cwj_is_instance(object)) {
        ((cwj_instance *)object)->seen = true;
    } else if (PyTuple_CheckExact(object)) {
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(object); k++) {
            cwj_instance_mark_seen(PyTuple_GET_ITEM(object, k));
        }
    }
}

/* ---- a life of its own ------------------------------------------------------------- */

static PyObject *
instance_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    cwj_layout *layout = cwj_layout_of((PyObject *)type);
    cwj_instance *self = layout == NULL ? NULL : allocate(type, layout);
    Py_XDECREF(layout);
    if (self == NULL) {
        return NULL;
    }
    if (layout->size > 0) {
        self->pointer = self->memory = make_memory(layout);
        if (self->memory == NULL) {
            Py_DECREF(self);
            return NULL;
        }
    }
    /* Whether there is anything to be freed, only an initialiser can say. */
    self->stage = layout->needs_init || layout->size == 0 ? CWJ_INSTANCE_NEW : CWJ_INSTANCE_READY;
    return (PyObject *)self;
}

static int
instance_traverse(PyObject *op, visitproc visit, void *arg)
{
    cwj_instance *self = (cwj_instance *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->layout);
    Py_VISIT(self->base);
    Py_VISIT(self->references);
    return 0;
}

static int
instance_clear(PyObject *op)
{
    cwj_instance *self = (cwj_instance *)op;
    end_object(self); /* first: C may look at what it points to */
    Py_CLEAR(self->base);
    Py_CLEAR(self->references);
    return 0;
}

static void
instance_dealloc(PyObject *op)
{
    cwj_instance *self = (cwj_instance *)op;
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs(op);
    }
    if (self->layout != NULL) {
        instance_clear(op);
        Py_CLEAR(self->layout);
    }
    type->tp_free(op);
    Py_DECREF(type);
}

static PyObject *
instance_repr(PyObject *op)
{
    const cwj_instance *self = (cwj_instance *)op;
    const char *state = self->stage == CWJ_INSTANCE_CLOSED ? "freed"
                        : self->pointer == NULL || self->stage == CWJ_INSTANCE_NEW
                            ? "not initialised"
                        : self->owned || self->memory != NULL ? "owned"
                                                              : "borrowed";
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(op), "__name__");
    PyObject *text = NULL;
    if (name != NULL) {
        text = self->pointer == NULL
                   ? PyUnicode_FromFormat("<%U: %U, %s>", name, self->layout->name, state)
                   : PyUnicode_FromFormat("<%U: %U at %p, %s>", name, self->layout->name,
                                          self->pointer, state);
        Py_DECREF(name);
    }
    return text;
}

/* Two instances are the same when they are the same object of C. */
static PyObject *
instance_compare(PyObject *op, PyObject *other, int operation)
{
    cwj_instance *self = (cwj_instance *)op;
    const cwj_instance *that = cwj_is_instance(other) ? (cwj_instance *)other : NULL;
    if ((operation != Py_EQ && operation != Py_NE) || that == NULL) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    bool same = op == other || (self->pointer != NULL && self->pointer == that->pointer &&
                                cwj_layouts_agree(self->layout, that->layout));
    return PyBool_FromLong(same == (operation == Py_EQ));
}

static Py_hash_t
instance_hash(PyObject *op)
{
    /* A pointer may end while the object is in a dict: the hash must not change then, so
     * nothing better than the type is left. */
    return PyObject_Hash(((cwj_instance *)op)->layout->name);
}

static PyObject *
get_references(PyObject *op, void *Py_UNUSED(closure))
{
    const cwj_instance *self = (cwj_instance *)op;
    return self->references == NULL ? PyList_New(0)
                                    : PyList_GetSlice(self->references, 0, PY_SSIZE_T_MAX);
}

static PyObject *
get_base(PyObject *op, void *Py_UNUSED(closure))
{
    const cwj_instance *self = (cwj_instance *)op;
    return Py_NewRef(self->base == NULL ? Py_None : self->base);
}

static PyGetSetDef instance_getset[] = {
    {"referenced_objects", get_references, NULL,
     "A list of all that C may point to from here, kept alive as long.", NULL},
    {"__cwrapjit_base__", get_base, NULL, "The object that this one lies in, or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef instance_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(cwj_instance, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* ---- an early end ------------------------------------------------------------------ */

PyDoc_STRVAR(close_doc, "_cwrapjit_close($self, /)\n--\n\n"
                        "Free the C object now; later calls with it raise. Twice does nothing.");

static PyObject *
instance_close(PyObject *op, PyObject *Py_UNUSED(unused))
{
    cwj_instance *self = (cwj_instance *)op;
    PyObject *name = self->layout->name;
    if (self->stage == CWJ_INSTANCE_CLOSED) {
        Py_RETURN_NONE;
    }
    if (self->uses > 0 || self->stage == CWJ_INSTANCE_BEGUN) {
        return PyErr_Format(PyExc_RuntimeError, "a call is using this %U: it cannot be freed now",
                            name);
    }
    if (self->seen) {
        return PyErr_Format(PyExc_BufferError,
                            "something looks into this %U or refers to it: it is freed with the "
                            "last of them, not before",
                            name);
    }
    if (!self->owned && self->memory == NULL && self->pointer != NULL) {
        return PyErr_Format(PyExc_ValueError, "this %U is borrowed: only its owner can free it",
                            name);
    }
    instance_clear(op);
    Py_RETURN_NONE;
}

static PyObject *
instance_enter(PyObject *op, PyObject *Py_UNUSED(unused))
{
    return Py_NewRef(op);
}

static PyObject *
instance_exit(PyObject *op, PyObject *Py_UNUSED(args))
{
    return instance_close(op, NULL);
}

/* A new class' layout becomes its own, before anybody can give it to another. */
static PyObject *
instance_init_subclass(PyObject *cls, PyObject *Py_UNUSED(unused))
{
    cwj_layout *layout = cwj_layout_of(cls);
    Py_XDECREF(layout);
    PyErr_Clear(); /* without one it has no instances */
    Py_RETURN_NONE;
}

static PyMethodDef instance_methods[] = {
    {"__init_subclass__", instance_init_subclass, METH_NOARGS | METH_CLASS, NULL},
    {"_cwrapjit_close", instance_close, METH_NOARGS, close_doc},
    {"__enter__", instance_enter, METH_NOARGS, NULL},
    {"__exit__", instance_exit, METH_VARARGS, NULL},
    {"__reduce__", cwj_refuse_pickle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* ---- the type ---------------------------------------------------------------------- */

PyDoc_STRVAR(instance_doc,
             "An object of C's: the base of the classes that a library's struct() and "
             "handle() make.");

static PyType_Slot instance_slots[] = {
    {Py_tp_new, instance_new},           {Py_tp_dealloc, instance_dealloc},
    {Py_tp_traverse, instance_traverse}, {Py_tp_clear, instance_clear},
    {Py_tp_repr, instance_repr},         {Py_tp_richcompare, instance_compare},
    {Py_tp_hash, instance_hash},         {Py_tp_getset, instance_getset},
    {Py_tp_members, instance_members},   {Py_tp_methods, instance_methods},
    {Py_tp_doc, (void *)instance_doc},   {0, NULL},
};

static PyType_Spec instance_spec = {
    .name = "cwrapjit.Instance",
    .basicsize = sizeof(cwj_instance),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = instance_slots,
};

int
cwj_add_instance_types(PyObject *extension, cwj_module_state *state)
{
    state->instance_type =
        (PyTypeObject *)PyType_FromModuleAndSpec(extension, &instance_spec, NULL);
    if (state->instance_type == NULL ||
        PyModule_AddObjectRef(extension, "Instance", (PyObject *)state->instance_type) < 0) {
        return -1;
    }
    return cwj_add_layout_type(extension) < 0 || cwj_add_field_type(extension) < 0 ? -1 : 0;
}
