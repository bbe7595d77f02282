/* instance.h: objects that stand for a C pointer: structs, and handles of opaque types. */
#pragma once

#include "library/objects/bound.h"
#include "library/objects/struct_layout.h"

typedef enum cwj_instance_stage {
    CWJ_INSTANCE_NEW, /* memory of zeros, its initialiser did not run yet */
    CWJ_INSTANCE_BEGUN, /* the initialiser runs */
    CWJ_INSTANCE_READY,
    CWJ_INSTANCE_CLOSED
} cwj_instance_stage;

typedef struct cwj_range {
    char *low, *high; /* high: one past the last byte */
} cwj_range;

typedef struct cwj_instance {
    PyObject_HEAD
    cwj_struct_layout *layout; /* owned */
    void *pointer; /* what C gets; NULL: nothing there */
    void *address; /* what pointer was first: the hash */
    void *memory; /* owned: where Python made room for it, or NULL */
    bool owned; /* layout->free is to be called, once */
    cwj_bound *bound; /* owned: what that needs besides; NULL: nothing */
    Py_ssize_t binders; /* entries in what others have bound: their end needs this one */
    bool listed; /* range is in the tree of owners.c */
    cwj_range range;
    Py_ssize_t uses; /* calls that have the pointer, or one into it, now */
    Py_ssize_t holders; /* entries in references of others: C may point to it */
    Py_ssize_t copied; /* those of them that are copies of it */
    struct cwj_look *looks; /* owned: see looks.c */
    int nlooks, most_looks;
    cwj_instance_stage stage;
    unsigned long thread; /* the one that runs the initialiser */
    PyObject *base; /* owned: the object that this one lies in, a tuple of such, or NULL */
    bool lies; /* base is an instance, or a tuple that may have some */
    struct cwj_instance *root; /* borrowed: the end of the chain of bases that are instances */
    PyObject *references; /* owned dict: see references.c; NULL: none */
    PyObject *weakrefs;
} cwj_instance;

static inline bool
cwj_is_instance(PyObject *object)
{
    return cwj_is_instance_type(Py_TYPE(object));
}

/* Where the instance's C object is: *pointer. Returns 1; 0 when object is no instance of
 * the wanted type (no exception set); -1 with ValueError set (freed already, never initialised). A
 * PyCapsule that has the type's name is taken, too. */
int cwj_instance_pointer(const cwj_struct_layout *wanted, PyObject *object, void **pointer);
/* Raises ValueError, and returns -1, for an instance that has no C object, or none yet. */
int cwj_instance_check(cwj_instance *self);

/* Other threads could begin to look behind it while C moves what is there. */
static inline bool
cwj_may_be_read(const cwj_instance *self)
{
    return self->stage == CWJ_INSTANCE_READY && self->layout->has_pointers &&
           self->layout->size > 0;
}

/* Counts a call on all that may have the memory behind a root: 1 before it, -1 after it. In between close()
 * refuses, as C works on the memory without the GIL. */
void cwj_bases_use(const cwj_instance *root, Py_ssize_t change);
static inline void
cwj_root_use(cwj_instance *root, Py_ssize_t change)
{
    root->uses += change;
    if (root->lies) {
        cwj_bases_use(root, change);
    }
}
/* The same of what cwj_instance_pointer() gave. Anything may be given. */
static inline void
cwj_instance_use(PyObject *object, Py_ssize_t change)
{
    if (cwj_is_instance(object)) {
        cwj_root_use(((cwj_instance *)object)->root, change);
    }
}

/* A new instance, of the layout's class, around a pointer that is not NULL. owned: the class' free function ends
 * it, once (also when this fails), with what is bound, which is taken over; or NULL. base: kept alive, as it has
 * the memory; a tuple: one of these has; or NULL. */
PyObject *cwj_instance_around(cwj_struct_layout *layout, void *pointer, bool owned,
                              cwj_bound *bound, PyObject *base);

/* The memory that a borrowed instance stands for is no longer there for Python: later uses raise. Returns -1,
 * without exception, when an array looks into it. */
int cwj_instance_forget(cwj_instance *self);

/* Its memory alone, where it has some. */
void cwj_instance_free_memory(cwj_instance *self);

/* A new instance with zeroed memory of its own: *memory, for a struct by value. */
PyObject *cwj_instance_empty(cwj_struct_layout *layout, void **memory);

/* construct.c: initialises args[0], an instance, once, by function(*args), which fills it or, with adopts,
 * function(*args[1:]), which returns another one, whose C object it takes over. Returns None, or NULL
 * with an exception set. nargs: of args, without those that kwnames names. */
PyObject *cwj_construct(PyObject *function, bool adopts, PyObject *const *args, size_t nargs,
                        PyObject *kwnames);

extern PyType_Spec cwj_instance_spec, cwj_initializer_spec;
/* construct.c, variables.c: functions of the extension module, which cwrapjit.library alone calls. */
extern PyMethodDef cwj_instance_functions[], cwj_variable_functions[];
