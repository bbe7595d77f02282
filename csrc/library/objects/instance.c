/* instance.c: type cwrapjit.Instance, the base of the classes that struct() and handle() make.
 *
 * An instance has a C pointer to memory of its own, to an object that C allocated and gave away (owned: freed once), or
 * to other memory (borrowed: base and references keep it alive). It cannot be closed while calls use the pointer or
 * arrays look into the memory.
 */
#include "library/objects/instance.h"

#include "base/errors.h"
#include "base/live.h"
#include "library/objects/foreign_memory.h"
#include "library/objects/looks.h"
#include "library/objects/owners.h"
#include "library/objects/references.h"

#include <stdint.h>
#include <structmember.h>

/* ---- memory ------------------------------------------------------------------------ */

static void *
make_memory(const cwj_struct_layout *layout)
{
    size_t alignment = layout->alignment < 16 ? 16 : layout->alignment;
    size_t size = (layout->size + alignment - 1) / alignment * alignment;
    char *block = cwj_allocate(1, size + alignment);
    if (block == NULL) {
        return NULL;
    }
    void **memory = (void **)(void *)(block + alignment - (uintptr_t)block % alignment);
    memory[-1] = block;
    return memory;
}

void
cwj_instance_free_memory(cwj_instance *self)
{
    if (self->memory != NULL) {
        PyMem_Free(((void **)self->memory)[-1]);
        self->memory = NULL;
    }
}

/* Ends the object, once, before the objects that it refers to. */
static void
end_object(cwj_instance *self)
{
    void *pointer = self->pointer;
    bool owned = self->owned && pointer != NULL;
    cwj_bound *bound = self->bound;
    cwj_owners_remove(self);
    self->pointer = NULL;
    self->owned = false;
    self->bound = NULL;
    self->stage = CWJ_INSTANCE_CLOSED;
    if (owned) {
        cwj_layout_end(self->layout, pointer, bound == NULL ? NULL : bound->values);
    }
    if (bound != NULL) {
        cwj_bound_free(bound);
    }
    cwj_instance_free_memory(self);
}

static cwj_instance *
allocate(PyTypeObject *type, cwj_struct_layout *layout)
{
    cwj_instance *self = (cwj_instance *)type->tp_alloc(type, 0);
    if (self != NULL) {
        cwj_live_counts[CWJ_LIVE_INSTANCES]++;
        self->layout = (cwj_struct_layout *)Py_NewRef(layout);
        self->stage = CWJ_INSTANCE_READY;
        self->root = self;
    }
    return self;
}

static void
set_pointer(cwj_instance *self, void *pointer)
{
    self->pointer = self->address = pointer;
    if (self->memory != NULL || self->owned) {
        cwj_owners_add(self);
    }
}

/* ---- for the call path ------------------------------------------------------------- */

int
cwj_instance_check(cwj_instance *self)
{
    const cwj_instance *root = self->root;
    const char *fault = NULL;
    if (root->stage == CWJ_INSTANCE_BEGUN && root->thread != PyThread_get_thread_ident()) {
        fault = "is being initialised by another thread";
    } else if (self->stage == CWJ_INSTANCE_NEW ||
               (self->stage == CWJ_INSTANCE_BEGUN && self->pointer == NULL)) {
        fault = "was never initialised";
    } else if (!cwj_is_alive(self)) {
        fault = "was freed";
    }
    if (fault == NULL) {
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "this %U %s", self->layout->name, fault);
    return -1;
}

int
cwj_instance_pointer(const cwj_struct_layout *wanted, PyObject *object, void **pointer)
{
    cwj_instance *self = (cwj_instance *)object;
    if (PyCapsule_CheckExact(object)) { /* of other code, named after the C type */
        const char *name = PyUnicode_AsUTF8(wanted->name);
        bool fits = name != NULL && PyCapsule_IsValid(object, name);
        *pointer = fits ? PyCapsule_GetPointer(object, name) : NULL;
        return name == NULL ? -1 : fits;
    }
    if (!cwj_is_instance(object) || !cwj_layouts_agree(self->layout, wanted)) {
        return 0;
    }
    *pointer = self->pointer;
    return cwj_instance_check(self) < 0 ? -1 : 1;
}

