/* dispatch.c: type cwrapjit._cwrapjit.Dispatch, which selects a callable by argument types.
 *
 * A call reads each argument's type number (arrays, NumPy's scalars) or kind (Python's numbers, None), and looks these
 * up in a short list of callables. If there is none, resolve() of a subclass makes one. lists= names the arguments
 * whose lists become arrays first. The callable gets the arguments unchanged, so a Dispatch adds some ten nanoseconds
 * to a call.
 *
 * For the arguments in ranks=, the number of dims and whether the array is C-contiguous are part of the type.
 *
 * The GIL guards the list. A call holds a reference to its callable, and reads no entry after Python code may have run.
 */
#include "kernel/kernel.h"

#include "base/errors.h"

#include <structmember.h>

enum {
    MOST_ARGUMENTS = 32, /* of a call whose callable is kept */
    MOST_ENTRIES = 128,  /* then new entries replace others in turn */
    WORD = sizeof(uint64_t)
};

/* The types of arguments. Only numeric arrays and scalars are distinguished by type number. */
enum {
    KEY_OTHER, /* any other type: each such call is resolved anew */
    KEY_NONE,
    KEY_BOOL, /* Python's numbers */
    KEY_INT,
    KEY_FLOAT,
    KEY_COMPLEX,
    KEY_ARRAY = 32, /* + type number */
    KEY_SCALAR = 64 /* + type number: NumPy's scalars */
};

typedef struct {
    PyObject *target;  /* owned */
    PyObject *kwnames; /* owned tuple, or NULL */
    Py_ssize_t npositional;
    Py_ssize_t nkeys; /* positional, then keywords, then ranks */
    unsigned char keys[2 * MOST_ARGUMENTS]; /* 0 after the last one */
} dispatch_entry;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    uint32_t ranks;           /* bit i: the rank of positional argument i is part of its type */
    uint32_t lists;           /* bit i: if argument i is a list or tuple, it becomes an array */
    PyObject *list_words;     /* owned tuple or NULL: the same for keywords, among numbers */
    dispatch_entry **entries; /* owned, with its items; frequent ones move to the front */
    int nentries;
    int capacity;
    int oldest; /* index of the next entry to replace when the list is full */
    PyObject *dict; /* owned: __name__, __doc__, and a subclass' attributes */
    PyObject *weakrefs;
} dispatch_object;

/* ---- types of arguments ------------------------------------------------- */

static PyTypeObject *scalar_types[NPY_HALF + 1]; /* borrowed: NumPy never frees them */

static int
key_of_scalar(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    for (int t = NPY_HALF; t >= 0; t--) { /* tries doubles before integers */
        if (scalar_types[t] == type) {
            return KEY_SCALAR + t;
        }
    }
    return KEY_OTHER;
}

static int
key_of_other(PyObject *object)
{
    if (object == Py_None) {
        return KEY_NONE;
    }
    if (PyArray_IsScalar(object, Generic)) {
        return key_of_scalar(object);
    }
    if (PyBool_Check(object)) {
        return KEY_BOOL;
    }
    return PyLong_Check(object)      ? KEY_INT
           : PyFloat_Check(object)   ? KEY_FLOAT
           : PyComplex_Check(object) ? KEY_COMPLEX
                                     : KEY_OTHER;
}

static inline int
key_of(PyObject *object)
{
    if (PyArray_Check(object)) {
        const PyArrayObject *array = (PyArrayObject *)object;
        int type_num = PyArray_TYPE(array);
        return is_numeric(type_num) && PyArray_ISNOTSWAPPED(array) ? KEY_ARRAY + type_num
                                                                   : KEY_OTHER;
    }
    if (PyFloat_CheckExact(object)) {
        return KEY_FLOAT;
    }
    return PyLong_CheckExact(object) ? KEY_INT : key_of_other(object);
}

/* Appends the ranks of arrays, for keywords always. Returns the number of keys. */
static __attribute__((noinline)) Py_ssize_t
read_ranks(unsigned char *keys, uint32_t ranks, PyObject *const *args, Py_ssize_t npositional,
           Py_ssize_t nargs)
{
    Py_ssize_t count = nargs;
    for (Py_ssize_t i = 0; i < nargs; i++) {
        if (keys[i] >= KEY_ARRAY && keys[i] < KEY_SCALAR && (i >= npositional || ranks >> i & 1)) {
            PyArrayObject *array = (PyArrayObject *)args[i];
            keys[count++] =
                (unsigned char)(2 * PyArray_NDIM(array) + !PyArray_IS_C_CONTIGUOUS(array));
        }
    }
    return count;
}

