/* dims.h: dims of arrays as expressions over symbols. */
#ifndef CWJ_LIBRARY_TABLES_DIMS_H
#define CWJ_LIBRARY_TABLES_DIMS_H

#include "library/tables/slots.h"

/* How they are written (see description.py), and how many operands they take. */
#define CWJ_OPERATORS(OPERATOR)   \
    OPERATOR(NUMBER, "", 0)       \
    OPERATOR(SYMBOL, "", 0)       \
    OPERATOR(ADD, "+", 2)         \
    OPERATOR(SUBTRACT, "-", 2)    \
    OPERATOR(MULTIPLY, "*", 2)    \
    OPERATOR(DIVIDE, "/", 2)      \
    OPERATOR(REMAINDER, "%", 2)   \
    OPERATOR(MINIMUM, "<?", 2)    \
    OPERATOR(MAXIMUM, ">?", 2)    \
    OPERATOR(LESS, "<", 2)        \
    OPERATOR(LESS_EQUAL, "<=", 2) \
    OPERATOR(MORE, ">", 2)        \
    OPERATOR(MORE_EQUAL, ">=", 2) \
    OPERATOR(EQUAL, "==", 2)      \
    OPERATOR(UNEQUAL, "!=", 2)    \
    OPERATOR(AND, "&&", 2)        \
    OPERATOR(OR, "||", 2)         \
    OPERATOR(NOT, "!", 1)         \
    OPERATOR(CHOOSE, "?:", 3)

#define CWJ_OPERATOR_ENUM(name, word, operands) CWJ_##name,
typedef enum cwj_operator {
    CWJ_OPERATORS(CWJ_OPERATOR_ENUM)
} cwj_operator;

typedef struct cwj_operation {
    cwj_operator op;
    npy_int64 value; /* the number, or the symbol's index */
} cwj_operation;

enum {
    CWJ_MAX_DEPTH = 32,
    CWJ_MOST_OPERANDS = 6 /* what goes in registers */
};

typedef struct cwj_dim {
    cwj_operation *operations; /* owned */
    int count; /* 0: anything */
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
    return dim->count == 1 && dim->operations[0].op == CWJ_SYMBOL ? (int)dim->operations[0].value
                                                                  : -1;
}

const char *cwj_operator_word(cwj_operator op);
int cwj_operator_operands(cwj_operator op);

/* Symbols that are not there yet are appended to the list. Return -1 with an exception set. */
int cwj_symbol_index(PyObject *symbols, PyObject *name);
int cwj_dim_read(cwj_dim *dim, PyObject *given, PyObject *symbols, const char *who);
void cwj_dim_clear(cwj_dim *dim);
/* dim_value.c: false where there is no value: a division by zero, a number too large. */
bool cwj_dim_value(const cwj_dim *dim, const npy_int64 *symbols, npy_int64 *value);
/* given: the attributes of a Size in description.py; most: the number of parameters. */
int cwj_size_read(cwj_size *size, PyObject *given, PyObject *symbols, int most, const char *who);
void cwj_size_clear(cwj_size *size);

#endif
