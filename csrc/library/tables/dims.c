/* dims.c: dims of arrays as expressions over symbols.
 *
 * They are in reverse Polish notation, checked when the function is made: no
 * operand can be missing, and the stack has a known depth. No operation overflows in
 * silence.
 */
#include "library/tables/dims.h"

#include "base/errors.h"

int
cwj_symbol_index(PyObject *symbols, PyObject *name)
{
    int found = PySequence_Contains(symbols, name);
    if (found == 0 && PyList_Append(symbols, name) == 0) {
        return (int)PyList_GET_SIZE(symbols) - 1;
    }
    return found > 0 ? (int)PySequence_Index(symbols, name) : -1;
}

#define WORD(name, word, operands) word,
#define OPERANDS(name, word, operands) operands,
static const char *const words[] = {CWJ_OPERATORS(WORD)};
static const signed char numbers_of_operands[] = {CWJ_OPERATORS(OPERANDS)};

const char *
cwj_operator_word(cwj_operator op)
{
    return words[op];
}

int
cwj_operator_operands(cwj_operator op)
{
    return numbers_of_operands[op];
}

static int
operator_of(PyObject *word)
{
    for (int op = CWJ_ADD; op < (int)(sizeof(words) / sizeof(words[0])); op++) {
        if (PyUnicode_CompareWithASCIIString(word, words[op]) == 0) {
            return op;
        }
    }
    return -1;
}

static int
read_operation(cwj_operation *operation, PyObject *item, PyObject *symbols, const char *who)
{
    if (PyLong_Check(item)) {
        operation->op = CWJ_NUMBER;
        operation->value = PyLong_AsLongLong(item);
        return operation->value == -1 && PyErr_Occurred() ? -1 : 0;
    }
    if (!PyUnicode_Check(item)) {
        return cwj_refuse(who, PyExc_TypeError, "a dim holds int and str, not %s",
                          Py_TYPE(item)->tp_name);
    }
    int op = operator_of(item);
    if (op >= 0) {
        operation->op = (cwj_operator)op;
        return 0;
    }
    operation->op = CWJ_SYMBOL;
    operation->value = cwj_symbol_index(symbols, item);
    return operation->value < 0 ? -1 : 0;
}

static int
check_depth(const cwj_dim *dim, PyObject *given, const char *who)
{
    int depth = 0;
    for (int i = 0; i < dim->count; i++) {
        depth += 1 - cwj_operator_operands(dim->operations[i].op);
        if (depth < 1 || depth > CWJ_MAX_DEPTH) {
            return cwj_refuse(who, PyExc_ValueError, "%R is no expression", given);
        }
    }
    return depth > 1 ? cwj_refuse(who, PyExc_ValueError, "%R is no expression", given) : 0;
}

int
cwj_dim_read(cwj_dim *dim, PyObject *given, PyObject *symbols, const char *who)
{
    if (!PyTuple_Check(given)) {
        return cwj_refuse_type(who, "a dim", "a tuple", given);
    }
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    if (count > INT16_MAX) {
        return cwj_refuse(who, PyExc_ValueError, "a dim is too long");
    }
    dim->operations = PyMem_Calloc((size_t)count + 1, sizeof(*dim->operations));
    if (dim->operations == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (read_operation(&dim->operations[i], PyTuple_GET_ITEM(given, i), symbols, who) < 0) {
            return -1;
        }
    }
    dim->count = (int)count;
    return check_depth(dim, given, who);
}

void
cwj_dim_clear(cwj_dim *dim)
{
    PyMem_Free(dim->operations);
    *dim = (cwj_dim){0};
}