void
cwj_bases_use(const cwj_instance *root, Py_ssize_t change)
{
    Py_ssize_t count;
    PyObject *const *bases = cwj_bases_of(root, &count);
    for (Py_ssize_t k = 0; k < count; k++) {
        cwj_instance_use(bases[k], change);
    }
}

/* ---- new instances ----------------------------------------------------------------- */

PyObject *
cwj_instance_around(cwj_struct_layout *layout, void *pointer, bool owned, cwj_bound *bound,
                    PyObject *base)
{
    cwj_instance *self = allocate((PyTypeObject *)layout->cls, layout);
    if (self == NULL) {
        if (owned) {
            cwj_layout_end(layout, pointer, bound == NULL ? NULL : bound->values);
        }
        cwj_bound_free(bound);
    } else {
        self->owned = owned;
        self->bound = bound;
        self->base = Py_XNewRef(base);
        self->root = base != NULL && cwj_is_instance(base) ? ((cwj_instance *)base)->root : self;
        self->lies = self->root != self || (base != NULL && PyTuple_CheckExact(base));
        set_pointer(self, pointer);
    }
    return (PyObject *)self;
}

int
cwj_instance_forget(cwj_instance *self)
{
    int answer = cwj_looks_into(self) ? -1 : 0;
    end_object(self);
    return answer;
}

/* Returns a new instance, with memory of its own unless the type is opaque. */
static cwj_instance *
with_memory(PyTypeObject *type, cwj_struct_layout *layout)
{
    cwj_instance *self = allocate(type, layout);
    if (self != NULL && layout->size > 0) {
        self->memory = make_memory(layout);
        if (self->memory == NULL) {
            Py_DECREF(self);
            return NULL;
        }
        set_pointer(self, self->memory);
    }
    return self;
}

PyObject *
cwj_instance_empty(cwj_struct_layout *layout, void **memory)
{
    cwj_instance *self = with_memory((PyTypeObject *)layout->cls, layout);
    if (self != NULL && self->memory == NULL) {
        PyErr_Format(PyExc_TypeError, "%U is opaque: only C makes objects of it", layout->name);
        Py_CLEAR(self);
    }
    *memory = self == NULL ? NULL : self->memory;
    return (PyObject *)self;
}

/* ---- methods of the type ----------------------------------------------------------- */

static PyObject *
instance_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    cwj_struct_layout *layout = cwj_layout_of((PyObject *)type);
    cwj_instance *self = layout == NULL ? NULL : with_memory(type, layout);
    Py_XDECREF(layout);
    /* Before an initialiser has run, there is nothing to free. */
    if (self != NULL && (self->layout->needs_init || self->memory == NULL)) {
        self->stage = CWJ_INSTANCE_NEW;
    }
    return (PyObject *)self;
}

/* Keeps the base until instance_dealloc(), because others rely on it. No cycle consists of bases alone, as they are
 * older than the instances that lie in them. */
static int
instance_clear(PyObject *op)
{
    cwj_instance *self = (cwj_instance *)op;
    end_object(self); /* first: C may read the objects that it points to */
    if (self->references != NULL) {
        cwj_references_clear(self);
    }
    return 0;
}

/* Does nothing while instances that bind this one need it for their end: they are in the same cycle and end first. No
 * cycle consists of bound objects alone, as they are older than the instances that bind them. */
static int
instance_clear_cycle(PyObject *op)
{
    return ((cwj_instance *)op)->binders > 0 ? 0 : instance_clear(op);
}

