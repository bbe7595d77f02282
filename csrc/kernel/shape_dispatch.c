/* shape_dispatch.c: type cwrapjit._cwrapjit.ShapeDispatch, which selects a callable by argument types and shapes.
 *
 * jit() derives its callable from it. A call reads its arguments as words: the dtype and dims of an array, the type of a
 * number, the address of another object. If a target is kept for these words, it gets the arrays and numbers, its
 * *leaves*. Otherwise _miss() of the subclass does the whole call, and tells _keep() a target for the next one.
 *
 * Objects are told apart by address only if equality is identity, or the object never changes; an entry owns them. Calls
 * with keywords, trees and all other arguments are for _miss(). No Python code runs while a call is looked up.
 *
 * The GIL guards the table. A call holds a reference to its target, and reads no entry after Python code may have run. */
#include "kernel/kernel.h"

#include "base/errors.h"

#include <structmember.h>

enum {
    MOST_ARGUMENTS = 32, /* of a call that is looked up */
    MOST_WORDS = 64,
    PLACES = 512, /* of entries */
    WAYS = 4,
    WORD = sizeof(uintptr_t)
};

/* The first words of arguments. Addresses are even; those of the types of NumPy's scalars are marked by A_SCALAR. */
enum {
    A_SCALAR = 2,
    AN_INT = 1,
    A_FLOAT = 3,
    A_COMPLEX = 5,
    A_VALUE = 7,
    AN_ARRAY = 9
};

typedef struct {
    PyObject *target; /* owned */
    PyObject *held; /* owned tuple: objects whose addresses are words */
    size_t hash;
    Py_ssize_t nwords;
    uintptr_t words[];
} shape_entry;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Py_ssize_t arity; /* of calls that are looked up; -1: of none */
    uint32_t fixed; /* bit i: the value of argument i is part of the key */
    PyObject *defaults; /* owned tuple, or NULL: of the last arguments */
    shape_entry *entries[PLACES]; /* owned; a key has WAYS places, and new entries replace others */
} shape_dispatch;

/* What a call's arguments are. All references are borrowed. */
typedef struct {
    Py_ssize_t nwords, nleaves, nheld;
    uintptr_t words[MOST_WORDS];
    PyObject *leaves[MOST_ARGUMENTS];
    PyObject *held[MOST_ARGUMENTS];
} call_key;

/* ---- keys --------------------------------------------------------------- */

static bool
add_array(call_key *key, PyArrayObject *array)
{
    int type_num = PyArray_TYPE(array), ndim = PyArray_NDIM(array);
    if (!is_numeric(type_num) || !PyArray_ISNOTSWAPPED(array) || key->nwords + ndim >= MOST_WORDS) {
        return false;
    }
    key->words[key->nwords++] = AN_ARRAY | (uintptr_t)type_num << 8 | (uintptr_t)ndim << 16;
    for (int i = 0; i < ndim; i++) {
        key->words[key->nwords++] = (uintptr_t)PyArray_DIM(array, i);
    }
    return true;
}

/* Adds the value of a Python number. */
static bool
add_value(call_key *key, PyObject *number)
{
    int overflow = !PyLong_CheckExact(number);
    long long value = overflow ? 0 : PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || value != (intptr_t)value) {
        return false;
    }
    key->words[key->nwords++] = A_VALUE;
    key->words[key->nwords++] = (uintptr_t)value;
    return true;
}

/* Adds an object by its address. */
static bool
add_object(call_key *key, PyObject *object)
{
    bool is_same = object == Py_None || PyBool_Check(object) ||
                   Py_TYPE(object)->tp_hash == PyBaseObject_Type.tp_hash ||
                   (PyUnicode_CheckExact(object) && PyUnicode_CHECK_INTERNED(object));
    if (is_same) {
        key->held[key->nheld++] = object;
        key->words[key->nwords++] = (uintptr_t)object;
    }
    return is_same;
}

static inline bool
add_argument(call_key *key, PyObject *object, bool is_fixed)
{
    if (key->nwords + 2 > MOST_WORDS) {
        return false;
    }
    uintptr_t number = PyFloat_CheckExact(object)     ? A_FLOAT
                       : PyLong_CheckExact(object)    ? AN_INT
                       : PyComplex_CheckExact(object) ? A_COMPLEX
                                                      : 0;
    bool is_array = PyArray_CheckExact(object);
    bool is_scalar = !number && !is_array && PyArray_IsScalar(object, Generic);
    if (!number && !is_array && !is_scalar) {
        return add_object(key, object);
    }
    if (is_fixed) {
        return number && add_value(key, object);
    }
    key->leaves[key->nleaves++] = object;
    if (is_array) {
        return add_array(key, (PyArrayObject *)object);
    }
    if (is_scalar) {
        key->held[key->nheld++] = (PyObject *)Py_TYPE(object);
        number = (uintptr_t)Py_TYPE(object) | A_SCALAR;
    }
    key->words[key->nwords++] = number;
    return true;
}

