/* cwj_half_bits.h: converts between the bits of float16 and numbers.
 *
 * A half has 5 bits of exponent and 10 of mantissa. Conversions round to the nearest, ties to even, and keep what fits
 * of a NaN's payload, as NumPy's do. Nothing branches, and comparisons are of 32 bits, so that loops are vectorised
 * on any processor. Requires numpy/npy_types.h. */
#ifndef CWJ_HALF_BITS_H
#define CWJ_HALF_BITS_H

typedef union {
    float value;
    npy_uint32 bits;
} cwj_float_bits;

typedef union {
    double value;
    npy_uint64 bits;
} cwj_double_bits;

/* One of two unsigned numbers; csrc/function/call/cast.c has its own. */
#ifndef CWJ_HALF_PICK
#define CWJ_HALF_PICK(condition, yes, no) ((condition) ? (yes) : (no))
#endif

/* Infinities and NaNs get the largest exponent here, too. A subnormal has no leading 1: one is put before it and
 * subtracted again, which is exact. */
static inline float cwj_half_bits_to_float(npy_half half)
{
    cwj_float_bits subnormal, signed_;
    npy_uint32 magnitude = (half & 0x7fffu) << 13, exponent = half & 0x7c00u;
    npy_uint32 normal = magnitude + CWJ_HALF_PICK(exponent == 0x7c00u, 0x70000000u, 0x38000000u);
    subnormal.bits = magnitude + 0x38800000u;
    subnormal.value -= 0x1p-14f;
    signed_.bits = CWJ_HALF_PICK(exponent != 0, normal, subnormal.bits) | (half & 0x8000u) << 16;
    return signed_.value;
}

/* `top` has the upper 32 bits of the magnitude, or'ed with 1 if a lower one is set. Rounding adds to the bits that are
 * dropped; a carry then increments the exponent, up to infinity. A subnormal result is rounded by the addition of
 * `adds`, whose last mantissa bit is worth as much as that of a subnormal half (2^-24). least, most and infinity are the
 * upper bits of the smallest normal half, of 2^16 and of infinity; added are the lower 32 bits of `adds`. This is no
 * function of both types, because libtcc inlines none. */
#define CWJ_TO_HALF(type, word, upper, shift, least, most, infinity, adds, added)                 \
    static inline npy_half cwj_##type##_to_half_bits(type value)                                  \
    {                                                                                             \
        cwj_##type##_bits given, sum;                                                             \
        given.value = value;                                                                      \
        npy_uint32 sign = (npy_uint32)(given.bits >> (8 * sizeof(word) - 16)) & 0x8000u;          \
        given.bits &= ~((word)1 << (8 * sizeof(word) - 1));                                       \
        sum.value = given.value + adds;                                                           \
        npy_uint32 top = upper, kept = top >> shift, payload = kept & 0x3ffu;                     \
        npy_uint32 half_less_1 = (1u << (shift - 1)) - 1u; /* of what the last bit is worth */    \
        npy_uint32 normal =                                                                       \
            (top - least + (0x400u << shift) + half_less_1 + (kept & 1u)) >> shift;               \
        npy_uint32 finite = CWJ_HALF_PICK(top < least, (npy_uint32)sum.bits - added, normal);     \
        npy_uint32 large = 0x7c00u | CWJ_HALF_PICK(top > infinity, payload | (payload == 0), 0u); \
        return (npy_half)(CWJ_HALF_PICK(top < most, finite, large) | sign);                       \
    }
CWJ_TO_HALF(float, npy_uint32, given.bits, 13, 0x38800000u, 0x47800000u, 0x7f800000u, 0.5f,
            0x3f000000u)
CWJ_TO_HALF(double, npy_uint64, (npy_uint32)(given.bits >> 32) | ((npy_uint32)given.bits != 0), 10,
            0x3f100000u, 0x40f00000u, 0x7ff00000u, 0x1p28, 0u)
#undef CWJ_TO_HALF

#endif
