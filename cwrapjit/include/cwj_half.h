/* cwj_half.h: float16 as a struct of its bits, and its conversions.
 *
 * It is a struct because C would compute with the bits as with a number. A half has 5 bits of exponent and 10 of
 * mantissa. Conversions round to the nearest, ties to even, and keep what fits of a NaN's payload, as NumPy's do.
 * Nothing branches, so that loops are vectorised. Requires numpy/npy_types.h. */
#ifndef CWJ_HALF_H
#define CWJ_HALF_H

typedef union {
    float value;
    npy_uint32 bits;
} cwj_float_bits;

typedef union {
    double value;
    npy_uint64 bits;
} cwj_double_bits;

/* Infinities and NaNs get the largest exponent here, too. A subnormal has no leading 1: one is put before it and
 * subtracted again, which is exact. */
static inline float cwj_half_bits_to_float(npy_half half)
{
    cwj_float_bits normal, subnormal, signed_;
    npy_uint32 magnitude = (half & 0x7fffu) << 13, exponent = half & 0x7c00u;
    normal.bits = magnitude + (exponent == 0x7c00u ? 0x70000000u : 0x38000000u);
    subnormal.bits = magnitude + 0x38800000u;
    subnormal.value -= 0x1p-14f;
    signed_.bits = (exponent ? normal.bits : subnormal.bits) | (half & 0x8000u) << 16;
    return signed_.value;
}

/* Rounding adds to the bits that are dropped; a carry then increments the exponent, up to infinity. A subnormal result
 * is rounded by the addition of `adds`, whose last mantissa bit is worth as much as that of a subnormal half (2^-24).
 * least, most, infinity and added are the bits of the smallest normal half, of 2^16, of infinity and of `adds`. */
#define CWJ_TO_HALF(type, word, shift, least, most, infinity, adds, added)                         \
    static inline npy_half cwj_##type##_to_half_bits(type value)                                   \
    {                                                                                              \
        cwj_##type##_bits given, sum;                                                              \
        given.value = value;                                                                       \
        word sign = given.bits >> (8 * sizeof(word) - 1);                                          \
        word magnitude = given.bits & ~((word)1 << (8 * sizeof(word) - 1));                        \
        word payload = (magnitude >> shift) & 0x3ff, odd = (magnitude >> shift) & 1;               \
        word normal =                                                                              \
            (magnitude - least + ((word)0x400 << shift) + (((word)1 << (shift - 1)) - 1) + odd) >> \
            shift;                                                                                 \
        sum.bits = magnitude;                                                                      \
        sum.value += adds;                                                                         \
        word finite = magnitude < least ? sum.bits - added : normal;                               \
        word large = magnitude > infinity ? 0x7c00 | (payload ? payload : 1) : 0x7c00;             \
        return (npy_half)((magnitude < most ? finite : large) | sign << 15);                       \
    }
CWJ_TO_HALF(float, npy_uint32, 13, 0x38800000u, 0x47800000u, 0x7f800000u, 0.5f, 0x3f000000u)
CWJ_TO_HALF(double, npy_uint64, 42, 0x3f10000000000000u, 0x40f0000000000000u, 0x7ff0000000000000u,
            0x1p28, 0x41b0000000000000u)
#undef CWJ_TO_HALF

static inline float cwj_half_to_float(cwj_half half)
{
    return cwj_half_bits_to_float(half.bits);
}

static inline double cwj_half_to_double(cwj_half half)
{
    return cwj_half_bits_to_float(half.bits);
}

static inline cwj_half cwj_float_to_half(float value)
{
    cwj_half half;
    half.bits = cwj_float_to_half_bits(value);
    return half;
}

static inline cwj_half cwj_double_to_half(double value)
{
    cwj_half half;
    half.bits = cwj_double_to_half_bits(value);
    return half;
}

#define half_to_float(half) cwj_half_to_float(half)
#define half_to_double(half) cwj_half_to_double(half)
#define double_to_half(value) cwj_double_to_half(+(value))
/* A double is rounded once. `+` refuses a struct, which libtcc accepts in place of a number. */
#define float_to_half(value) \
    _Generic((value), float: cwj_float_to_half, default: cwj_double_to_half)(+(value))

#endif
