/* arithmetic.h: computes lengths of arrays as C does, and reports an error if C leaves the result undefined. Functions
 * (call/output_dims.c) and libraries (library/call/evaluate.c) share this rule.
 *
 * An expression is a list of steps for a stack machine (abi.h). The code that created the list has checked that no
 * operand is missing and that the stack is large enough. */
#pragma once

/* numpy/arrayobject.h and stdbool.h come before this file. */
#include "abi.h"

/* A number on the stack. */
typedef struct cwj_dim_value {
    npy_intp value;
    const char *fault; /* why there is no value ("divides by zero"); NULL: it is valid */
} cwj_dim_value;

static inline int
cwj_dim_operands(int op)
{
    return op <= CWJ_DIM_SYMBOL ? 0 : op <= CWJ_DIM_NOT ? 1 : op == CWJ_DIM_CHOOSE ? 3 : 2;
}

static inline npy_intp
cwj_dim_compare(int op, npy_intp left, npy_intp right)
{
    switch (op) {
    case CWJ_DIM_LESS:
        return left < right;
    case CWJ_DIM_LESS_EQUAL:
        return left <= right;
    case CWJ_DIM_GREATER:
        return left > right;
    case CWJ_DIM_GREATER_EQUAL:
        return left >= right;
    case CWJ_DIM_EQUAL:
        return left == right;
    case CWJ_DIM_UNEQUAL:
        return left != right;
    case CWJ_DIM_MIN:
        return left < right ? left : right;
    default:
        return left < right ? right : left;
    }
}

/* Returns the result of a binary operator; a shift to the left is computed as a product. */
static inline cwj_dim_value
cwj_dim_combine(int op, npy_intp left, npy_intp right)
{
    npy_intp result = 0;
    bool fits = true;
    switch (op) {
    case CWJ_DIM_ADD:
        fits = !__builtin_add_overflow(left, right, &result);
        break;
    case CWJ_DIM_SUBTRACT:
        fits = !__builtin_sub_overflow(left, right, &result);
        break;
    case CWJ_DIM_MULTIPLY:
        fits = !__builtin_mul_overflow(left, right, &result);
        break;
    case CWJ_DIM_DIVIDE:
    case CWJ_DIM_REMAINDER:
        if (right == 0) {
            return (cwj_dim_value){0, "divides by zero"};
        }
        fits = right != -1 || left != NPY_MIN_INTP;
        result = !fits ? 0 : op == CWJ_DIM_DIVIDE ? left / right : left % right;
        break;
    case CWJ_DIM_SHIFT_LEFT:
    case CWJ_DIM_SHIFT_RIGHT:
        if (right < 0 || right >= 8 * (npy_intp)sizeof(npy_intp)) {
            return (cwj_dim_value){0, "shifts by a count that is negative or too large"};
        }
        if (op == CWJ_DIM_SHIFT_LEFT) {
            fits = !__builtin_mul_overflow(left, (npy_uintp)1 << right, &result);
        } else {
            result = left >> right;
        }
        break;
    default:
        result = cwj_dim_compare(op, left, right);
    }
    return (cwj_dim_value){result, fits ? NULL : "is too large"};
}

/* Replaces at[0] by the result of op for at[0], at[1] ... */
static inline void
cwj_dim_operate(int op, cwj_dim_value *at)
{
    if (at[0].fault != NULL) {
        return;
    }
    switch (op) {
    case CWJ_DIM_MINUS:
        at[0] = cwj_dim_combine(CWJ_DIM_SUBTRACT, 0, at[0].value);
        break;
    case CWJ_DIM_NOT:
        at[0].value = !at[0].value;
        break;
    case CWJ_DIM_CHOOSE:
        at[0] = at[at[0].value != 0 ? 1 : 2];
        break;
    case CWJ_DIM_AND:
    case CWJ_DIM_OR:
        at[0] = (at[0].value != 0) == (op == CWJ_DIM_OR) ? at[0] : at[1];
        at[0].value = at[0].value != 0;
        break;
    default:
        at[0] = at[1].fault != NULL ? at[1] : cwj_dim_combine(op, at[0].value, at[1].value);
    }
}

static inline cwj_dim_value
cwj_dim_compute(const cwj_dim_step *steps, int count, const npy_intp *symbols)
{
    cwj_dim_value stack[CWJ_DIM_STACK], *top = stack - 1;
    for (int i = 0; i < count; i++) {
        const cwj_dim_step *step = &steps[i];
        if (step->op <= CWJ_DIM_SYMBOL) {
            npy_intp value = step->op == CWJ_DIM_NUMBER ? step->value : symbols[step->value];
            *++top = (cwj_dim_value){value, NULL};
        } else {
            top -= cwj_dim_operands(step->op) - 1;
            cwj_dim_operate(step->op, top);
        }
    }
    return *top;
}