/* Fills at least a word of keys. Returns their number, or -1 if the callable of such a call is not kept. */
static inline Py_ssize_t
read_keys(unsigned char *keys, uint32_t ranks, PyObject *const *args, Py_ssize_t npositional,
          Py_ssize_t nargs)
{
    if (nargs > MOST_ARGUMENTS) {
        return -1;
    }
    memset(keys, 0, WORD);
    for (Py_ssize_t i = 0; i < nargs; i++) {
        int key = key_of(args[i]);
        if (key == KEY_OTHER) {
            return -1;
        }
        keys[i] = (unsigned char)key;
    }
    return ranks == 0 ? nargs : read_ranks(keys, ranks, args, npositional, nargs);
}

/* ---- the list ----------------------------------------------------------- */

/* Keywords written in Python code are interned; those of **json.loads(text) are not. */
static int
same_names(PyObject *one, PyObject *other)
{
    if (one == other) {
        return 1;
    }
    if (one == NULL || other == NULL || PyTuple_GET_SIZE(one) != PyTuple_GET_SIZE(other)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(one); i++) {
        PyObject *name = PyTuple_GET_ITEM(one, i), *another = PyTuple_GET_ITEM(other, i);
        if (name != another && PyUnicode_Compare(name, another) != 0) {
            return 0;
        }
    }
    return 1;
}

/* Compares a word first: most calls have no more keys than that has bytes. */
static inline int
same_keys(const unsigned char *one, const unsigned char *other, Py_ssize_t nkeys)
{
    uint64_t word, other_word;
    memcpy(&word, one, WORD);
    memcpy(&other_word, other, WORD);
    return word == other_word &&
           (nkeys <= WORD || memcmp(one + WORD, other + WORD, (size_t)nkeys - WORD) == 0);
}

static inline int
fits(const dispatch_entry *entry, const unsigned char *keys, Py_ssize_t npositional,
     Py_ssize_t nkeys, PyObject *kwnames)
{
    return entry->npositional == npositional && entry->nkeys == nkeys &&
           same_keys(entry->keys, keys, nkeys) && same_names(entry->kwnames, kwnames);
}

/* Returns the callable for these keys, borrowed, or NULL if there is none. */
static inline PyObject *
find_target(dispatch_object *self, const unsigned char *keys, Py_ssize_t npositional,
            Py_ssize_t nkeys, PyObject *kwnames)
{
    for (int i = 0; i < self->nentries; i++) {
        dispatch_entry *entry = self->entries[i];
        if (fits(entry, keys, npositional, nkeys, kwnames)) {
            if (i > 0) {
                self->entries[i] = self->entries[i - 1];
                self->entries[i - 1] = entry;
            }
            return entry->target;
        }
    }
    return NULL;
}

static void
free_entry(dispatch_entry *entry)
{
    if (entry != NULL) {
        PyObject *target = entry->target, *kwnames = entry->kwnames;
        PyMem_Free(entry);
        Py_XDECREF(kwnames);
        Py_XDECREF(target);
    }
}

/* Adds target to the list. Returns 0, or -1 with MemoryError set. */
static int
keep(dispatch_object *self, PyObject *target, const unsigned char *keys, Py_ssize_t npositional,
     Py_ssize_t nkeys, PyObject *kwnames)
{
    dispatch_entry *dropped = NULL;
    dispatch_entry *entry = cwj_allocate(1, sizeof(*entry));
    if (entry == NULL) {
        return -1;
    }
    *entry = (dispatch_entry){Py_NewRef(target), Py_XNewRef(kwnames), npositional, nkeys, {0}};
    memcpy(entry->keys, keys, (size_t)nkeys);
    if (self->nentries == MOST_ENTRIES) {
        dropped = self->entries[self->oldest];
        self->entries[self->oldest] = entry;
        self->oldest = (self->oldest + 1) % MOST_ENTRIES;
    } else if (cwj_reserve(&self->entries, self->nentries, &self->capacity,
                           sizeof(*self->entries)) == 0) {
        self->entries[self->nentries++] = entry;
    } else {
        free_entry(entry);
        return -1;
    }
    free_entry(dropped); /* may run Python code, so it comes last */
    return 0;
}

/* Frees all entries. Python code that runs meanwhile sees an empty list. */
static void
drop_entries(dispatch_object *self)
{
    dispatch_entry **entries = self->entries;
    int nentries = self->nentries;
    self->entries = NULL;
    self->nentries = self->capacity = self->oldest = 0;
    for (int i = 0; i < nentries; i++) {
        free_entry(entries[i]);
    }
    PyMem_Free(entries);
}

