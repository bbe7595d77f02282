/* field.h: a member of a struct, as fields.c uses it and field_new.c makes it. */
#ifndef CWJ_WRAP_FIELD_H
#define CWJ_WRAP_FIELD_H

#include "parts.h"
#include "wrap.h"

typedef enum field_kind {
    SCALAR,  /* a number */
    ARRAY,   /* numbers or structs inside the struct */
    BUFFER,  /* char[n]: text up to a NUL */
    STRING,  /* const char *: read only */
    DATA,    /* a pointer to items whose number other members say */
    INSIDE,  /* a struct inside the struct */
    POINTER, /* a pointer to a struct or an opaque type */
    REFUSED  /* no way to Python; `reason` says why */
} field_kind;

/* A dim: a number, or the integer member at `offset`. */
typedef struct field_dim {
    const cwj_type *type; /* NULL: a number */
    npy_intp value;
} field_dim;

typedef struct field_object {
    PyObject_HEAD cwj_layout *layout; /* owned */
    PyObject *name;     /* owned str */
    PyObject *reason;   /* owned str: the docstring, or why the member has no way to Python */
    field_kind kind;
    size_t offset;
    const cwj_type *type; /* of a scalar */
    PyArray_Descr *descr; /* owned: of an array's items, or NULL */
    PyObject *cls;        /* owned: the class of what lies there, or NULL */
    bool readonly;        /* const */
    int nd;
    field_dim dims[NPY_MAXDIMS];
} field_object;

/* Field(layout, name, offset, kind, dtype=None, dims=(), of=None, readonly=False, reason='').
 * Refuses what would lie outside of the struct. */
PyObject *cwj_field_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);

#endif
