/* struct_layout.h: type Layout, which describes the C type of a class. */
#pragma once

#include "library/tables/slots.h"

/* The C type of a class' instances. Two libraries that declare the same type have equal layouts, and take each other's
 * instances. exchange() changes the description when more becomes known. */
typedef struct cwj_struct_layout {
    PyObject_HEAD
    PyObject *cls; /* owned: the class that it was made for, or NULL before that is known */
    /* exchange() swaps all members from here on. */
    PyObject *name; /* owned str: C's name of the type, "struct point" */
    PyObject *fields; /* owned str: the members; the same in layouts that agree */
    size_t size; /* 0: opaque; only C makes objects of it */
    size_t alignment;
    void (*free)(void *); /* ends an object that Python owns; NULL: not needed */
    cwj_end *end; /* calls `free` with more values (see bound.h), or NULL */
    int nbound; /* number of these values */
    PyObject *free_name; /* owned, interned str: C's name of `free`, or "" */
    PyObject *owner; /* owned: keeps the code of `free` in memory */
    bool needs_init; /* memory from Python is no object before the initialiser has run */
    bool has_pointers; /* a copy points to the same memory as the original */
    bool automatic; /* struct() and handle() have not described it; only declarations have */
    PyArray_Descr *descr; /* owned: NumPy's dtype of it, or NULL if a member has none */
    bool readonly; /* a member is const, so NumPy's views of it are read-only */
} cwj_struct_layout;

/* Returns the layout of a class that struct() or handle() made: a new reference, or NULL with TypeError set. */
cwj_struct_layout *cwj_layout_of(PyObject *cls);

/* Ends an object that Python owns. bound: nbound values; if they are needed but NULL, does nothing. */
void cwj_layout_end(const cwj_struct_layout *self, void *pointer, const cwj_slot *bound);
int cwj_is_layout(PyObject *object);
/* True if both describe the same C type. An opaque one agrees with every layout of its name. */
int cwj_layouts_agree(const cwj_struct_layout *a, const cwj_struct_layout *b);
/* is_instance.c */
int cwj_instance_traverse(PyObject *op, visitproc visit, void *arg);
/* True for cwrapjit.Instance and the types derived from it. A class defined in Python has Python's own tp_traverse, so
 * its bases are searched for ours. */
static inline bool
cwj_is_instance_type(const PyTypeObject *type)
{
    while (type != NULL && type->tp_traverse != cwj_instance_traverse) {
        type = type->tp_base;
    }
    return type != NULL;
}

extern PyType_Spec cwj_layout_spec;
