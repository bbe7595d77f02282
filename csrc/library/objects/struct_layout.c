/* struct_layout.c: type cwrapjit._cwrapjit.Layout, which describes the C type of a class. Instances keep a reference to
 * their layout, so that Python code that changes a class does not change what its instances are. */
#include "library/objects/struct_layout.h"

#include "base/errors.h"

#include <stdint.h>
#include <structmember.h>

static void
layout_dealloc(PyObject *op)
{
    cwj_struct_layout *self = (cwj_struct_layout *)op;
    PyObject_GC_UnTrack(op);
    CWJ_RELEASE(self->name, self->fields, self->free_name, self->owner, self->cls, self->descr);
    cwj_object_free(op);
}

/* No tp_clear: instances need the layout, and clearing the classes' dicts breaks cycles. */
static int
layout_traverse(PyObject *op, visitproc visit, void *arg)
{
    cwj_struct_layout *self = (cwj_struct_layout *)op;
    return CWJ_VISIT(Py_TYPE(op), self->owner, self->cls);
}

static int
check_numbers(const cwj_struct_layout *self)
{
    size_t most = (size_t)PY_SSIZE_T_MAX / 2;
    if (self->size > most || self->alignment == 0 || self->alignment > 4096 ||
        (self->alignment & (self->alignment - 1)) != 0) {
        return cwj_refuse_by(self->name, PyExc_ValueError,
                             "a size of %zu bytes aligned to %zu is not possible", self->size,
                             self->alignment);
    }
    return 0;
}

/* A mistake in cwrapjit.library must not lead to a view beyond the struct. */
static int
take_dtype(cwj_struct_layout *self, PyObject *dtype)
{
    if (dtype == Py_None) {
        return 0;
    }
    if (!PyArray_DescrCheck(dtype) || PyDataType_REFCHK((PyArray_Descr *)dtype) ||
        (size_t)PyDataType_ELSIZE((PyArray_Descr *)dtype) != self->size) {
        return cwj_refuse_by(self->name, PyExc_ValueError, "%R is no dtype of it", dtype);
    }
    self->descr = (PyArray_Descr *)Py_NewRef(dtype);
    return 0;
}

static PyObject *
layout_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", "fields",     "size",         "alignment", "owner",
                            "free", "needs_init", "has_pointers", "free_name", "automatic",
                            "end",  "nbound",     "dtype",        "readonly",  NULL};
    cwj_struct_layout *self = (cwj_struct_layout *)type->tp_alloc(type, 0);
    PyObject *name, *fields, *owner, *free_name = NULL, *dtype = Py_None;
    unsigned long long address = 0, end = 0;
    Py_ssize_t size, alignment;
    int needs_init = 0, has_pointers = 1, automatic = 0, nbound = 0, readonly = 0;
    if (self == NULL || !PyArg_ParseTupleAndKeywords(
                            args, kwargs, "UUnnO|KppUpKiOp:Layout", names, &name, &fields, &size,
                            &alignment, &owner, &address, &needs_init, &has_pointers, &free_name,
                            &automatic, &end, &nbound, &dtype, &readonly)) {
        Py_XDECREF(self);
        return NULL;
    }
    self->name = Py_NewRef(name);
    self->fields = Py_NewRef(fields);
    self->size = (size_t)size;
    self->alignment = (size_t)alignment;
    self->owner = Py_NewRef(owner);
    self->free = (void (*)(void *))(uintptr_t)address;
    self->end = (cwj_end *)(uintptr_t)end;
    self->nbound = nbound;
    self->free_name = free_name == NULL ? PyUnicode_FromString("") : Py_NewRef(free_name);
    self->needs_init = needs_init;
    self->has_pointers = has_pointers;
    self->automatic = automatic;
    self->readonly = readonly;
    if (self->free_name == NULL || check_numbers(self) < 0 || take_dtype(self, dtype) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    PyUnicode_InternInPlace(&self->free_name);
    return (PyObject *)self;
}

void
cwj_layout_end(const cwj_struct_layout *self, void *pointer, const cwj_slot *bound)
{
    if (self->end == NULL && self->free != NULL) {
        self->free(pointer);
    } else if (self->end != NULL && (self->nbound == 0 || bound != NULL)) {
        self->end(pointer, bound);
    }
}

int
cwj_is_layout(PyObject *object)
{
    return Py_TYPE(object)->tp_dealloc == layout_dealloc; /* the type has no subclasses */
}

int
cwj_layouts_agree(const cwj_struct_layout *a, const cwj_struct_layout *b)
{
    if (a == b) {
        return 1;
    }
    bool one_is_opaque = a->size == 0 || b->size == 0; /* as in C, types of one name are the same */
    return PyUnicode_Compare(a->name, b->name) == 0 &&
           (one_is_opaque || (a->size == b->size && PyUnicode_Compare(a->fields, b->fields) == 0));
}

