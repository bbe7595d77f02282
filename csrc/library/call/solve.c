/* solve.c: the values of symbols and dims in a call. Arithmetic never overflows in silence. */
#include "library/call/steps.h"

#include "base/arithmetic.h"

/* ---- evaluating --------------------------------------------------------------- */

/* A value on the way, or none: a division by zero, a number too large. It counts when it is used: not in
 * the branch of ?: that is not taken, nor behind && and || that know without it. */
typedef struct operand {
    npy_intp value;
    bool fails;
} operand;

/* at[0] becomes what op makes of at[0], at[1] ... */
static void
operate(cwj_operator op, operand *at)
{
    if (op == CWJ_NOT) {
        at[0].value = at[0].value == 0;
        return;
    }
    npy_intp left = at[0].value, right = at[1].value;
    if (op == CWJ_CHOOSE) {
        at[0] = at[0].fails ? at[0] : at[left != 0 ? 1 : 2];
        return;
    }
    if (op == CWJ_AND || op == CWJ_OR) {
        bool decided = at[0].fails || (left != 0) == (op == CWJ_OR);
        at[0].value = decided ? left != 0 : right != 0;
        at[0].fails |= !decided && at[1].fails;
        return;
    }
    at[0].fails |= at[1].fails;
    switch (op) {
    case CWJ_MINIMUM:
        at[0].value = left < right ? left : right;
        break;
    case CWJ_MAXIMUM:
        at[0].value = left > right ? left : right;
        break;
    case CWJ_LESS:
        at[0].value = left < right;
        break;
    case CWJ_LESS_EQUAL:
        at[0].value = left <= right;
        break;
    case CWJ_MORE:
        at[0].value = left > right;
        break;
    case CWJ_MORE_EQUAL:
        at[0].value = left >= right;
        break;
    case CWJ_EQUAL:
        at[0].value = left == right;
        break;
    case CWJ_UNEQUAL:
        at[0].value = left != right;
        break;
    default:
        at[0].fails |= !cwj_compute("+-*/%"[op - CWJ_ADD], &at[0].value, right);
        break;
    }
}

int
cwj_library_evaluate(const cwj_library_frame *frame, const cwj_dim *dim, PyObject *what,
                     npy_int64 *value)
{
    operand
        stack[CWJ_MAX_DEPTH + 1]; /* operate() looks at a second one, also where there is none */
    int depth = 0;
    stack[1] = stack[0] = (operand){0, false};
    for (int i = 0; i < dim->count; i++) {
        const cwj_operation *operation = &dim->operations[i];
        if (operation->op == CWJ_NUMBER) {
            stack[depth++] = (operand){operation->value, false};
        } else if (operation->op == CWJ_SYMBOL) {
            stack[depth++] = (operand){frame->symbols[operation->value], false};
        } else {
            depth -= cwj_operator_operands(operation->op) - 1;
            operate(operation->op, &stack[depth - 1]);
        }
    }
    if (stack[0].fails) {
        return cwj_library_refuse(frame, PyExc_ValueError,
                                  "computing %U: a division by zero, or a number too large", what);
    }
    *value = depth == 1 ? stack[0].value : 0;
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

static int
refuse_dim(const cwj_library_frame *frame, int k, int d, npy_intp got, npy_int64 wanted)
{
    PyObject *text = cwj_library_text_of_dim(frame, &frame->function->parameters[k].dims[d]);
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
