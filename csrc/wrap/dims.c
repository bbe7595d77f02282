/* dims.c: dims of arrays as expressions over symbols, and the values of symbols in a call.
 *
 * Expressions are in reverse Polish notation, checked when the function is made: no
 * operand can be missing, and the stack has a known depth. No operation overflows in
 * silence.
 */
#include "wrap.h"

#include "../errors.h"

/* ---- reading ----------------------------------------------------------------- */

/* The index of name among the symbols, to which it is added; -1 with an exception. */
static Py_ssize_t
index_of_symbol(PyObject *symbols, PyObject *name)
{
    Py_ssize_t index = PySequence_Contains(symbols, name);
    if (index < 0) {
        return -1;
    }
    if (index > 0) {
        return PySequence_Index(symbols, name);
    }
    return PyList_Append(symbols, name) < 0 ? -1 : PyList_GET_SIZE(symbols) - 1;
}

static int
operator_of(PyObject *word)
{
    static const char ops_text[] = "+-*/%";
    const char *found;
    if (PyUnicode_GET_LENGTH(word) != 1) {
        return -1;
    }
    Py_UCS4 character = PyUnicode_READ_CHAR(word, 0);
    found = character == 0 || character > 127 ? NULL : strchr(ops_text, (int)character);
    return found == NULL ? -1 : CWJ_ADD + (int)(found - ops_text);
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
    Py_ssize_t index = index_of_symbol(symbols, item);
    operation->op = CWJ_SYMBOL;
    operation->value = index;
    return index < 0 ? -1 : 0;
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
        return cwj_refuse(who, PyExc_TypeError, "a dim must be a tuple, not %s",
                          Py_TYPE(given)->tp_name);
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

/* ---- evaluating --------------------------------------------------------------- */

static bool
operate(cwj_operator op, npy_int64 *left, npy_int64 right)
{
    switch (op) {
    case CWJ_ADD:
        return !__builtin_add_overflow(*left, right, left);
    case CWJ_SUBTRACT:
        return !__builtin_sub_overflow(*left, right, left);
    case CWJ_MULTIPLY:
        return !__builtin_mul_overflow(*left, right, left);
    case CWJ_DIVIDE:
    case CWJ_REMAINDER:
        if (right == 0 || (right == -1 && *left == INT64_MIN)) {
            return false;
        }
        *left = op == CWJ_DIVIDE ? *left / right : *left % right;
        return true;
    default:
        return false;
    }
}

int
cwj_wrap_evaluate(const cwj_wrap_frame *frame, const cwj_dim *dim, PyObject *what, npy_int64 *value)
{
    npy_int64 stack[CWJ_MAX_DEPTH];
    int depth = 0;
    for (int i = 0; i < dim->count; i++) {
        const cwj_operation *operation = &dim->operations[i];
        if (operation->op == CWJ_NUMBER) {
            stack[depth++] = operation->value;
        } else if (operation->op == CWJ_SYMBOL) {
            stack[depth++] = frame->symbols[operation->value];
        } else {
            depth--;
            if (!operate(operation->op, &stack[depth - 1], stack[depth])) {
                return cwj_wrap_refuse(frame, PyExc_ValueError,
                                       "computing %U: a division by zero, or a number too large",
                                       what);
            }
        }
    }
    *value = depth == 1 ? stack[0] : 0;
    return 0;
}

int
cwj_wrap_shape(const cwj_wrap_frame *frame, const cwj_dim *dims, int ndim, PyObject *what,
               npy_intp *shape)
{
    for (int d = 0; d < ndim; d++) {
        npy_int64 value;
        if (cwj_wrap_evaluate(frame, &dims[d], what, &value) < 0) {
            return -1;
        }
        if (value < 0) {
            return cwj_wrap_refuse(frame, PyExc_ValueError, "dim %d of %U would be %lld", d, what,
                                   (long long)value);
        }
        shape[d] = (npy_intp)value;
    }
    return 0;
}

/* ---- symbols from what was given ------------------------------------------------- */

/* The shape of what parameter k was given, or NULL where it is absent or has none. */
static const npy_intp *
given_shape(const cwj_wrap_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    switch (parameter->role) {
    case CWJ_ARRAY: {
        PyArrayObject *array = parameter->intent == CWJ_OUT && cwj_wrap_given(frame, k) == NULL
                                   ? NULL
                                   : cwj_wrap_array(frame, k);
        return array == NULL ? NULL : PyArray_DIMS(array);
    }
    case CWJ_BUFFER:
    case CWJ_ITEMS:
        return frame->slots[k + 1].p == NULL ? NULL : frame->lengths + parameter->lengths_at;
    default:
        return NULL;
    }
}

/* "(k, n)" with names of symbols; expressions as they are kept. */
static PyObject *
text_of_dim(const cwj_wrap_frame *frame, const cwj_dim *dim)
{
    PyObject *text = PyUnicode_FromString("");
    for (int i = 0; i < dim->count && text != NULL; i++) {
        const cwj_operation *operation = &dim->operations[i];
        const char *space = i > 0 ? " " : "";
        if (operation->op == CWJ_NUMBER) {
            Py_SETREF(text,
                      PyUnicode_FromFormat("%U%s%lld", text, space, (long long)operation->value));
        } else if (operation->op == CWJ_SYMBOL) {
            Py_SETREF(text, PyUnicode_FromFormat(
                                "%U%s%U", text, space,
                                PyTuple_GET_ITEM(frame->function->symbols, operation->value)));
        } else {
            Py_SETREF(text, PyUnicode_FromFormat("%U%s%c", text, space,
                                                 "+-*/%"[operation->op - CWJ_ADD]));
        }
    }
    return text;
}

/* ", as n is 3 by argument a" for each symbol of the dim. */
static PyObject *
text_of_sources(const cwj_wrap_frame *frame, const cwj_dim *dim)
{
    PyObject *text = PyUnicode_FromString("");
    for (int i = 0; i < dim->count && text != NULL; i++) {
        const cwj_operation *operation = &dim->operations[i];
        if (operation->op != CWJ_SYMBOL) {
            continue;
        }
        int source = frame->sources[operation->value];
        Py_SETREF(text,
                  PyUnicode_FromFormat("%U, %U is %lld%s%U", text,
                                       PyTuple_GET_ITEM(frame->function->symbols, operation->value),
                                       (long long)frame->symbols[operation->value],
                                       source < 0 ? "" : " by argument ",
                                       source < 0 ? text : cwj_wrap_name(frame, source)));
    }
    return text;
}

static int
refuse_dim(const cwj_wrap_frame *frame, int k, int d, npy_intp got, npy_int64 wanted)
{
    const cwj_dim *dim = &frame->function->parameters[k].dims[d];
    PyObject *text = text_of_dim(frame, dim);
    PyObject *sources = text_of_sources(frame, dim);
    if (text != NULL && sources != NULL) {
        cwj_wrap_refuse(frame, PyExc_ValueError,
                        "dim %d of argument %U is %zd, but must be %lld (%U%U)", d,
                        cwj_wrap_name(frame, k), (Py_ssize_t)got, (long long)wanted, text, sources);
    }
    Py_XDECREF(text);
    Py_XDECREF(sources);
    return -1;
}

static int
check_dims(const cwj_wrap_frame *frame, int k, const npy_intp *shape)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    for (int d = 0; d < parameter->ndim; d++) {
        const cwj_dim *dim = &parameter->dims[d];
        int symbol = cwj_dim_symbol(dim);
        npy_int64 wanted;
        if (symbol >= 0) {
            wanted = frame->symbols[symbol];
        } else if (dim->count == 0) {
            continue;
        } else if (cwj_wrap_evaluate(frame, dim, cwj_wrap_name(frame, k), &wanted) < 0) {
            return -1;
        }
        if (wanted != (npy_int64)shape[d]) {
            return refuse_dim(frame, k, d, shape[d], wanted);
        }
    }
    return 0;
}

int
cwj_wrap_solve(cwj_wrap_frame *frame)
{
    const cwj_wrapped *function = frame->function;
    for (int k = 0; k < function->nparameters; k++) {
        const npy_intp *shape = given_shape(frame, k);
        for (int d = 0; shape != NULL && d < function->parameters[k].ndim; d++) {
            int symbol = cwj_dim_symbol(&function->parameters[k].dims[d]);
            if (symbol >= 0 && frame->sources[symbol] < 0) {
                frame->symbols[symbol] = shape[d];
                frame->sources[symbol] = k;
            }
        }
    }
    for (int k = 0; k < function->nparameters; k++) {
        const npy_intp *shape = given_shape(frame, k);
        if (shape != NULL && check_dims(frame, k, shape) < 0) {
            return -1;
        }
    }
    return 0;
}
