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

static int
operator_of(PyObject *word)
{
    static const char operators[] = "+-*/%";
    Py_UCS4 character = PyUnicode_GET_LENGTH(word) == 1 ? PyUnicode_READ_CHAR(word, 0) : 0;
    const char *found = character > 0 && character < 128 ? strchr(operators, (int)character) : NULL;
    return found == NULL ? -1 : CWJ_ADD + (int)(found - operators);
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
        depth += dim->operations[i].op <= CWJ_SYMBOL ? 1 : -1;
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
