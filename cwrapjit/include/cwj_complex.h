/* cwj_complex.h: arithmetic on NumPy's complex structs, which libtcc has no type for.
 *
 * The formulas are those of NumPy's ufuncs: the plain product, Smith's division. */
#ifndef CWJ_COMPLEX_H
#define CWJ_COMPLEX_H

#define CWJ_COMPLEX_ARITHMETIC(type, part, absolute, hypotenuse)                       \
    static inline type cwj_make_##type(part real, part imag)                           \
    {                                                                                  \
        type z;                                                                        \
        z.real = real;                                                                 \
        z.imag = imag;                                                                 \
        return z;                                                                      \
    }                                                                                  \
    static inline type cwj_add_##type(type a, type b)                                  \
    {                                                                                  \
        return cwj_make_##type(a.real + b.real, a.imag + b.imag);                      \
    }                                                                                  \
    static inline type cwj_subtract_##type(type a, type b)                             \
    {                                                                                  \
        return cwj_make_##type(a.real - b.real, a.imag - b.imag);                      \
    }                                                                                  \
    static inline type cwj_multiply_##type(type a, type b)                             \
    {                                                                                  \
        return cwj_make_##type(a.real * b.real - a.imag * b.imag,                      \
                               a.real * b.imag + a.imag * b.real);                     \
    }                                                                                  \
    static inline type cwj_divide_##type(type a, type b)                               \
    {                                                                                  \
        part real = absolute(b.real), imag = absolute(b.imag);                         \
        if (real >= imag) {                                                            \
            if (real == 0 && imag == 0) {                                              \
                return cwj_make_##type(a.real / real, a.imag / real);                  \
            }                                                                          \
            part ratio = b.imag / b.real, scale = (part)1 / (b.real + b.imag * ratio); \
            return cwj_make_##type((a.real + a.imag * ratio) * scale,                  \
                                   (a.imag - a.real * ratio) * scale);                 \
        }                                                                              \
        part ratio = b.real / b.imag, scale = (part)1 / (b.imag + b.real * ratio);     \
        return cwj_make_##type((a.real * ratio + a.imag) * scale,                      \
                               (a.imag * ratio - a.real) * scale);                     \
    }                                                                                  \
    static inline type cwj_negative_##type(type a)                                     \
    {                                                                                  \
        return cwj_make_##type(-a.real, -a.imag);                                      \
    }                                                                                  \
    static inline part cwj_absolute_##type(type a)                                     \
    {                                                                                  \
        return hypotenuse(a.real, a.imag);                                             \
    }                                                                                  \
    static inline int cwj_equal_##type(type a, type b)                                 \
    {                                                                                  \
        return a.real == b.real && a.imag == b.imag;                                   \
    }

CWJ_COMPLEX_ARITHMETIC(npy_complex64, float, fabsf, hypotf)
CWJ_COMPLEX_ARITHMETIC(npy_complex128, double, fabs, hypot)

#undef CWJ_COMPLEX_ARITHMETIC

#endif
