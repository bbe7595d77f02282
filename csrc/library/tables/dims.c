/* dims.c: computes dims of arrays, which are expressions over symbols.
 *
 * The expressions are in reverse Polish notation. They are checked when the function is made: no operand is missing,
 * and the stack is deep enough. Overflows are errors.
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

static const char *const words[] = {[CWJ_DIM_NOT] = "!",     [CWJ_DIM_MULTIPLY] = "*",
                                    [CWJ_DIM_DIVIDE] = "/",  [CWJ_DIM_REMAINDER] = "%",
                                    [CWJ_DIM_ADD] = "+",     [CWJ_DIM_SUBTRACT] = "-",
                                    [CWJ_DIM_LESS] = "<",    [CWJ_DIM_LESS_EQUAL] = "<=",
                                    [CWJ_DIM_GREATER] = ">", [CWJ_DIM_GREATER_EQUAL] = ">=",
                                    [CWJ_DIM_EQUAL] = "==",  [CWJ_DIM_UNEQUAL] = "!=",
                                    [CWJ_DIM_MIN] = "<?",    [CWJ_DIM_MAX] = ">?",
                                    [CWJ_DIM_AND] = "&&",    [CWJ_DIM_OR] = "||",
                                    [CWJ_DIM_CHOOSE] = "?:"};

static int
operator_of(PyObject *word)
{
    for (int op = 0; op < (int)(sizeof(words) / sizeof(words[0])); op++) {
        if (words[op] != NULL && PyUnicode_CompareWithASCIIString(word, words[op]) == 0) {
            return op;
        }
    }
    return -1;
}

static int
read_step(cwj_dim_step *step, PyObject *item, PyObject *symbols, const char *who)
{
    if (PyLong_Check(item)) {
        step->op = CWJ_DIM_NUMBER;
        step->value = PyLong_AsLongLong(item);
        return step->value == -1 && PyErr_Occurred() ? -1 : 0;
    }
    if (!PyUnicode_Check(item)) {
        return cwj_refuse(who, PyExc_TypeError, "a dim holds int and str, not %s",
                          Py_TYPE(item)->tp_name);
    }
    int op = operator_of(item);
    if (op >= 0) {
        step->op = op;
        return 0;
    }
    step->op = CWJ_DIM_SYMBOL;
    step->value = cwj_symbol_index(symbols, item);
    return step->value < 0 ? -1 : 0;
}

static int
check_depth(const cwj_dim *dim, PyObject *given, const char *who)
{
    int depth = 0;
    for (int i = 0; i < dim->count; i++) {
        depth += 1 - cwj_dim_operands(dim->steps[i].op);
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
    dim->steps = cwj_allocate((size_t)count + 1, sizeof(*dim->steps));
    if (dim->steps == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (read_step(&dim->steps[i], PyTuple_GET_ITEM(given, i), symbols, who) < 0) {
            return -1;
        }
    }
    dim->count = (int)count;
    dim->given = Py_NewRef(given);
    return check_depth(dim, given, who);
}

void
cwj_dim_clear(cwj_dim *dim)
{
    PyMem_Free(dim->steps);
    Py_XDECREF(dim->given);
    *dim = (cwj_dim){0};
}

int
cwj_dims_read(cwj_dim **dims, int *ndim, PyObject *given, PyObject *symbols, const char *who)
{
    PyObject *tuple = PySequence_Tuple(given);
    Py_ssize_t count = tuple == NULL ? 0 : PyTuple_GET_SIZE(tuple);
    int status = tuple == NULL ? -1 : 0;
    if (count > 32) { /* the limit of NumPy 1 */
        status = cwj_refuse(who, PyExc_ValueError, "an array cannot have %zd dims", count);
    } else if (status == 0) {
        *dims = cwj_allocate((size_t)count + 1, sizeof(cwj_dim));
        status = *dims == NULL ? -1 : 0;
    }
    for (; status == 0 && *ndim < count; ++*ndim) {
        status = cwj_dim_read(&(*dims)[*ndim], PyTuple_GET_ITEM(tuple, *ndim), symbols, who);
    }
    Py_XDECREF(tuple);
    return status;
}

void
cwj_dims_clear(cwj_dim *dims, int ndim)
{
    for (int d = 0; d < ndim; d++) {
        cwj_dim_clear(&dims[d]);
    }
    PyMem_Free(dims);
}

bool
cwj_dim_evaluate(const cwj_dim *dim, const npy_int64 *symbols, npy_int64 *value)
{
    cwj_dim_value found = {0, NULL};
    if (dim->count > 0) {
        found = cwj_dim_compute(dim->steps, dim->count, symbols);
    }
    *value = found.value;
    return found.fault == NULL;
}