static void
instance_dealloc(PyObject *op)
{
    cwj_instance *self = (cwj_instance *)op;
    if (Py_TYPE(op)->tp_finalize != NULL && PyObject_CallFinalizerFromDealloc(op) < 0) {
        return;
    }
    PyObject_GC_UnTrack(op);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs(op);
    }
    if (self->layout != NULL) {
        instance_clear(op);
        if (self->looks != NULL) {
            cwj_looks_clear(self);
        }
        Py_CLEAR(self->base);
        Py_CLEAR(self->layout);
    }
    cwj_live_counts[CWJ_LIVE_INSTANCES]--;
    cwj_object_free(op);
}

/* Returns a text of the members; NULL if they cannot be read, with an exception only for Ctrl-C and the like. */
static PyObject *
show_members(cwj_instance *self)
{
    bool readable = self->layout->size > 0 && cwj_instance_check(self) == 0;
    PyObject *shown =
        readable ? cwj_ask_python("cwrapjit.show.instances", "shown", "(O)", self) : NULL;
    if (shown == NULL && PyErr_Occurred()) {
        cwj_clear_expected(PyExc_Exception, NULL); /* any error of users' code, but not Ctrl-C */
    }
    return shown;
}

static PyObject *
instance_repr(PyObject *op)
{
    cwj_instance *self = (cwj_instance *)op;
    bool is_opaque = self->layout->size == 0;
    bool is_freed = self->owned && self->layout->free != NULL; /* by C */
    bool is_ended = self->memory != NULL || is_freed;
    const char *gone = is_opaque ? "closed" : "freed";
    const char *state = self->stage == CWJ_INSTANCE_CLOSED ? gone
                        : self->pointer == NULL || self->stage == CWJ_INSTANCE_NEW
                            ? "not initialised"
                        : !cwj_is_alive(self) ? gone
                        : !is_ended           ? "borrowed"
                        : is_opaque           ? "open"
                                              : "owned";
    const char *name = Py_TYPE(op)->tp_name;
    if (self->pointer == NULL) {
        return PyUnicode_FromFormat("<%s: %U, %s>", name, self->layout->name, state);
    }
    PyObject *shown = show_members(self);
    if (PyErr_Occurred() || (shown != NULL && is_ended && !is_freed)) {
        return shown;
    }
    const cwj_instance *owner = self->layout->automatic ? cwj_owner_at(self->pointer) : NULL;
    bool nobody_frees = self->layout->automatic && !is_ended && (owner == NULL || owner == self);
    if (shown == NULL) {
        shown = PyUnicode_FromFormat("%s: %U", name, self->layout->name);
    }
    PyObject *text = PyUnicode_FromFormat("<%V at %p, %s%s>", shown, name, self->pointer, state,
                                          nobody_frees ? ", no free= is known" : "");
    Py_XDECREF(shown);
    return text;
}

/* Instances of the same C object are equal. */
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

/* Hashes the first address, because pointer may become NULL while the instance is in a dict. */
static Py_hash_t
instance_hash(PyObject *op)
{
    const cwj_instance *self = (cwj_instance *)op;
    if (self->stage == CWJ_INSTANCE_NEW || self->stage == CWJ_INSTANCE_BEGUN) {
        PyErr_Format(PyExc_TypeError, "this %U has no hash before it is initialised",
                     self->layout->name);
        return -1;
    }
    return cwj_hash_address(self->address);
}

static PyObject *
get_address(PyObject *op, void *Py_UNUSED(closure))
{
    cwj_instance *self = (cwj_instance *)op;
    return cwj_instance_check(self) < 0 ? NULL : PyLong_FromVoidPtr(self->pointer);
}

