/* cwj_complex.h: NumPy's complex numbers as structs, as libtcc has no type for them.
 *
 * Sums, products, quotients and powers are those of NumPy's ufuncs: the plain product, Smith's division, integer powers
 * by products. Only powers branch, so that loops are vectorised. The functions of <complex.h> are libm's: a struct of
 * two parts is passed as a complex number.
 *
 * Requires <math.h> and numpy/npy_types.h. These names are for generated text; <complex.h> has the usual ones. */
#ifndef CWJ_COMPLEX_H
#define CWJ_COMPLEX_H

/* NumPy's order: by real parts, then by imaginary ones. Comparisons with a NaN are false. */
#define CWJ_COMPLEX_ORDER(type, name, operator)                                 \
    static inline int cwj_##name##_##type(type a, type b)                       \
    {                                                                           \
        int known = !isnan(a.imag) && !isnan(b.imag);                           \
        int within = a.real == b.real && a.imag operator b.imag;                \
        return within || (known && a.real != b.real && a.real operator b.real); \
    }

#define CWJ_COMPLEX_ARITHMETIC(type, part, f)                                              \
    static inline type cwj_make_##type(part real, part imag)                               \
    {                                                                                      \
        type z;                                                                            \
        z.real = real;                                                                     \
        z.imag = imag;                                                                     \
        return z;                                                                          \
    }                                                                                      \
    static inline part cwj_real_##type(type a)                                             \
    {                                                                                      \
        return a.real;                                                                     \
    }                                                                                      \
    static inline part cwj_imag_##type(type a)                                             \
    {                                                                                      \
        return a.imag;                                                                     \
    }                                                                                      \
    static inline type cwj_add_##type(type a, type b)                                      \
    {                                                                                      \
        return cwj_make_##type(a.real + b.real, a.imag + b.imag);                          \
    }                                                                                      \
    static inline type cwj_subtract_##type(type a, type b)                                 \
    {                                                                                      \
        return cwj_make_##type(a.real - b.real, a.imag - b.imag);                          \
    }                                                                                      \
    static inline type cwj_multiply_##type(type a, type b)                                 \
    {                                                                                      \
        return cwj_make_##type(a.real * b.real - a.imag * b.imag,                          \
                               a.real * b.imag + a.imag * b.real);                         \
    }                                                                                      \
    static inline type cwj_scale_##type(type a, part x)                                    \
    {                                                                                      \
        return cwj_make_##type(a.real * x, a.imag * x);                                    \
    }                                                                                      \
    /* Division by 0 divides the parts of a by 0. */                                       \
    static inline type cwj_divide_##type(type a, type b)                                   \
    {                                                                                      \
        part size = fabs##f(b.real);                                                       \
        int wide = size >= fabs##f(b.imag), zero = b.real == 0 && b.imag == 0;             \
        part large = wide ? b.real : b.imag, small = wide ? b.imag : b.real;               \
        part ratio = small / (zero ? (part)1 : large), whole = large + small * ratio;      \
        part scale = (part)1 / (zero ? size : whole);                                      \
        part first = wide ? a.real : a.imag, second = wide ? a.imag : a.real;              \
        part along = zero ? first : first + second * ratio, across = first * ratio;        \
        part before = wide ? second : across, behind = wide ? across : second;             \
        part beside = before - behind;                                                     \
        return cwj_make_##type(along * scale, (zero ? second : beside) * scale);           \
    }                                                                                      \
    static inline type cwj_negative_##type(type a)                                         \
    {                                                                                      \
        return cwj_make_##type(-a.real, -a.imag);                                          \
    }                                                                                      \
    static inline type cwj_conjugate_##type(type a)                                        \
    {                                                                                      \
        return cwj_make_##type(a.real, -a.imag);                                           \
    }                                                                                      \
    static inline part cwj_arg_##type(type a)                                              \
    {                                                                                      \
        return atan2##f(a.imag, a.real);                                                   \
    }                                                                                      \
    static inline int cwj_equal_##type(type a, type b)                                     \
    {                                                                                      \
        return a.real == b.real && a.imag == b.imag;                                       \
    }                                                                                      \
    static inline int cwj_not_equal_##type(type a, type b)                                 \
    {                                                                                      \
        return a.real != b.real || a.imag != b.imag;                                       \
    }                                                                                      \
    CWJ_COMPLEX_ORDER(type, less, <)                                                       \
    CWJ_COMPLEX_ORDER(type, less_equal, <=)                                                \
    CWJ_COMPLEX_ORDER(type, greater, >)                                                    \
    CWJ_COMPLEX_ORDER(type, greater_equal, >=)                                             \
    static inline int cwj_isnan_##type(type a)                                             \
    {                                                                                      \
        return isnan(a.real) || isnan(a.imag);                                             \
    }                                                                                      \
    static inline int cwj_isinf_##type(type a)                                             \
    {                                                                                      \
        return fabs##f(a.real) == INFINITY || fabs##f(a.imag) == INFINITY;                 \
    }                                                                                      \
    static inline int cwj_isfinite_##type(type a)                                          \
    {                                                                                      \
        return fabs##f(a.real) < INFINITY && fabs##f(a.imag) < INFINITY;                   \
    }                                                                                      \
    static inline type cwj_proj_##type(type a)                                             \
    {                                                                                      \
        int infinite = cwj_isinf_##type(a);                                                \
        part nothing = copysign##f(0, a.imag);                                             \
        return cwj_make_##type(infinite ? INFINITY : a.real, infinite ? nothing : a.imag); \
    }                                                                                      \
    type cwj_libm_pow_##type(type, type) __asm__("cpow" #f);                               \
    static inline type cwj_whole_power_##type(type a, int n)                               \
    {                                                                                      \
        if (n == 1)                                                                        \
            return a;                                                                      \
        if (n == 2)                                                                        \
            return cwj_multiply_##type(a, a);                                              \
        if (n == 3)                                                                        \
            return cwj_multiply_##type(a, cwj_multiply_##type(a, a));                      \
        type one = cwj_make_##type(1, 0), power = one;                                     \
        for (int left = n < 0 ? -n : n; left; left >>= 1, a = cwj_multiply_##type(a, a))   \
            if (left & 1)                                                                  \
                power = cwj_multiply_##type(power, a);                                     \
        return n < 0 ? cwj_divide_##type(one, power) : power;                              \
    }                                                                                      \
    static inline type cwj_power_##type(type a, type b)                                    \
    {                                                                                      \
        if (b.real == 0 && b.imag == 0)                                                    \
            return cwj_make_##type(1, 0);                                                  \
        if (a.real == 0 && a.imag == 0) {                                                  \
            part result = b.real > 0 ? 0 : NAN;                                            \
            return cwj_make_##type(result, result);                                        \
        }                                                                                  \
        if (b.imag == 0 && b.real > -100 && b.real < 100 && (int)b.real == b.real)         \
            return cwj_whole_power_##type(a, (int)b.real);                                 \
        return cwj_libm_pow_##type(a, b);                                                  \
    }

CWJ_COMPLEX_ARITHMETIC(npy_complex64, float, f)
CWJ_COMPLEX_ARITHMETIC(npy_complex128, double, )

/* Accurate to 1.2 units in the last place. Very large and very small numbers are scaled by powers of 2, so that their
 * squares neither overflow nor vanish. */
#define CWJ_COMPLEX_ABSOLUTE(type, part, f, most, least, up, down)                   \
    static inline part cwj_absolute_##type(type a)                                   \
    {                                                                                \
        part real = fabs##f(a.real), imag = fabs##f(a.imag);                         \
        part large = real < imag ? imag : real;                                      \
        part unit = large > most ? down : large < least ? up : 1;                    \
        part back = large > most ? up : large < least ? down : 1;                    \
        part x = real * unit, y = imag * unit, size = sqrt##f(x * x + y * y) * back; \
        return real == INFINITY || imag == INFINITY ? INFINITY : size;               \
    }
CWJ_COMPLEX_ABSOLUTE(npy_complex64, float, f, 0x1p60f, 0x1p-40f, 0x1p80f, 0x1p-80f)
CWJ_COMPLEX_ABSOLUTE(npy_complex128, double, , 0x1p500, 0x1p-400, 0x1p600, 0x1p-600)

#define CWJ_COMPLEX_FUNCTION(name)                                                 \
    npy_complex128 cwj_##name##_npy_complex128(npy_complex128) __asm__("c" #name); \
    npy_complex64 cwj_##name##_npy_complex64(npy_complex64) __asm__("c" #name "f");
CWJ_COMPLEX_FUNCTION(exp)
CWJ_COMPLEX_FUNCTION(log)
CWJ_COMPLEX_FUNCTION(sqrt)
CWJ_COMPLEX_FUNCTION(sin)
CWJ_COMPLEX_FUNCTION(cos)
CWJ_COMPLEX_FUNCTION(tan)
CWJ_COMPLEX_FUNCTION(asin)
CWJ_COMPLEX_FUNCTION(acos)
CWJ_COMPLEX_FUNCTION(atan)
CWJ_COMPLEX_FUNCTION(sinh)
CWJ_COMPLEX_FUNCTION(cosh)
CWJ_COMPLEX_FUNCTION(tanh)
CWJ_COMPLEX_FUNCTION(asinh)
CWJ_COMPLEX_FUNCTION(acosh)
CWJ_COMPLEX_FUNCTION(atanh)

#undef CWJ_COMPLEX_FUNCTION
#undef CWJ_COMPLEX_ABSOLUTE
#undef CWJ_COMPLEX_ARITHMETIC
#undef CWJ_COMPLEX_ORDER

#endif
