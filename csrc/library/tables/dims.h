/* dims.h: computes dims of arrays, which are expressions over symbols. */
#pragma once

#include "library/tables/slots.h"

#include "base/arithmetic.h"

enum {
    CWJ_MAX_DEPTH = 32, /* of the stack; equals _MAX_DEPTH in expressions.py */
    CWJ_MOST_OPERANDS = 6 /* integers that x86-64 passes in registers */
};

typedef struct cwj_dim {
    cwj_dim_step *steps; /* owned */
    int count; /* 0: any length */
    PyObject *given; /* owned tuple: the source of the steps, or NULL */
} cwj_dim;

/* A symbol whose value a C function returns or a member of a struct holds: "size(v)", "v->size". */
typedef struct cwj_size {
    int symbol;
    const cwj_library_type *type; /* an integer type */
    void *function; /* takes integers and pointers; NULL: a member */
    npy_intp offset; /* of the member */
    int count; /* of operands; 1 for a member */
    int parameters[CWJ_MOST_OPERANDS]; /* each passes its pointer; -1: an integer */
    cwj_dim values[CWJ_MOST_OPERANDS]; /* owned: the integers' values */
    const cwj_library_type *types[CWJ_MOST_OPERANDS]; /* the integers' types */
} cwj_size;

/* Returns the symbol if the dim is nothing else, or -1. */
static inline int
cwj_dim_symbol(const cwj_dim *dim)
{
    return dim->count == 1 && dim->steps[0].op == CWJ_DIM_SYMBOL ? (int)dim->steps[0].value : -1;
}

/* Both append new symbols to the list `symbols`, and return -1 with an exception set on failure. */
int cwj_symbol_index(PyObject *symbols, PyObject *name);
int cwj_dim_read(cwj_dim *dim, PyObject *given, PyObject *symbols, const char *who);
void cwj_dim_clear(cwj_dim *dim);
/* Reads the dims of an array from a sequence. The caller frees *dims, also after a failure. */
int cwj_dims_read(cwj_dim **dims, int *ndim, PyObject *given, PyObject *symbols, const char *who);
void cwj_dims_clear(cwj_dim *dims, int ndim);
/* Returns false if there is no value: a division by zero, or a number that is too large. */
bool cwj_dim_evaluate(const cwj_dim *dim, const npy_int64 *symbols, npy_int64 *value);
/* given: the attributes of a Size in description.py; most: the number of parameters. Returns 0, or -1 as above. */
int cwj_size_read(cwj_size *size, PyObject *given, PyObject *symbols, int most, const char *who);
void cwj_size_clear(cwj_size *size);
