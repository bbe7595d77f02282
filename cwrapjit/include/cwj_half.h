/* cwj_half.h: float16 as a struct of its bits, because C would compute with the bits as with a number. Requires
 * numpy/npy_types.h. */
#ifndef CWJ_HALF_H
#define CWJ_HALF_H

#include "cwj_half_bits.h"

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