/* Reads positional arguments and the defaults of absent ones. Returns false if such a call is never looked up. */
static inline bool
read_key(const shape_dispatch *self, call_key *key, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t first =
        self->defaults == NULL ? PY_SSIZE_T_MAX : self->arity - PyTuple_GET_SIZE(self->defaults);
    key->nwords = key->nleaves = key->nheld = 0;
    if (nargs > self->arity || self->arity > MOST_ARGUMENTS ||
        (nargs < self->arity && nargs < first)) {
        return false;
    }
    bool fits = true;
    for (Py_ssize_t i = 0; fits && i < self->arity; i++) {
        PyObject *value = i < nargs ? args[i] : PyTuple_GET_ITEM(self->defaults, i - first);
        fits = add_argument(key, value, self->fixed >> i & 1);
    }
    return fits;
}

/* ---- the table ---------------------------------------------------------- */

static inline size_t
hash_of(const call_key *key)
{
    uint64_t hash = 0;
    for (Py_ssize_t i = 0; i < key->nwords; i++) {
        hash = (hash ^ key->words[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return (size_t)hash;
}

/* Returns the place of the entry with these words, or else a place for it. */
static inline shape_entry **
find_place(shape_dispatch *self, const call_key *key, size_t hash, bool *found)
{
    shape_entry **spare = &self->entries[(hash + hash / PLACES % WAYS) % PLACES];
    for (size_t i = 0; i < WAYS; i++) {
        shape_entry **place = &self->entries[(hash + i) % PLACES], *entry = *place;
        if (entry == NULL) {
            spare = *spare == NULL ? spare : place;
        } else if (entry->hash == hash && entry->nwords == key->nwords &&
                   memcmp(entry->words, key->words, (size_t)key->nwords * WORD) == 0) {
            *found = true;
            return place;
        }
    }
    *found = false;
    return spare;
}

/* Puts an entry, or NULL, in a place. Freeing the former one may run Python code. */
static void
put(shape_entry **place, shape_entry *entry)
{
    shape_entry *former = *place;
    *place = entry;
    if (former != NULL) {
        PyObject *target = former->target, *held = former->held;
        PyMem_Free(former);
        CWJ_RELEASE(target, held);
    }
}

static void
drop_entries(shape_dispatch *self)
{
    for (int i = 0; i < PLACES; i++) {
        put(&self->entries[i], NULL);
    }
}

/* Returns an entry, or NULL with an exception set. */
static shape_entry *
new_entry(const call_key *key, PyObject *target)
{
    PyObject *held = PyTuple_New(key->nheld);
    shape_entry *entry =
        held == NULL ? NULL : cwj_allocate(1, sizeof(*entry) + (size_t)key->nwords * WORD);
    if (entry == NULL) {
        Py_XDECREF(held);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < key->nheld; i++) {
        PyTuple_SET_ITEM(held, i, Py_NewRef(key->held[i]));
    }
    *entry = (shape_entry){Py_NewRef(target), held, hash_of(key), key->nwords};
    memcpy(entry->words, key->words, (size_t)key->nwords * WORD);
    return entry;
}

static bool
has_leaves(const call_key *key, PyObject *leaves)
{
    bool same = PyList_GET_SIZE(leaves) == key->nleaves;
    for (Py_ssize_t i = 0; same && i < key->nleaves; i++) {
        same = PyList_GET_ITEM(leaves, i) == key->leaves[i];
    }
    return same;
}

PyDoc_STRVAR(
    keep_doc,
    "_keep($self, values, leaves, target, /)\n--\n\n"
    "Let target do later calls with such values. It gets their leaves: if those that a\n"
    "call would find are not these leaves, or if such calls are never looked up, it is not\n"
    "kept.");

static PyObject *
keep(PyObject *op, PyObject *args)
{
    shape_dispatch *self = (shape_dispatch *)op;
    PyObject *values, *leaves, *target;
    call_key key;
    if (!PyArg_ParseTuple(args, "O!O!O:_keep", &PyTuple_Type, &values, &PyList_Type, &leaves,
                          &target)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(values) != self->arity ||
        !read_key(self, &key, &PyTuple_GET_ITEM(values, 0), self->arity) ||
        !has_leaves(&key, leaves)) {
        Py_RETURN_NONE;
    }
    shape_entry *entry = new_entry(&key, target);
    if (entry == NULL) {
        return NULL;
    }
    bool found;
    put(find_place(self, &key, entry->hash, &found), entry);
    Py_RETURN_NONE;
}

/* ---- calls -------------------------------------------------------------- */

static PyObject *
call_miss(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *miss = PyObject_GetAttrString(op, "_miss"), *result = NULL;
    if (miss != NULL) {
        result = PyObject_Vectorcall(miss, args, nargsf, kwnames);
        Py_DECREF(miss);
    }
    return result;
}

/* Returns the target for a call, borrowed, or NULL if there is none. */
static inline PyObject *
find_target(shape_dispatch *self, call_key *key, PyObject *const *args, Py_ssize_t nargs)
{
    bool found;
    if (!read_key(self, key, args, nargs)) {
        return NULL;
    }
    shape_entry **place = find_place(self, key, hash_of(key), &found);
    return found ? (*place)->target : NULL;
}

/* A target may be a ShapeDispatch, so calls count the recursion depth. */
static PyObject *
shape_dispatch_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    shape_dispatch *self = (shape_dispatch *)op;
    call_key key;
    if (Py_EnterRecursiveCall(" in a jitted function")) {
        return NULL;
    }
    Py_INCREF(op); /* the call may drop the last reference, or change the defaults */
    PyObject *defaults = Py_XNewRef(self->defaults), *target = NULL, *result;
    if (kwnames == NULL) {
        target = Py_XNewRef(find_target(self, &key, args, PyVectorcall_NARGS(nargsf)));
    }
    result = target == NULL ? call_miss(op, args, nargsf, kwnames)
                            : PyObject_Vectorcall(target, key.leaves, (size_t)key.nleaves, NULL);
    CWJ_RELEASE(target, defaults, op);
    Py_LeaveRecursiveCall();
    return result;
}

static PyObject *
bind_to_instance(PyObject *op, PyObject *instance, PyObject *Py_UNUSED(owner))
{
    return instance == NULL || instance == Py_None ? Py_NewRef(op) : PyMethod_New(op, instance);
}

/* ---- the type ----------------------------------------------------------- */

static PyObject *
shape_dispatch_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    shape_dispatch *self = (shape_dispatch *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = shape_dispatch_call;
        self->arity = -1;
    }
    return (PyObject *)self;
}

static int
shape_dispatch_init(PyObject *op, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"static", "defaults", NULL};
    shape_dispatch *self = (shape_dispatch *)op;
    PyObject *flags, *defaults;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!:ShapeDispatch", names, &PyTuple_Type,
                                     &flags, &PyTuple_Type, &defaults)) {
        return -1;
    }
    uint32_t fixed = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(flags) && i < MOST_ARGUMENTS; i++) {
        fixed |= (uint32_t)(PyTuple_GET_ITEM(flags, i) == Py_True) << i;
    }
    if (PyTuple_GET_SIZE(defaults) > PyTuple_GET_SIZE(flags)) {
        PyErr_SetString(PyExc_ValueError, "ShapeDispatch(): more defaults than arguments");
        return -1;
    }
    drop_entries(self); /* a second __init__() */
    self->arity = PyTuple_GET_SIZE(flags);
    self->fixed = fixed;
    Py_XSETREF(self->defaults, Py_NewRef(defaults));
    return 0;
}

