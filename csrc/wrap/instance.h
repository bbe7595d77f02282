/* instance.h: objects that stand for a C pointer: structs, and handles of opaque types. */
#ifndef CWJ_WRAP_INSTANCE_H
#define CWJ_WRAP_INSTANCE_H

#include "../state.h"

/* What the instances of a class have in common: the C type. Immutable. Two libraries
 * that declare the same type have equal layouts, and take each other's instances. */
typedef struct cwj_layout {
    PyObject_HEAD PyObject *name; /* owned str: C's name of the type, "struct point" */
    PyObject *fields; /* owned str: all that layouts must agree in */
    size_t size; /* 0: opaque; only C makes objects of it */
    size_t alignment;
    void (*free)(void *); /* ends an object that Python owns; NULL: there is nothing to do */
    PyObject *owner; /* keeps the code behind `free` in memory */
    PyObject *cls; /* owned: the class it was made for, once that is known */
    bool needs_init; /* memory of Python's is no object before its initialiser ran */
} cwj_layout;

typedef enum cwj_instance_stage {
    CWJ_INSTANCE_NEW, /* memory of zeros, its initialiser did not run yet */
    CWJ_INSTANCE_BEGUN, /* the initialiser runs */
    CWJ_INSTANCE_READY,
    CWJ_INSTANCE_CLOSED
} cwj_instance_stage;

typedef struct cwj_instance {
    PyObject_HEAD cwj_layout *layout; /* owned */
    void *pointer; /* what C gets; NULL: nothing there */
    void *memory; /* owned: where Python made room for it, or NULL */
    bool owned; /* layout->free is to be called, once */
    bool seen; /* arrays or other instances may look into it: no early end */
    Py_ssize_t uses; /* calls that have the pointer now */
    cwj_instance_stage stage;
    PyObject *base; /* kept alive: the object that this one lies in; NULL */
    PyObject *references; /* list: all that C may point to from there; NULL */
    PyObject *weakrefs;
} cwj_instance;

/* The layout of a class that struct() or handle() made: a new reference, or NULL with
 * TypeError set. */
cwj_layout *cwj_layout_of(PyObject *cls);

/* Where the instance's C object is: *pointer. Returns 1; 0 when object is no instance of
 * cls (no exception set); -1 with ValueError set (freed already, never initialised). A
 * PyCapsule that has the type's name is taken, too. */
int cwj_instance_pointer(PyObject *cls, PyObject *object, void **pointer);

/* While C runs without the GIL on what cwj_instance_pointer() gave, nobody may free it:
 * between these two close() refuses. Anything may be given. */
void cwj_instance_hold(PyObject *object);
void cwj_instance_release(PyObject *object);

/* A new instance around a pointer that is not NULL. owned: the class' free function ends
 * it, once (also when this fails). bases: a tuple of objects that it keeps alive, its
 * referenced_objects, or NULL. */
PyObject *cwj_instance_around(PyObject *cls, void *pointer, int owned, PyObject *bases);

/* The same for an object that lies inside another: base is kept alive. */
PyObject *cwj_instance_inside(PyObject *cls, void *pointer, PyObject *base);

/* A new instance with zeroed memory of its own: *memory, for a struct by value. */
PyObject *cwj_instance_empty(PyObject *cls, void **memory);

/* C may point to `object` from now on: it lives as long as the instance. Returns 0, or -1.
 * What is no instance (a capsule) is left alone. */
int cwj_instance_keep(PyObject *instance, PyObject *object);

/* Says that something else looks into the instance from now on. Anything may be given. */
void cwj_instance_mark_seen(PyObject *object);

int cwj_is_instance(PyObject *object);

#endif
