/* arithmetic.h: lengths of arrays as C computes them, but for what C leaves undefined: one rule for
 * functions (call/shape.c) and libraries (call/solve.c). */
#ifndef CWJ_BASE_ARITHMETIC_H
#define CWJ_BASE_ARITHMETIC_H

/* numpy/arrayobject.h and stdbool.h come before this file. */

/* *left = *left sign right, where sign is one of + - * / %. False, with *left undefined, for a
 * division by zero and a number that is too large. */
static inline bool
cwj_compute(char sign, npy_intp *left, npy_intp right)
{
    switch (sign) {
    case '+':
        return !__builtin_add_overflow(*left, right, left);
    case '-':
        return !__builtin_sub_overflow(*left, right, left);
    case '*':
        return !__builtin_mul_overflow(*left, right, left);
    default:
        if (right == 0 || (right == -1 && *left == NPY_MIN_INTP)) {
            return false;
        }
        *left = sign == '/' ? *left / right : *left % right;
        return true;
    }
}

#endif