/* ---- calls -------------------------------------------------------------- */

static PyObject *
call_resolve(dispatch_object *self, PyObject *args, PyObject *kwargs)
{
    PyObject *resolve = PyObject_GetAttrString((PyObject *)self, "resolve");
    PyObject *target =
        resolve == NULL ? NULL : PyObject_CallFunctionObjArgs(resolve, args, kwargs, NULL);
    Py_XDECREF(resolve);
    if (target != NULL && !PyCallable_Check(target)) {
        PyErr_Format(PyExc_TypeError, "resolve() must return a callable, not %s",
                     Py_TYPE(target)->tp_name);
        Py_CLEAR(target);
    }
    return target;
}

/* Asks resolve() for the callable of these arguments: a new reference. */
static PyObject *
ask(dispatch_object *self, PyObject *const *args, Py_ssize_t npositional, PyObject *kwnames)
{
    PyObject *target = NULL, *kwargs = PyDict_New(), *positional = PyTuple_New(npositional);
    if (positional == NULL || kwargs == NULL) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < npositional; i++) {
        PyTuple_SET_ITEM(positional, i, Py_NewRef(args[i]));
    }
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++) {
        if (PyDict_SetItem(kwargs, PyTuple_GET_ITEM(kwnames, i), args[npositional + i]) < 0) {
            goto done;
        }
    }
    target = call_resolve(self, positional, kwargs);
done:
    Py_XDECREF(positional);
    Py_XDECREF(kwargs);
    return target;
}

/* Resolves a call and keeps the callable: a new reference. */
static __attribute__((noinline)) PyObject *
make_target(dispatch_object *self, const unsigned char *keys, Py_ssize_t nkeys,
            PyObject *const *args, Py_ssize_t npositional, PyObject *kwnames)
{
    Py_INCREF(self); /* resolve() may drop the caller's last reference */
    PyObject *target = ask(self, args, npositional, kwnames);
    PyObject *kept =
        target == NULL || nkeys < 0 ? NULL : find_target(self, keys, npositional, nkeys, kwnames);
    if (kept != NULL) { /* resolve() or another thread made the same call meanwhile */
        Py_SETREF(target, Py_NewRef(kept));
    } else if (target != NULL && nkeys >= 0 &&
               keep(self, target, keys, npositional, nkeys, kwnames) < 0) {
        Py_CLEAR(target);
    }
    Py_DECREF(self);
    return target;
}

static inline PyObject *call_target(dispatch_object *self, PyObject *const *args, size_t nargsf,
                                    PyObject *kwnames);

/* True if argument i becomes an array when it is a list. */
static int
takes_lists(const dispatch_object *self, Py_ssize_t i, Py_ssize_t npositional, PyObject *kwnames)
{
    if (i < npositional) {
        return i < MOST_ARGUMENTS && self->lists >> i & 1;
    }
    PyObject *name = PyTuple_GET_ITEM(kwnames, i - npositional), *words = self->list_words;
    for (Py_ssize_t k = 0; words != NULL && k < PyTuple_GET_SIZE(words); k++) {
        PyObject *word = PyTuple_GET_ITEM(words, k);
        if (word == name || (PyUnicode_Check(word) && PyUnicode_Compare(word, name) == 0)) {
            return 1;
        }
    }
    return 0;
}

static int
is_list(const dispatch_object *self, PyObject *const *args, Py_ssize_t i, Py_ssize_t npositional,
        PyObject *kwnames)
{
    return (PyList_CheckExact(args[i]) || PyTuple_CheckExact(args[i])) &&
           takes_lists(self, i, npositional, kwnames);
}

static int
has_lists(const dispatch_object *self, PyObject *const *args, Py_ssize_t npositional,
          Py_ssize_t nargs, PyObject *kwnames)
{
    int found = 0;
    for (Py_ssize_t i = 0; i < nargs; i++) {
        found |= is_list(self, args, i, npositional, kwnames);
    }
    return found;
}

/* Calls with arrays in place of lists. Sets *refused, without an exception, if a list makes no array: resolve() then
 * words the error. */
