/* numpy/halffloat.h: NumPy's float16, IEEE half precision, as bits and as cwj_half. */
#ifndef CWJ_NUMPY_HALFFLOAT_H
#define CWJ_NUMPY_HALFFLOAT_H

#ifndef CWJ_NPY_TYPES_H
#include "npy_types.h"
#endif

#include "../cwj_half.h"

#define npy_half_to_float(half) cwj_half_bits_to_float(half)
#define npy_half_to_double(half) ((double)cwj_half_bits_to_float(half))
#define npy_float_to_half(value) cwj_float_to_half_bits(value)
#define npy_double_to_half(value) cwj_double_to_half_bits(value)

#define NPY_HALF_ZERO 0x0000u
#define NPY_HALF_PZERO 0x0000u
#define NPY_HALF_NZERO 0x8000u
#define NPY_HALF_ONE 0x3c00u
#define NPY_HALF_NEGONE 0xbc00u
#define NPY_HALF_PINF 0x7c00u
#define NPY_HALF_NINF 0xfc00u
#define NPY_HALF_NAN 0x7e00u
#define npy_half_isnan(h) (((h) & 0x7fffu) > 0x7c00u)
#define npy_half_isinf(h) (((h) & 0x7fffu) == 0x7c00u)
#define npy_half_isfinite(h) (((h) & 0x7c00u) != 0x7c00u)
#define npy_half_iszero(h) (((h) & 0x7fffu) == 0)
#define npy_half_signbit(h) (((h) & 0x8000u) != 0)

#endif