/* Returns the layout of the class or of a base: a new reference, or NULL, perhaps with an exception. Does not ask the
 * metaclass, whose Python code could free what a call has already taken. */
static PyObject *
layout_attribute(PyTypeObject *cls)
{
    static PyObject *name; /* interned, never freed */
    PyObject *layout = NULL, *bases = cls->tp_mro;
    if (name == NULL && (name = PyUnicode_InternFromString("__cwrapjit_layout__")) == NULL) {
        return NULL;
    }
    Py_ssize_t count = bases == NULL ? 0 : PyTuple_GET_SIZE(bases);
    for (Py_ssize_t i = 0; i < count && layout == NULL && !PyErr_Occurred(); i++) {
        PyObject *own = ((PyTypeObject *)PyTuple_GET_ITEM(bases, i))->tp_dict;
        layout = own == NULL ? NULL : PyDict_GetItemWithError(own, name);
    }
    return Py_XNewRef(layout);
}

/* True if the layout was made for the class or a base. A layout is made for the first class that has it: assigning it
 * to another class must not change what calls rely on. */
static bool
is_for(cwj_struct_layout *layout, PyObject *cls)
{
    if (layout->cls == NULL) {
        layout->cls = Py_NewRef(cls);
    }
    return PyType_IsSubtype((PyTypeObject *)cls, (PyTypeObject *)layout->cls);
}

cwj_struct_layout *
cwj_layout_of(PyObject *cls)
{
    PyObject *layout = PyType_Check(cls) ? layout_attribute((PyTypeObject *)cls) : NULL;
    if (layout != NULL && cwj_is_layout(layout) && cwj_is_instance_type((PyTypeObject *)cls) &&
        is_for((cwj_struct_layout *)layout, cls)) {
        return (cwj_struct_layout *)layout;
    }
    Py_XDECREF(layout);
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError, "%R is no class that struct() or handle() of a library made",
                     cls);
    }
    return NULL;
}

static PyObject *
layout_exchange(PyObject *op, PyObject *given)
{
    if (!cwj_is_layout(given)) {
        return PyErr_Format(PyExc_TypeError, "exchange(): %R is no Layout", given);
    }
    enum {
        FROM = offsetof(cwj_struct_layout, name),
        SIZE = sizeof(cwj_struct_layout) - FROM
    };
    char before[SIZE];
    memcpy(before, (char *)op + FROM, SIZE);
    memmove((char *)op + FROM, (char *)given + FROM, SIZE);
    memcpy((char *)given + FROM, before, SIZE);
    Py_RETURN_NONE;
}

static PyMethodDef layout_methods[] = {
    {"exchange", layout_exchange, METH_O,
     "exchange($self, other, /)\n--\n\n"
     "Swap what two layouts say of one C type. The instances of a class know at once what\n"
     "somebody has described, and a second exchange takes it back."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef layout_members[] = {
    {"name", T_OBJECT, offsetof(cwj_struct_layout, name), READONLY, "C's name of the type."},
    {"fields", T_OBJECT, offsetof(cwj_struct_layout, fields), READONLY,
     "What equal types agree in."},
    {"free_name", T_OBJECT, offsetof(cwj_struct_layout, free_name), READONLY,
     "C's name of free, or ''."},
    {"size", T_ULONG, offsetof(cwj_struct_layout, size), READONLY, "In bytes; 0: opaque."},
    {"alignment", T_ULONG, offsetof(cwj_struct_layout, alignment), READONLY, "In bytes."},
    {"automatic", T_BOOL, offsetof(cwj_struct_layout, automatic), READONLY,
     "Nobody has described the type."},
    {"dtype", T_OBJECT, offsetof(cwj_struct_layout, descr), READONLY, "NumPy's dtype, or None."},
    {"readonly", T_BOOL, offsetof(cwj_struct_layout, readonly), READONLY, "A member is const."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot layout_slots[] = {
    {Py_tp_new, layout_new},
    {Py_tp_dealloc, layout_dealloc},
    {Py_tp_traverse, layout_traverse},
    {Py_tp_members, layout_members},
    {Py_tp_methods, layout_methods},
    {Py_tp_doc,
     "Layout(name, fields, size, alignment, owner, free=0, needs_init=False,\n"
     "       has_pointers=True, free_name='', automatic=False, end=0, nbound=0,\n"
     "       dtype=None, readonly=False)\n--\n\n"
     "A C type behind a class. free: the address of a C function. end: that of\n"
     "void end(void *self, const cwj_slot *bound), which calls it with nbound more values."},
    {0, NULL},
};

CWJ_TYPE(cwj_layout_spec, "cwrapjit._cwrapjit.Layout", cwj_struct_layout, layout_slots,
         Py_TPFLAGS_HAVE_GC);
