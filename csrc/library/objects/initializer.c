/* initializer.c: type cwrapjit._cwrapjit.Initializer, the __init__ of classes whose instances a C function initialises,
 * or whose members are arguments. */
#include "base/errors.h"
#include "base/raised.h"
#include "library/objects/instance.h"
#include "library/objects/looks.h"
#include "library/objects/owners.h"

#include "base/bind.h"

#include <stdint.h>
#include <structmember.h>

enum {
    FEW = 16 /* the values of so many members lie on the C stack */
};

typedef struct cwj_initializer {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function; /* owned; None: the arguments are members */
    PyObject *dict; /* owned: __doc__, __signature__ ... */
    int adopts;
} cwj_initializer;

/* ---- members ------------------------------------------------------------------------------- */

static void
refuse_members(const void *instance, PyObject *text)
{
    PyErr_Format(PyExc_TypeError, "%s(): %U", Py_TYPE(instance)->tp_name, text);
}

/* Sets a member. An array inside the struct cannot be assigned to: the value's items are copied into it. */
static int
set_member(PyObject *instance, PyObject *name, PyObject *value)
{
    if (PyObject_SetAttr(instance, name, value) == 0) {
        return 0;
    }
    if (!PyErr_ExceptionMatches(PyExc_AttributeError) || PyUnicode_Check(value) ||
        PyBytes_Check(value)) {
        return -1;
    }
    PyObject *raised = cwj_raised_take(), *now = PyObject_GetAttr(instance, name);
    int status = -1;
    if (now != NULL && PyArray_Check(now)) {
        status = PyArray_CopyObject((PyArrayObject *)now, value);
        Py_CLEAR(raised);
    } else if (now != NULL) {
        cwj_raised_set(raised);
        raised = NULL;
    }
    CWJ_RELEASE(raised, now);
    return status;
}

/* Sets members by position or by name; the others stay zero. */
static int
fill_members(PyObject *const *args, size_t nargs, PyObject *kwnames)
{
    static PyObject *name; /* interned, never freed */
    if (name == NULL && (name = PyUnicode_InternFromString("__match_args__")) == NULL) {
        return -1;
    }
    PyObject *all = PyObject_GetAttr((PyObject *)Py_TYPE(args[0]), name);
    PyObject *usual[FEW] = {NULL}, **values = usual;
    int status = -1;
    if (all == NULL || !PyTuple_Check(all)) {
        Py_XDECREF(all);
        return all == NULL ? -1 : cwj_refuse_type("__init__()", "__match_args__", "a tuple", all);
    }
    int count = (int)PyTuple_GET_SIZE(all);
    if (count > FEW && (values = cwj_allocate((size_t)count, sizeof(*values))) == NULL) {
        goto done;
    }
    cwj_signature_names names = {
        &PyTuple_GET_ITEM(all, 0), sizeof(PyObject *), count, 0, count, refuse_members, args[0], 0};
    status = cwj_bind(&names, args + 1, (Py_ssize_t)nargs - 1, kwnames, values);
    for (int i = 0; i < count && status == 0; i++) {
        status = values[i] == NULL ? 0 : set_member(args[0], PyTuple_GET_ITEM(all, i), values[i]);
    }
done:
    if (values != usual) {
        PyMem_Free(values);
    }
    Py_DECREF(all);
    return status;
}

/* ---- C's objects ---------------------------------------------------------------------------- */

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

/* Initialises the instance args[0], once. function(*args) fills it; with adopts, function(*args[1:]) returns another
 * instance, whose C object it takes over. nargs does not count keywords. Returns None, or NULL with an exception set. */
static PyObject *
construct(PyObject *function, bool adopts, PyObject *const *args, size_t nargs, PyObject *kwnames)
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

/* ---- the type -------------------------------------------------------------------------------- */

static PyObject *
initializer_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    cwj_initializer *self = (cwj_initializer *)op;
    size_t nargs = (size_t)PyVectorcall_NARGS(nargsf);
    if (nargs == 0 || !cwj_is_instance(args[0])) {
        return PyErr_Format(PyExc_TypeError,
                            "__init__(): wanted an instance to initialise, got %.200s",
                            nargs == 0 ? "nothing" : Py_TYPE(args[0])->tp_name);
    }
    if (self->function == Py_None) {
        return fill_members(args, nargs, kwnames) < 0 ? NULL : Py_NewRef(Py_None);
    }
    return construct(self->function, self->adopts, args, nargs, kwnames);
}

static PyObject *
initializer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "adopts", NULL};
    PyObject *function;
    int adopts;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Op:Initializer", names, &function, &adopts)) {
        return NULL;
    }
    cwj_initializer *self = (cwj_initializer *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = initializer_call;
        self->function = Py_NewRef(function);
        self->adopts = adopts;
    }
    return (PyObject *)self;
}

static int
initializer_traverse(PyObject *op, visitproc visit, void *arg)
{
    cwj_initializer *self = (cwj_initializer *)op;
    return CWJ_VISIT(Py_TYPE(op), self->function, self->dict);
}

static int
initializer_clear(PyObject *op)
{
    cwj_initializer *self = (cwj_initializer *)op;
    Py_CLEAR(self->dict); /* calls still need the function */
    return 0;
}

static void
initializer_dealloc(PyObject *op)
{
    cwj_initializer *self = (cwj_initializer *)op;
    PyObject_GC_UnTrack(op);
    initializer_clear(op);
    Py_CLEAR(self->function);
    cwj_object_free(op);
}

static PyGetSetDef initializer_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef initializer_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(cwj_initializer, dict), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(cwj_initializer, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(
    initializer_doc,
    "Initializer(function, adopts)\n--\n\n"
    "An __init__: it initialises an instance, once, by function(instance, ...), which fills it\n"
    "or, with adopts, function(...), which returns another one, whose C object the instance\n"
    "takes over. Without a function it takes members, by position or by name; the rest is zero.");

static PyType_Slot initializer_slots[] = {
    {Py_tp_new, initializer_new},           {Py_tp_dealloc, initializer_dealloc},
    {Py_tp_traverse, initializer_traverse}, {Py_tp_clear, initializer_clear},
    {Py_tp_call, PyVectorcall_Call},        {Py_tp_descr_get, cwj_instance_bind},
    {Py_tp_getset, initializer_getset},     {Py_tp_members, initializer_members},
    {Py_tp_doc, (void *)initializer_doc},   {0, NULL},
};

CWJ_TYPE(cwj_initializer_spec, "cwrapjit._cwrapjit.Initializer", cwj_initializer, initializer_slots,
         Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR);

/* ---- for other types, and Python ------------------------------------------------------------- */

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
