/* field.h: a member of a struct, as fields.c uses it and field_new.c makes it. */
#pragma once

#include "library/objects/struct_layout.h"
#include "library/tables/slots.h"

/* The kinds of members, and the words for them; field_new.c reads these. */
#define FIELD_KINDS(KIND)                                                                      \
    KIND(SCALAR, "scalar")   /* a number */                                                    \
    KIND(BITS, "bits")       /* some bits of a number: dims are the first and how many */      \
    KIND(ARRAY, "array")     /* numbers or structs inside the struct */                        \
    KIND(BUFFER, "buffer")   /* char[n]: text up to a NUL */                                   \
    KIND(STRING, "string")   /* char *: a text, or NULL */                                     \
    KIND(LIST,                                                                                 \
         "list") /* a pointer to texts or structs: as many as its dim says, or up to a NULL */ \
    KIND(POINTERS, "pointers") /* such pointers inside the struct */                           \
    KIND(DATA, "data") /* a pointer to items whose number other members say */                 \
    KIND(INSIDE, "inside") /* a struct inside the struct */                                    \
    KIND(POINTER, "pointer") /* a pointer to a struct or an opaque type */                     \
    KIND(ADDRESS, "address") /* a pointer to what nothing says the extent of */                \
    KIND(FUNCTION, "function") /* a pointer to a function: `converter` makes it */             \
    KIND(REFUSED, "refused") /* no way to Python; `reason` says why */

typedef enum field_kind {
#define NAMED(name, word) name,
    FIELD_KINDS(NAMED)
#undef NAMED
} field_kind;
extern const char *const cwj_field_kinds[];

/* A dim: a number, or the integer member at `offset`. */
typedef struct field_dim {
    const cwj_library_type *type; /* NULL: a number */
    npy_intp value;
} field_dim;

typedef struct field_object {
    PyObject_HEAD
    cwj_struct_layout *layout; /* owned */
    PyObject *name; /* owned str */
    PyObject *reason; /* owned str: the docstring, or why the member has no way to Python */
    field_kind kind;
    size_t offset;
    const cwj_library_type *type; /* of a scalar */
    PyArray_Descr *descr; /* owned: of an array's items, or NULL */
    cwj_struct_layout *of; /* owned: of the structs that lie there, or are pointed to; or NULL */
    PyObject *
        converter; /* owned: what makes a function's address; an enum's members by value; or NULL */
    PyObject *item; /* owned str: what an address points to, as of cwj_pointer; the codec of texts,
                             "" for UTF-8, "bytes" for none */
    bool readonly; /* const */
    bool is_const; /* what an address points to is */
    int nd;
    field_dim dims[NPY_MAXDIMS];
} field_object;

/* Field(layout, name, offset, kind, dtype=None, dims=(), of=None, readonly=False, reason='', item='',
 * is_const=False).
 * Refuses what would lie outside of the struct. */
PyObject *cwj_field_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);

extern PyType_Spec cwj_field_spec;