static __attribute__((noinline)) PyObject *
call_with_arrays(dispatch_object *self, PyObject *const *args, Py_ssize_t npositional,
                 Py_ssize_t nargs, PyObject *kwnames, int *refused)
{
    PyObject *taken[MOST_ARGUMENTS] = {NULL}, *result = NULL;
    Py_ssize_t ntaken = 0;
    for (; ntaken < nargs; ntaken++) {
        PyObject *given = args[ntaken];
        int is_one = is_list(self, args, ntaken, npositional, kwnames);
        taken[ntaken] = is_one ? PyArray_FROM_O(given) : Py_NewRef(given);
        if (taken[ntaken] == NULL) {
            *refused = cwj_clear_expected(PyExc_TypeError, PyExc_ValueError, NULL);
            goto done;
        }
    }
    result = call_target(self, taken, (size_t)npositional, kwnames);
done:
    while (ntaken > 0) {
        Py_DECREF(taken[--ntaken]);
    }
    return result;
}

static inline PyObject *
call_target(dispatch_object *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    unsigned char keys[2 * MOST_ARGUMENTS];
    Py_ssize_t npositional = PyVectorcall_NARGS(nargsf);
    Py_ssize_t nargs = npositional + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    Py_ssize_t nkeys = read_keys(keys, self->ranks, args, npositional, nargs);
    if (nkeys < 0 && nargs <= MOST_ARGUMENTS &&
        has_lists(self, args, npositional, nargs, kwnames)) {
        int refused = 0;
        PyObject *result = call_with_arrays(self, args, npositional, nargs, kwnames, &refused);
        if (!refused) {
            return result;
        }
    }
    PyObject *target = nkeys < 0 ? NULL : find_target(self, keys, npositional, nkeys, kwnames);
    target = target != NULL ? Py_NewRef(target)
                            : make_target(self, keys, nkeys, args, npositional, kwnames);
    if (target == NULL) {
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(target, args, nargsf, kwnames);
    Py_DECREF(target);
    return result;
}

/* The number of running calls on all threads; the GIL guards it. */
static int running_calls;

/* The callable or resolve() may call this Dispatch again without running Python code, so nested calls count the
 * recursion depth. A call that is not nested saves the time for that. */
static PyObject *
dispatch_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *result = NULL;
    int may_be_nested = running_calls > 0;
    if (may_be_nested && Py_EnterRecursiveCall(" in a Dispatch")) {
        return NULL;
    }
    running_calls++;
    result = call_target((dispatch_object *)op, args, nargsf, kwnames);
    running_calls--;
    if (may_be_nested) {
        Py_LeaveRecursiveCall();
    }
    return result;
}

/* ---- attributes --------------------------------------------------------- */

static PyObject *
get_combinations(PyObject *op, void *Py_UNUSED(closure))
{
    dispatch_object *self = (dispatch_object *)op;
    int count = self->nentries;
    PyObject *targets = PyTuple_New(count);
    for (int i = 0; i < count && targets != NULL; i++) {
        if (i >= self->nentries) { /* the garbage collector ran Python code */
            Py_CLEAR(targets);
            PyErr_SetString(PyExc_RuntimeError, "the list changed meanwhile");
            break;
        }
        PyTuple_SET_ITEM(targets, i, Py_NewRef(self->entries[i]->target));
    }
    return targets;
}

static PyObject *
dispatch_forget(PyObject *op, PyObject *Py_UNUSED(unused))
{
    drop_entries((dispatch_object *)op);
    Py_RETURN_NONE;
}

PyObject *
cwj_inherit_vectorcall(PyObject *cls, PyObject *Py_UNUSED(args))
{
    PyTypeObject *type = (PyTypeObject *)cls;
    if (type->tp_call == PyVectorcall_Call && type->tp_vectorcall_offset > 0) {
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    }
    Py_RETURN_NONE;
}

static PyGetSetDef dispatch_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {"combinations", get_combinations, NULL,
     "What resolve() returned and is kept, the usual ones first: a tuple.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef dispatch_methods[] = {
    {"forget", dispatch_forget, METH_NOARGS,
     "forget($self, /)\n--\n\nLet go of all that resolve() returned: later calls ask again."},
    {"__init_subclass__", (PyCFunction)(void (*)(void))cwj_inherit_vectorcall,
     METH_CLASS | METH_NOARGS, NULL},
    {"__reduce__", cwj_refuse_pickle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* ---- the type ----------------------------------------------------------- */

static PyObject *
dispatch_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    dispatch_object *self = (dispatch_object *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = dispatch_call;
    }
    return (PyObject *)self;
}

/* Reads the positions in an option (NULL: none) as bits. If names of keywords are allowed, too, words is not NULL, and
 * *words becomes a tuple of all items, a new reference. Returns 0, or -1 with an exception set. */
static int
read_positions(PyObject *positions, const char *option, uint32_t *bits, PyObject **words)
{
    PyObject *tuple = positions == NULL ? PyTuple_New(0) : PySequence_Tuple(positions);
    *bits = 0;
    for (Py_ssize_t i = 0; tuple != NULL && i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        if (words != NULL && PyUnicode_Check(item)) {
            continue;
        }
        Py_ssize_t at = PyNumber_AsSsize_t(item, PyExc_ValueError);
        if (at < 0 || at >= MOST_ARGUMENTS) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_ValueError, "Dispatch(): %s: %zd is no position", option, at);
            }
            Py_CLEAR(tuple);
        } else {
            *bits |= (uint32_t)1 << at;
        }
    }
    int status = tuple == NULL ? -1 : 0;
    if (words != NULL) {
        *words = tuple;
    } else {
        Py_XDECREF(tuple);
    }
    return status;
}

