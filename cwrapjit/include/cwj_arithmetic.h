/* cwj_arithmetic.h: NumPy's //, % and **, where C's operators differ.
 *
 * Quotients round down, remainders have the sign of the divisor, an integer divided by zero is zero. Integers to
 * negative powers are 0, except those of 1 and -1. */
#ifndef CWJ_ARITHMETIC_H
#define CWJ_ARITHMETIC_H

#define CWJ_UNSIGNED(name, type)                               \
    static inline type cwj_floor_divide_##name(type a, type b) \
    {                                                          \
        return b == 0 ? 0 : (type)(a / b);                     \
    }                                                          \
    static inline type cwj_remainder_##name(type a, type b)    \
    {                                                          \
        return b == 0 ? 0 : (type)(a % b);                     \
    }                                                          \
    static inline type cwj_power_##name(type a, type b)        \
    {                                                          \
        npy_uint64 result = 1, factor = (npy_uint64)a;         \
        for (; b != 0; b >>= 1, factor *= factor) {            \
            result = (b & 1) != 0 ? result * factor : result;  \
        }                                                      \
        return (type)result;                                   \
    }

/* -1 is a case of its own: dividing the smallest integer by it would end the process. */
#define CWJ_SIGNED(name, type)                                               \
    static inline type cwj_floor_divide_##name(type a, type b)               \
    {                                                                        \
        if (b == 0) {                                                        \
            return 0;                                                        \
        }                                                                    \
        if (b == -1) {                                                       \
            return (type)(0 - (npy_uint64)a);                                \
        }                                                                    \
        return (type)(a / b - (a % b != 0 && (a < 0) != (b < 0)));           \
    }                                                                        \
    static inline type cwj_remainder_##name(type a, type b)                  \
    {                                                                        \
        if (b == 0 || b == -1) {                                             \
            return 0;                                                        \
        }                                                                    \
        return (type)(a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0));   \
    }                                                                        \
    static inline type cwj_power_##name(type a, type b)                      \
    {                                                                        \
        npy_uint64 result = 1, factor = (npy_uint64)a;                       \
        if (b < 0) {                                                         \
            return (type)(a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0); \
        }                                                                    \
        for (; b != 0; b >>= 1, factor *= factor) {                          \
            result = (b & 1) != 0 ? result * factor : result;                \
        }                                                                    \
        return (type)result;                                                 \
    }

#define CWJ_FLOAT(name, type, fmod, floor, copysign)              \
    static inline type cwj_floor_divide_##name(type a, type b)    \
    {                                                             \
        type rest = fmod(a, b), quotient = (a - rest) / b, whole; \
        if (b == 0) {                                             \
            return a / b;                                         \
        }                                                         \
        quotient -= rest != 0 && (b < 0) != (rest < 0) ? 1 : 0;   \
        if (quotient == 0) {                                      \
            return copysign(0, a / b);                            \
        }                                                         \
        whole = floor(quotient);                                  \
        return quotient - whole > (type)0.5 ? whole + 1 : whole;  \
    }                                                             \
    static inline type cwj_remainder_##name(type a, type b)       \
    {                                                             \
        type rest = fmod(a, b);                                   \
        if (rest == 0) {                                          \
            return copysign(0, b);                                \
        }                                                         \
        return (b < 0) != (rest < 0) && b != 0 ? rest + b : rest; \
    }

CWJ_UNSIGNED(uint8, npy_uint8)
CWJ_UNSIGNED(uint16, npy_uint16)
CWJ_UNSIGNED(uint32, npy_uint32)
CWJ_UNSIGNED(uint64, npy_uint64)
CWJ_SIGNED(int8, npy_int8)
CWJ_SIGNED(int16, npy_int16)
CWJ_SIGNED(int32, npy_int32)
CWJ_SIGNED(int64, npy_int64)
CWJ_FLOAT(float32, float, fmodf, floorf, copysignf)
CWJ_FLOAT(float64, double, fmod, floor, copysign)

#undef CWJ_UNSIGNED
#undef CWJ_SIGNED
#undef CWJ_FLOAT

#endif
