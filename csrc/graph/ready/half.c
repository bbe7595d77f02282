/* half.c: float16 to float and back, in integer arithmetic.
 *
 * A half has 5 bits of exponent and 10 of mantissa. Rounding adds what lies below
 * the kept bits to them, so that a carry runs into the exponent by itself, up to
 * infinity. */
#include "graph/ready/ready.h"

static uint32_t
bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float
float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float
cwj_half_to_float(npy_half half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 0x1fu, mantissa = half & 0x3ffu;
    if (exponent == 0x1f) { /* infinity, or NaN with its payload */
        return float_of(sign | 0x7f800000u | mantissa << 13);
    }
    if (exponent == 0) { /* zero, or a subnormal: the float is normal, and exact */
        float value = (float)mantissa * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
}

/* The kept bits of value >> shift, to the nearest, ties to even. */
static uint32_t
round_shift(uint32_t value, unsigned shift)
{
    uint32_t kept = value >> shift, half = 1u << (shift - 1), rest = value & ((half << 1) - 1);
    return kept + (rest > half || (rest == half && (kept & 1u) != 0));
}

npy_half
cwj_float_to_half(float value)
{
    uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffffu;
    npy_half sign = (npy_half)((bits >> 16) & 0x8000u);
    if (magnitude > 0x7f800000u) { /* NaN: what is left of its payload, and never infinity */
        npy_half payload = (npy_half)((magnitude >> 13) & 0x3ffu);
        return (npy_half)(sign | 0x7c00u | (payload != 0 ? payload : 1u));
    }
    if (magnitude >= 0x47800000u) { /* 2^16 and more, infinity */
        return (npy_half)(sign | 0x7c00u);
    }
    if (magnitude >= 0x38800000u) { /* 2^-14: normal */
        return (npy_half)(sign | round_shift(magnitude - 0x38000000u, 13));
    }
    unsigned exponent = magnitude >> 23;
    if (exponent < 102) { /* below half of the smallest subnormal */
        return sign;
    }
    uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    return (npy_half)(sign | round_shift(mantissa, 126 - exponent));
}

double
cwj_half_to_double(npy_half half)
{
    return cwj_half_to_float(half);
}

/* By way of a float that is rounded to odd, so that the second rounding sees that
 * something was cut off. */
npy_half
cwj_double_to_half(double value)
{
    float narrow = (float)value;
    if ((double)narrow != value && narrow == narrow && (bits_of(narrow) & 1u) == 0) {
        double nearest = narrow;
        bool up = value > 0 ? nearest < value : nearest > value; /* away from zero */
        if (bits_of(narrow) << 1 != 0xff000000u) {
            narrow = float_of(bits_of(narrow) + (up ? 1u : (uint32_t)-1));
        }
    }
    return cwj_float_to_half(narrow);
}
