/* instance.h: declares objects that stand for a C pointer: structs, and handles of opaque types. */
#pragma once

#include "library/objects/bound.h"
#include "library/objects/struct_layout.h"

typedef enum cwj_instance_stage {
    CWJ_INSTANCE_NEW, /* zeroed memory; the initialiser has not run yet */
    CWJ_INSTANCE_BEGUN, /* the initialiser is running */
    CWJ_INSTANCE_READY,
    CWJ_INSTANCE_CLOSED
} cwj_instance_stage;

typedef struct cwj_range {
    char *low, *high; /* high is one past the last byte */
} cwj_range;

typedef struct cwj_instance {
    PyObject_HEAD
    cwj_struct_layout *layout; /* owned */
    void *pointer; /* C gets this; NULL: there is no object */
    void *address; /* the first value of pointer, for the hash */
    void *memory; /* owned: memory that Python allocated, or NULL */
    bool owned; /* Python must call layout->free, once */
    cwj_bound *bound; /* owned: other values that layout->free needs, or NULL */
    Py_ssize_t binders; /* entries in others' bound->owners: they need this one when they end */
    bool listed; /* owners.c has its range */
    cwj_range range;
    Py_ssize_t uses; /* running calls that have the pointer, or one into its memory */
    Py_ssize_t holders; /* entries in others' references: C may point to it */
    Py_ssize_t copied; /* how many of these belong to copies of it */
    struct cwj_look *looks; /* owned: see looks.c */
    int nlooks, most_looks;
    cwj_instance_stage stage;
    unsigned long thread; /* runs the initialiser */
    PyObject *base; /* owned: the object that this one lies in, a tuple of possible ones, or NULL */
    bool lies; /* base is an instance, or a tuple that may contain some */
    struct cwj_instance *root; /* borrowed: the last in the chain of bases that are instances */
    PyObject *references; /* owned dict, or NULL: see references.c */
    PyObject *weakrefs;
} cwj_instance;

static inline bool
cwj_is_instance(PyObject *object)
{
    return cwj_is_instance_type(Py_TYPE(object));
}

/* Sets *pointer to the instance's C object. Also takes a PyCapsule that has the type's name. Returns 1; 0 without an
 * exception if object is not of the wanted type; -1 with ValueError set if the object was freed or never
 * initialised. */
int cwj_instance_pointer(const cwj_struct_layout *wanted, PyObject *object, void **pointer);
/* Returns 0, or -1 with ValueError set if the instance has no C object, or none yet. */
int cwj_instance_check(cwj_instance *self);

/* True if other threads could begin to read memory that its pointers lead to while C moves that memory. */
static inline bool
cwj_may_be_read(const cwj_instance *self)
{
    return self->stage == CWJ_INSTANCE_READY && self->layout->has_pointers &&
           self->layout->size > 0;
}

/* Counts a call on all bases that may have the memory of a root: change is 1 before the call, -1 after it. Meanwhile
 * close() refuses, because C uses the memory without the GIL. */
void cwj_bases_use(const cwj_instance *root, Py_ssize_t change);
static inline void
cwj_root_use(cwj_instance *root, Py_ssize_t change)
{
    root->uses += change;
    if (root->lies) {
        cwj_bases_use(root, change);
    }
}
/* Does the same for an object whose pointer C gets. Accepts any object. */
static inline void
cwj_instance_use(PyObject *object, Py_ssize_t change)
{
    if (cwj_is_instance(object)) {
        cwj_root_use(((cwj_instance *)object)->root, change);
    }
}

/* Returns a new instance of the layout's class for a pointer that is not NULL. owned: the class' free function ends the
 * C object, once, also if this fails. bound: other values that this function needs, stolen, or NULL. base: is kept
 * alive because it, or one of its items if it is a tuple, has the memory; or NULL. */
PyObject *cwj_instance_around(cwj_struct_layout *layout, void *pointer, bool owned,
                              cwj_bound *bound, PyObject *base);

/* Closes a borrowed instance because Python must no longer use its memory: later uses raise. Returns 0, or -1 without
 * an exception if an array looks into the memory. */
int cwj_instance_forget(cwj_instance *self);

/* Frees the memory that Python allocated, if any, and nothing else. */
void cwj_instance_free_memory(cwj_instance *self);

/* Returns a new instance with zeroed memory of its own, *memory, for a struct by value. */
PyObject *cwj_instance_empty(cwj_struct_layout *layout, void **memory);

/* record.c: returns an instance for a value of the struct that is none: around the memory of a record (numpy.void, an
 * array without dims) of its dtype, or a new one with the members of a tuple, whose conversion may run Python code.
 * written: C may write there. Returns a new reference. NULL: with an exception; or with *fault, a new reference to a
 * text of what the object is and why it does not fit; or with neither for all other objects. */
PyObject *cwj_instance_of_record(cwj_struct_layout *layout, PyObject *object, bool written,
                                 PyObject **fault);

/* The tp_descr_get of what becomes a method in a class, as Python's functions do. */
PyObject *cwj_instance_bind(PyObject *op, PyObject *instance, PyObject *type);

extern PyType_Spec cwj_instance_spec, cwj_initializer_spec;
/* initializer.c, variables.c: functions of the extension module that only cwrapjit.library calls. */
extern PyMethodDef cwj_instance_functions[], cwj_variable_functions[];
