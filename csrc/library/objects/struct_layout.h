/* struct_layout.h: type Layout: what a class says about its C type. */
#pragma once

#include "library/tables/slots.h"

/* What the instances of a class have in common: the C type. Two libraries that declare the same type
 * have equal layouts, and take each other's instances. What one says may grow: see exchange(). */
typedef struct cwj_struct_layout {
    PyObject_HEAD
    PyObject *cls; /* owned: the class it was made for, once that is known */
    /* What is said of the type, in exchange() as a whole. */
    PyObject *name; /* owned str: C's name of the type, "struct point" */
    PyObject *fields; /* owned str: all that layouts must agree in */
    size_t size; /* 0: opaque; only C makes objects of it */
    size_t alignment;
    void (*free)(void *); /* ends an object that Python owns; NULL: there is nothing to do */
    cwj_end *end; /* calls it, where it takes more than the object: see bound.h */
    int nbound; /* values that `end` wants */
    PyObject *free_name; /* owned, interned str: C's name of it, or "" */
    PyObject *owner; /* keeps the code behind `free` in memory */
    bool needs_init; /* memory of Python's is no object before its initialiser ran */
    bool has_pointers; /* a copy of it points to what the original points to */
    bool automatic; /* nobody has described the type: what is declared of it is all that is known */
} cwj_struct_layout;

/* The layout of a class that struct() or handle() made: a new reference, or NULL with
 * TypeError set. */
cwj_struct_layout *cwj_layout_of(PyObject *cls);

/* Ends an object that Python owns. bound: nbound values; NULL for some that are needed: it is left alone. */
void cwj_layout_end(const cwj_struct_layout *self, void *pointer, const cwj_slot *bound);
int cwj_is_layout(PyObject *object);
/* True when both are the same C type: one of them may not know its members. */
int cwj_layouts_agree(const cwj_struct_layout *a, const cwj_struct_layout *b);
/* is_instance.c */
int cwj_instance_traverse(PyObject *op, visitproc visit, void *arg);
/* True for cwrapjit.Instance and the types derived from it. A type that Python code made has a tp_traverse of
 * Python's own, its bases do not. */
static inline bool
cwj_is_instance_type(const PyTypeObject *type)
{
    while (type != NULL && type->tp_traverse != cwj_instance_traverse) {
        type = type->tp_base;
    }
    return type != NULL;
}

extern PyType_Spec cwj_layout_spec;
