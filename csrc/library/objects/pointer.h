/* pointer.h: type cwrapjit.Pointer, an address that C gets unchanged. */
#pragma once

#include "base/state.h"

/* Immutable. base keeps the memory alive; how much there is, is known only if base is an array. */
typedef struct cwj_pointer {
    PyObject_HEAD
    void *address; /* not NULL */
    PyObject *item; /* owned str: a dtype's name, C's name of another type, or "" for void */
    PyObject *base; /* owned: the object that has the memory; NULL: C, as far as is known */
    bool readonly;
    PyObject *function; /* owned: the converter for the function at the address; NULL: it is data */
} cwj_pointer;

/* Returns a new Pointer, or NULL with an exception set. type: cwrapjit.Pointer; item: a str; base: may be NULL. */
PyObject *cwj_pointer_around(PyTypeObject *type, void *address, PyObject *item, bool readonly,
                             PyObject *base);
/* Returns the Python object for the C function at an address: a new reference. converter: of the function's type, see
 * cwrapjit.library.callbacks; base: may be NULL. */
PyObject *cwj_function_at(PyObject *converter, const void *address, PyObject *base);
bool cwj_is_pointer(PyObject *object);
/* True for a tuple (object, Pointer to it), which members keep. */
bool cwj_is_given(PyObject *object);
/* True if C takes a pointer to `given` for one to `wanted`: the types are equal, both are bytes, or one is void. */
bool cwj_items_agree(PyObject *given, PyObject *wanted);

/* pointer_items.c: false if an instance that has the memory was closed. */
bool cwj_pointer_is_there(PyObject *base);
/* These implement p[i], p[:n], p[i] = value and p.array(shape, dtype). */
PyObject *cwj_pointer_subscript(PyObject *op, PyObject *index);
int cwj_pointer_assign(PyObject *op, PyObject *index, PyObject *value);
PyObject *cwj_pointer_array(PyObject *op, PyObject *args);

extern PyType_Spec cwj_pointer_spec;
extern PyMethodDef cwj_pointer_functions[];
