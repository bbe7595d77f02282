/* dims.h: dims of arrays as expressions over symbols. */
#pragma once

#include "library/tables/slots.h"

#include "base/arithmetic.h"

enum {
    CWJ_MAX_DEPTH = 32, /* of the stack: _MAX_DEPTH in expressions.py */
    CWJ_MOST_OPERANDS = 6 /* what goes in registers */
};

typedef struct cwj_dim {
    cwj_dim_step *steps; /* owned */
    int count; /* 0: anything */
    PyObject *given; /* owned tuple: what they were made of; NULL as long as there are none */
} cwj_dim;

/* The value of a symbol that a C function returns, or a member of a struct: "size(v)", "v->size". */
typedef struct cwj_size {
    int symbol;
    const cwj_library_type *type; /* of an integer */
    void *function; /* of integers and pointers; NULL: a member */
    npy_intp offset; /* of the member */
    int count; /* of operands; 1 for a member */
    int parameters[CWJ_MOST_OPERANDS]; /* whose pointer it is; -1: an integer */
    cwj_dim values[CWJ_MOST_OPERANDS]; /* owned: the integers */
    const cwj_library_type *types[CWJ_MOST_OPERANDS]; /* theirs */
} cwj_size;

/* The symbol that the dim is, or -1. */
static inline int
cwj_dim_symbol(const cwj_dim *dim)
{
    return dim->count == 1 && dim->steps[0].op == CWJ_DIM_SYMBOL ? (int)dim->steps[0].value : -1;
}

/* Symbols that are not there yet are appended to the list. Return -1 with an exception set. */
int cwj_symbol_index(PyObject *symbols, PyObject *name);
int cwj_dim_read(cwj_dim *dim, PyObject *given, PyObject *symbols, const char *who);
void cwj_dim_clear(cwj_dim *dim);
/* The dims of an array, a sequence; *dims are owned, also where it fails. */
int cwj_dims_read(cwj_dim **dims, int *ndim, PyObject *given, PyObject *symbols, const char *who);
void cwj_dims_clear(cwj_dim *dims, int ndim);
/* False where there is no value: a division by zero, a number too large. */
bool cwj_dim_evaluate(const cwj_dim *dim, const npy_int64 *symbols, npy_int64 *value);
/* given: the attributes of a Size in description.py; most: the number of parameters. */
int cwj_size_read(cwj_size *size, PyObject *given, PyObject *symbols, int most, const char *who);
void cwj_size_clear(cwj_size *size);