static int
dispatch_init(PyObject *op, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"ranks", "lists", NULL};
    dispatch_object *self = (dispatch_object *)op;
    PyObject *with_ranks = NULL, *with_lists = NULL, *words = NULL;
    uint32_t ranks, lists;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OO:Dispatch", names, &with_ranks,
                                     &with_lists) ||
        read_positions(with_ranks, "ranks", &ranks, NULL) < 0 ||
        read_positions(with_lists, "lists", &lists, &words) < 0) {
        return -1;
    }
    drop_entries(self); /* a second __init__() */
    self->ranks = ranks;
    self->lists = lists;
    Py_XSETREF(self->list_words, words);
    return 0;
}

static int
dispatch_traverse(PyObject *op, visitproc visit, void *arg)
{
    dispatch_object *self = (dispatch_object *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->list_words);
    Py_VISIT(self->dict);
    for (int i = 0; i < self->nentries; i++) {
        Py_VISIT(self->entries[i]->target);
    }
    return 0;
}

static int
dispatch_clear(PyObject *op)
{
    dispatch_object *self = (dispatch_object *)op;
    drop_entries(self);
    Py_CLEAR(self->list_words);
    Py_CLEAR(self->dict);
    return 0;
}

static void
dispatch_dealloc(PyObject *op)
{
    PyObject_GC_UnTrack(op);
    Py_TRASHCAN_BEGIN(op, dispatch_dealloc); /* a chain of them may be long */
    PyObject_ClearWeakRefs(op);
    dispatch_clear(op);
    cwj_object_free(op);
    Py_TRASHCAN_END;
}

static PyMemberDef dispatch_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(dispatch_object, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(dispatch_object, weakrefs), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(dispatch_object, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(
    dispatch_doc,
    "Dispatch(*, ranks=(), lists=())\n--\n\n"
    "One callable for many. The types of a call's arguments say which one is called, with the\n"
    "call's own arguments. resolve(args, kwargs), a method of each subclass, makes\n"
    "it when types come for the first time: arrays of a numeric dtype, NumPy's scalars of one,\n"
    "Python's bool, int, float and complex, None. With any other argument it is asked each time.\n"
    "Of positional arguments whose numbers are in ranks, and of keywords then, the number of dims\n"
    "and whether an array is C-contiguous are part of the type. Lists and tuples at the\n"
    "positions in lists, and keywords whose names are there, become arrays first; those that make\n"
    "none are for resolve to refuse.");

static PyType_Slot dispatch_slots[] = {
    {Py_tp_new, dispatch_new},
    {Py_tp_init, dispatch_init},
    {Py_tp_dealloc, dispatch_dealloc},
    {Py_tp_traverse, dispatch_traverse},
    {Py_tp_clear, dispatch_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getset, dispatch_getset},
    {Py_tp_members, dispatch_members},
    {Py_tp_methods, dispatch_methods},
    {Py_tp_doc, (void *)dispatch_doc},
    {0, NULL},
};

static CWJ_TYPE(dispatch_spec, "cwrapjit._cwrapjit.Dispatch", dispatch_object, dispatch_slots,
                Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_BASETYPE);

static int
find_scalar_types(void)
{
    for (int t = 0; t <= NPY_HALF; t++) {
        if (is_numeric(t)) {
            PyObject *type = PyArray_TypeObjectFromType(t);
            if (type == NULL) {
                return -1;
            }
            scalar_types[t] = (PyTypeObject *)type;
            Py_DECREF(type);
        }
    }
    return 0;
}

int
cwj_add_kernel_types(PyObject *extension)
{
    if (find_scalar_types() < 0) {
        return -1;
    }
    if (cwj_add_type(extension, &dispatch_spec, NULL) < 0 ||
        cwj_add_type(extension, &cwj_shape_dispatch_spec, NULL) < 0) {
        return -1;
    }
    return cwj_add_type(extension, &cwj_adapted_spec, NULL);
}
