/* dim_value.c: what a dim is, for values of its symbols. Arithmetic never overflows in silence. */
#include "library/tables/dims.h"

#include "base/arithmetic.h"

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

bool
cwj_dim_value(const cwj_dim *dim, const npy_int64 *symbols, npy_int64 *value)
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
            stack[depth++] = (operand){symbols[operation->value], false};
        } else {
            depth -= cwj_operator_operands(operation->op) - 1;
            operate(operation->op, &stack[depth - 1]);
        }
    }
    *value = depth == 1 ? stack[0].value : 0;
    return !stack[0].fails;
}
