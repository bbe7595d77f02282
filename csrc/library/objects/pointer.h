/* pointer.h: type cwrapjit.Pointer: an address that C gets as it is. */
#pragma once

#include "base/state.h"

/* Immutable. What is there, and how much of it, nobody checks; what keeps it alive, `base` does. */
typedef struct cwj_pointer {
    PyObject_HEAD
    void *address; /* not NULL */
    PyObject *item; /* owned str: a dtype's name, C's name of another type, or "" for void */
    PyObject *base; /* owned: what has the memory; NULL: C, as far as is known */
    bool readonly;
    PyObject *function; /* owned: what knows the function that is there; NULL: it is data */
} cwj_pointer;

/* A new one, or NULL with an exception set. type: cwrapjit.Pointer; item: a str; base: may be NULL. */
PyObject *cwj_pointer_around(PyTypeObject *type, void *address, PyObject *item, bool readonly,
                             PyObject *base);
/* What is at an address where a function lies; new reference. converter: of the function's type, as of
 * cwrapjit.library.callbacks; base: may be NULL. */
PyObject *cwj_function_at(PyObject *converter, const void *address, PyObject *base);
bool cwj_is_pointer(PyObject *object);
/* True for (what was given, a Pointer to it), which members keep. */
bool cwj_is_given(PyObject *object);
/* True when C takes a pointer to `given` for one to `wanted`: the same type, bytes of any kind, or one of
 * them is void. */
bool cwj_items_agree(PyObject *given, PyObject *wanted);

/* pointer_items.c: whether what has the memory is there still: an instance may have been closed. */
bool cwj_pointer_is_there(PyObject *base);
/* p[i], p[:n], p[i] = value and p.array(shape, dtype). */
PyObject *cwj_pointer_subscript(PyObject *op, PyObject *index);
int cwj_pointer_assign(PyObject *op, PyObject *index, PyObject *value);
PyObject *cwj_pointer_array(PyObject *op, PyObject *args);

extern PyType_Spec cwj_pointer_spec;
extern PyMethodDef cwj_pointer_functions[];
