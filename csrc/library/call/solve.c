/* solve.c: the values of symbols and dims in a call. Arithmetic never overflows in silence. */
#include "library/call/steps.h"

#include "base/arithmetic.h"

/* ---- evaluating --------------------------------------------------------------- */

int
cwj_library_evaluate(const cwj_library_frame *frame, const cwj_dim *dim, PyObject *what,
                     npy_int64 *value)
{
    npy_intp stack[CWJ_MAX_DEPTH];
    int depth = 0;
    for (int i = 0; i < dim->count; i++) {
        const cwj_operation *operation = &dim->operations[i];
        if (operation->op == CWJ_NUMBER) {
            stack[depth++] = operation->value;
        } else if (operation->op == CWJ_SYMBOL) {
            stack[depth++] = frame->symbols[operation->value];
        } else {
            depth--;
            if (!cwj_compute("+-*/%"[operation->op - CWJ_ADD], &stack[depth - 1], stack[depth])) {
                return cwj_library_refuse(frame, PyExc_ValueError,
                                          "computing %U: a division by zero, or a number too large",
                                          what);
            }
        }
    }
    *value = depth == 1 ? stack[0] : 0;
    return 0;
}

int
cwj_library_shape(const cwj_library_frame *frame, const cwj_parameter *p, npy_intp *shape)
{
    for (int d = 0; d < p->ndim; d++) {
        npy_int64 value;
        if (cwj_library_evaluate(frame, &p->dims[d], p->name, &value) < 0) {
            return -1;
        }
        if (value < 0) {
            return cwj_library_refuse(frame, PyExc_ValueError, "dim %d of %U would be %lld", d,
                                      p->name, (long long)value);
        }
        shape[d] = (npy_intp)value;
    }
    return 0;
}

/* ---- symbols from what was given ------------------------------------------------- */

/* The shape of what parameter k was given, or NULL where it is absent or has none. */
static const npy_intp *
given_shape(const cwj_library_frame *frame, int k)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    switch (parameter->role) {
    case CWJ_ARRAY: {
        PyArrayObject *array = (PyArrayObject *)cwj_library_given(frame, k);
        return array == NULL ? NULL : PyArray_DIMS(array);
    }
    case CWJ_BUFFER:
    case CWJ_ITEMS:
        return frame->slots[k + 1].p == NULL ? NULL : frame->lengths + parameter->lengths_at;
    default:
        return NULL;
    }
}

/* "n 1 +, n is 3 by argument a": the expression as it is kept, and its symbols. */
static PyObject *
text_of_dim(const cwj_library_frame *frame, const cwj_dim *dim)
{
    PyObject *text = PyUnicode_FromString(""), *sources = PyUnicode_FromString("");
    for (int i = 0; i < dim->count; i++) { /* without memory a text becomes NULL, and stays so */
        const cwj_operation *operation = &dim->operations[i];
        const char *space = i > 0 ? " " : "";
        long long value = operation->value;
        if (operation->op == CWJ_NUMBER) {
            PyUnicode_AppendAndDel(&text, PyUnicode_FromFormat("%s%lld", space, value));
            continue;
        }
        if (operation->op != CWJ_SYMBOL) {
            char sign = "+-*/%"[operation->op - CWJ_ADD];
            PyUnicode_AppendAndDel(&text, PyUnicode_FromFormat("%s%c", space, sign));
            continue;
        }
        PyObject *symbol = PyTuple_GET_ITEM(frame->function->symbols, value);
        int source = frame->sources[value];
        value = frame->symbols[value];
        PyUnicode_AppendAndDel(&text, PyUnicode_FromFormat("%s%U", space, symbol));
        PyUnicode_AppendAndDel(
            &sources, source < 0 ? PyUnicode_FromFormat(", %U is %lld", symbol, value)
                                 : PyUnicode_FromFormat(", %U is %lld by argument %U", symbol,
                                                        value, cwj_library_name(frame, source)));
    }
    PyUnicode_AppendAndDel(&text, sources);
    return text;
}

static int
refuse_dim(const cwj_library_frame *frame, int k, int d, npy_intp got, npy_int64 wanted)
{
    PyObject *text = text_of_dim(frame, &frame->function->parameters[k].dims[d]);
    if (text != NULL) {
        cwj_library_refuse(frame, PyExc_ValueError,
                           "dim %d of argument %U is %zd, but must be %lld (%U)", d,
                           cwj_library_name(frame, k), (Py_ssize_t)got, (long long)wanted, text);
        Py_DECREF(text);
    }
    return -1;
}

static int
check_dims(const cwj_library_frame *frame, int k, const npy_intp *shape)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    for (int d = 0; d < parameter->ndim; d++) {
        const cwj_dim *dim = &parameter->dims[d];
        npy_int64 wanted;
        if (dim->count == 0) {
            continue;
        }
        if (cwj_library_evaluate(frame, dim, cwj_library_name(frame, k), &wanted) < 0) {
            return -1;
        }
        if (wanted != (npy_int64)shape[d]) {
            return refuse_dim(frame, k, d, shape[d], wanted);
        }
    }
    return 0;
}

int
cwj_library_solve(cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
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