static int
shape_dispatch_traverse(PyObject *op, visitproc visit, void *arg)
{
    shape_dispatch *self = (shape_dispatch *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->defaults);
    for (int i = 0; i < PLACES; i++) {
        if (self->entries[i] != NULL) {
            Py_VISIT(self->entries[i]->target);
            Py_VISIT(self->entries[i]->held);
        }
    }
    return 0;
}

static int
shape_dispatch_clear(PyObject *op)
{
    shape_dispatch *self = (shape_dispatch *)op;
    drop_entries(self);
    Py_CLEAR(self->defaults);
    return 0;
}

static void
shape_dispatch_dealloc(PyObject *op)
{
    PyObject_GC_UnTrack(op);
    Py_TRASHCAN_BEGIN(op, shape_dispatch_dealloc); /* a chain of them may be long */
    shape_dispatch_clear(op);
    cwj_object_free(op);
    Py_TRASHCAN_END;
}

static PyMethodDef shape_dispatch_methods[] = {
    {"_keep", keep, METH_VARARGS, keep_doc},
    {"__init_subclass__", (PyCFunction)(void (*)(void))cwj_inherit_vectorcall,
     METH_CLASS | METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef shape_dispatch_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(shape_dispatch, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(shape_dispatch_doc,
             "ShapeDispatch(static, defaults)\n--\n\n"
             "One callable for many. The types and shapes of a call's arguments say which one is\n"
             "called, with the arrays and numbers among them. _miss(*args, **kwargs), a method of\n"
             "each subclass, does calls that _keep() does not know yet. static: for each\n"
             "parameter, whether its value counts. defaults: of the last parameters.");

static PyType_Slot shape_dispatch_slots[] = {
    {Py_tp_new, shape_dispatch_new},
    {Py_tp_init, shape_dispatch_init},
    {Py_tp_dealloc, shape_dispatch_dealloc},
    {Py_tp_traverse, shape_dispatch_traverse},
    {Py_tp_clear, shape_dispatch_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, bind_to_instance},
    {Py_tp_members, shape_dispatch_members},
    {Py_tp_methods, shape_dispatch_methods},
    {Py_tp_doc, (void *)shape_dispatch_doc},
    {0, NULL},
};

CWJ_TYPE(cwj_shape_dispatch_spec, "cwrapjit._cwrapjit.ShapeDispatch", shape_dispatch,
         shape_dispatch_slots,
         Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_BASETYPE);