static PyGetSetDef instance_getset[] = {
    {"address", get_address, NULL, "Where the C object is, an int.", NULL},
    {"referenced_objects", cwj_references_list, NULL,
     "A list of all that C may point to from here, kept alive as long.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef instance_members[] = {
    {"__cwrapjit_base__", T_OBJECT, offsetof(cwj_instance, base), READONLY,
     "The object that this one lies in, or None."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(cwj_instance, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* ---- an early end ------------------------------------------------------------------ */

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
    if (self->holders > 0 || self->binders > 0 || cwj_looks_into(self)) {
        return PyErr_Format(PyExc_BufferError,
                            "something looks into this %U or refers to it: it is freed with the "
                            "last of them, not before",
                            name);
    }
    if (!self->owned && self->memory == NULL && self->pointer != NULL) {
        return PyErr_Format(PyExc_ValueError,
                            "this %U is borrowed: only its owner can free it (a function that "
                            "gives its result away says so with returns=\"callee\")",
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

/* If an exception leaves the block while something (perhaps its traceback) looks into the object, the object is freed
 * later, with the last such reference, and the exception continues. */
static PyObject *
instance_exit(PyObject *op, PyObject *args)
{
    bool fails = PyTuple_GET_SIZE(args) > 0 && PyTuple_GET_ITEM(args, 0) != Py_None;
    PyObject *result = instance_close(op, NULL);
    if (result == NULL && fails && cwj_clear_expected(PyExc_BufferError, NULL)) {
        Py_RETURN_NONE;
    }
    return result;
}

/* Binds a new class' layout to it before the layout can be assigned to another class. If instances have no attributes,
 * replaces the class' dealloc, which is slow and would have nothing to do. */
static PyObject *
instance_init_subclass(PyObject *cls, PyObject *Py_UNUSED(unused))
{
    PyTypeObject *type = (PyTypeObject *)cls;
    cwj_struct_layout *layout = cwj_layout_of(cls);
    if (layout == NULL && !cwj_clear_expected(PyExc_TypeError, NULL)) {
        return NULL;
    }
    if (type->tp_basicsize == sizeof(cwj_instance) && type->tp_dictoffset == 0) {
        type->tp_dealloc = instance_dealloc;
    }
    Py_XDECREF(layout); /* a class without a layout has no instances */
    Py_RETURN_NONE;
}

/* ---- NumPy's view ------------------------------------------------------------------- */

static PyObject *
instance_view(PyObject *op, PyObject *Py_UNUSED(unused))
{
    cwj_instance *self = (cwj_instance *)op;
    const cwj_struct_layout *layout = self->layout;
    if (cwj_instance_check(self) < 0) {
        return NULL;
    }
    if (layout->descr == NULL) {
        return PyErr_Format(PyExc_TypeError, "NumPy has no dtype for %U", layout->name);
    }
    PyObject *base = cwj_anchor_of(op);
    PyObject *array =
        cwj_array_over(layout->descr, 0, NULL, NULL, false, self->pointer, !layout->readonly, base);
    if (array != NULL && cwj_looks_add(array, base, op, self->pointer) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

static PyMethodDef instance_methods[] = {
    {"__init_subclass__", instance_init_subclass, METH_NOARGS | METH_CLASS, NULL},
    {"_cwrapjit_close", instance_close, METH_NOARGS,
     "_cwrapjit_close($self, /)\n--\n\n"
     "Free the C object now; later calls with it raise. Twice does nothing."},
    {"_cwrapjit_view", instance_view, METH_NOARGS,
     "_cwrapjit_view($self, /)\n--\n\n"
     "The struct as an array without dims that looks into its memory."},
    {"__enter__", instance_enter, METH_NOARGS, NULL},
    {"__exit__", instance_exit, METH_VARARGS, NULL},
    {"__reduce__", cwj_refuse_pickle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* ---- the type ---------------------------------------------------------------------- */

static PyType_Slot instance_slots[] = {
    {Py_tp_new, instance_new},
    {Py_tp_dealloc, instance_dealloc},
    {Py_tp_traverse, cwj_instance_traverse},
    {Py_tp_clear, instance_clear_cycle},
    {Py_tp_repr, instance_repr},
    {Py_tp_richcompare, instance_compare},
    {Py_tp_hash, instance_hash},
    {Py_tp_getset, instance_getset},
    {Py_tp_members, instance_members},
    {Py_tp_methods, instance_methods},
    {Py_tp_doc, "An object of C's: the base of the classes that a library's struct() and "
                "handle() make."},
    {0, NULL},
};

CWJ_TYPE(cwj_instance_spec, "cwrapjit.Instance", cwj_instance, instance_slots,
         Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC);
