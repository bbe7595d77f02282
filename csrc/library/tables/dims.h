/* dims.h: dims of arrays as expressions over symbols. */
#ifndef CWJ_LIBRARY_TABLES_DIMS_H
#define CWJ_LIBRARY_TABLES_DIMS_H

#include "base/state.h"

typedef enum cwj_operator {
    CWJ_NUMBER,
    CWJ_SYMBOL,
    CWJ_ADD,
    CWJ_SUBTRACT,
    CWJ_MULTIPLY,
    CWJ_DIVIDE,
    CWJ_REMAINDER
} cwj_operator;

typedef struct cwj_operation {
    cwj_operator op;
    npy_int64 value; /* the number, or the symbol's index */
} cwj_operation;

enum {
    CWJ_MAX_DEPTH = 32
};

typedef struct cwj_dim {
    cwj_operation *operations; /* owned */
    int count; /* 0: anything */
} cwj_dim;

/* The symbol that the dim is, or -1. */
static inline int
cwj_dim_symbol(const cwj_dim *dim)
{
    return dim->count == 1 && dim->operations[0].op == CWJ_SYMBOL ? (int)dim->operations[0].value
                                                                  : -1;
}

/* Symbols that are not there yet are appended to the list. Return -1 with an exception set. */
int cwj_symbol_index(PyObject *symbols, PyObject *name);
int cwj_dim_read(cwj_dim *dim, PyObject *given, PyObject *symbols, const char *who);
void cwj_dim_clear(cwj_dim *dim);

#endif
