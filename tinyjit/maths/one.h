/* one.h: the operations of vector.h for one lane: plain numbers, in portable GNU C. */
#pragma once

typedef double tjv_double;
typedef int64_t tjv_long;
typedef uint64_t tjv_ulong;
typedef float tjv_float;
typedef int32_t tjv_int;
typedef uint32_t tjv_uint;

#define TJV_FLOAT_LANES 1

/* A lane, and the mask of a comparison. */
#define TJV_LANE(x, i) (x)
#define TJV_MASK(comparison) (-(comparison))

#define tjv_all(x) ((double)(x))
#define tjv_allf(x) ((float)(x))
#define tjv_all_long(n) ((int64_t)(n))

/* Bits between registers of numbers and of integers cost some cycles: fabs() and copysign() do without. */
#define tjv_abs fabs
#define tjv_absf fabsf
#define tjv_copysign copysign
#define tjv_sqrt sqrt

/* Instructions, or functions of libm that are exact. */
#define tjv_fma fma
#define tjv_fmaf fmaf

TJV_INLINE tjv_long tjv_bits(tjv_double x)
{
    tjv_long bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

TJV_INLINE tjv_double tjv_of_bits(tjv_long bits)
{
    tjv_double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

TJV_INLINE tjv_int tjv_bitsf(tjv_float x)
{
    tjv_int bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

TJV_INLINE tjv_float tjv_of_bitsf(tjv_int bits)
{
    tjv_float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x with the sign changed where sign has that bit: compilers make the product an exclusive or. */
TJV_INLINE tjv_double tjv_flip(tjv_double x, tjv_long sign)
{
    return x * copysign(1.0, tjv_of_bits(sign));
}

#define tjv_signed copysign

/* Compilers make branches of these, which skip what is not selected. */
#define tjv_select(mask, a, b) ((mask) ? (a) : (b))
#define tjv_selectf(mask, a, b) ((mask) ? (a) : (b))

/* The same for masks that change from call to call: no branch. */
TJV_INLINE tjv_double tjv_pick(tjv_long mask, tjv_double a, tjv_double b)
{
    return tjv_of_bits((mask & tjv_bits(a)) | (~mask & tjv_bits(b)));
}

#define tjv_any(mask) ((mask) != 0)
#define tjv_anyf(mask) ((mask) != 0)

/* A number of the table. */
#define tjv_look_up(table, index) ((table)[index])

/* Is there one lane, and its mask -1? A branch then saves what the other lanes would need. */
#define TJV_IF_ONE(mask) tjv_any(mask)

/* function(x) of floats, computed by a function of doubles. */
#define TJV_BY_DOUBLES(function, x) ((float)function((double)(x)))
#define TJV_BY_DOUBLES2(function, x, y) ((float)function((double)(x), (double)(y)))
