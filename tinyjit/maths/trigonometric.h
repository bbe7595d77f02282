/* sin, cos, sincos, tan: Cody and Waite's reduction by pi/2 in three parts with fma, Payne and Hanek's (SIGNUM 18, 1983) for the
 * lanes that need it; on |r| <= pi/4 the polynomials in the forms of fdlibm's k_sin.c and k_cos.c. */
#pragma once
#include "common.h"

/* From here on Cody and Waite's reduction does not do. */
#define TJV_ANGLE_NEAR 0x1p28

/* x = n pi/2 + h + l; the last two bits of n are those of quadrant. */
typedef struct {
    tjv_long quadrant;
    tjv_double h, l;
} tjv_angle;

TJV_INLINE tjv_angle tjv_angle_near(tjv_double x)
{
    tjv_double shifted = tjv_fma(x, tjv_all(TJV_2_PI), tjv_all(TJV_ONES)), n = TJV_ONES - shifted;
    tjv_double y = tjv_fma(n, tjv_all(TJV_PI_2_1), x); /* exact: a multiple of 2^-53 below 1 */
    tjv_pair p = tjv_two_product(n, tjv_all(TJV_PI_2_2)),
             s = tjv_ordered_sum(y, p.h); /* exact, too, if |y| < |p.h| */
    return (tjv_angle){tjv_bits(shifted), s.h, s.l + tjv_fma(n, tjv_all(TJV_PI_2_3), p.l)};
}

/* One number beyond 2^28, by Payne and Hanek: the bits of 2/pi that matter, times the 53 of x, exactly in integers. */
static __attribute__((noinline, unused)) int tjv_angle_far_one(double x, double *h, double *l)
{
    static const uint32_t bits[] = {TJV_2_PI_BITS};
    int64_t b = tjv_constant_bits(x);
    int exponent = (int)((b >> 52) & 0x7ff) - 1075; /* |x| = m 2^exponent */
    uint64_t m = ((uint64_t)b & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x0010000000000000);
    /* 2/pi = sum of bits[i] 2^(-32 (i + 1)); words whose product with x is a multiple of 4 are left out */
    int first = (exponent - 2) / 32;
    if (exponent < 34)
        first = 0;
    int shift = exponent - 32 * first; /* -24 to 33 */
    /* m * words[first .. first + 6], a fraction of 7 words below 53 bits of integer part */
    uint32_t p[9] = {0};
    uint64_t m0 = (uint32_t)m, m1 = m >> 32, carry = 0;
    uint64_t low[10] = {0};
    for (int i = 6; i >= 0; i--) {
        uint64_t w = bits[first + i];
        uint64_t a = m0 * w, c = m1 * w;
        low[i + 2] += (uint32_t)a;
        low[i + 1] += (a >> 32) + (uint32_t)c;
        low[i] += c >> 32;
    }
    for (int i = 8; i >= 0; i--) {
        carry += low[i];
        p[i] = (uint32_t)carry;
        carry >>= 32;
    }
    /* p: word 1 has the units (weight 2^0 .. 2^31), word 0 2^32 and on; fraction from word 2; times 2^shift */
    int word = (shift + 32) / 32 - 1, bit = (shift + 32) % 32;
    uint32_t q[6];
    for (int i = 0; i < 6; i++) {
        uint32_t here = p[1 + word + i], next = 2 + word + i < 9 ? p[2 + word + i] : 0;
        q[i] = bit ? here << bit | next >> (32 - bit) : here;
    }
    int n = (int)(q[0] & 3);
    uint64_t f0 = (uint64_t)q[1] << 32 | q[2], f1 = (uint64_t)q[3] << 32 | q[4],
             f2 = (uint64_t)q[5] << 32;
    int negative = f0 >> 63 != 0;
    if (negative) { /* the nearest multiple is the next */
        n++;
        f2 = ~f2 + 1;
        f1 = ~f1 + (f2 == 0);
        f0 = ~f0 + (f2 == 0 && f1 == 0);
    }
    int zeros = 0;
    while (zeros < 128 && !(f0 >> 63)) {
        f0 = f0 << 1 | f1 >> 63;
        f1 = f1 << 1 | f2 >> 63;
        f2 <<= 1;
        zeros++;
    }
    double scale = tjv_number_of_bits((int64_t)(1023 - 64 - zeros) << 52);
    double fh = (double)(int64_t)(f0 >> 11 << 10) * 2.0 * scale;
    double fl = (double)(int64_t)((f0 << 53 | f1 >> 11) >> 1) * 2.0 * (scale * 0x1p-53);
    double r = fh * TJV_PI_2_1;
    double rest = TJV_LANE(tjv_fma(tjv_all(fh), tjv_all(TJV_PI_2_1), tjv_all(-r)), 0) +
                  (fh * TJV_PI_2_2 + fl * TJV_PI_2_1);
    double s = r + rest;
    double t = (r - s) + rest;
    if (negative != (b < 0)) {
        s = -s;
        t = -t;
    }
    *h = s;
    *l = t;
    return b < 0 ? -n : n;
}

TJV_INLINE tjv_angle tjv_angle_any(tjv_double x)
{
    tjv_long far = tjv_is_large(x, TJV_ANGLE_NEAR), infinite = tjv_is_infinite_or_nan(x);
    tjv_angle a = tjv_angle_near(tjv_select(far, tjv_all(0.0), x));
    for (int i = 0; i < TJV_LANES; i++)
        if (TJV_LANE(far, i) && !TJV_LANE(infinite, i)) {
            double h, l;
            int64_t n = tjv_angle_far_one(TJV_LANE(x, i), &h, &l);
            TJV_LANE(a.h, i) = h;
            TJV_LANE(a.l, i) = l;
            TJV_LANE(a.quadrant, i) = n;
        }
    if (tjv_any(infinite)) /* NaN, with "invalid" for infinities */
        a.h = tjv_select(
            infinite, tjv_select(infinite, x, tjv_all(0.0)) - tjv_select(infinite, x, tjv_all(0.0)),
            a.h);
    return a;
}

TJV_INLINE bool tjv_angle_is_far(tjv_double x)
{
    return TJV_UNLIKELY(tjv_any(tjv_is_large(x, TJV_ANGLE_NEAR)));
}

/* sin at the angle turned by as many right angles as turn says: one polynomial whose coefficients are those of sin or cos. */
TJV_INLINE tjv_double tjv_sin_turned(tjv_angle a, int64_t turn)
{
    static const double p[] = {TJV_SIN}, q[] = {TJV_COS};
    tjv_long quadrant = a.quadrant + turn, odd = -(quadrant & 1);
#define TJV_EITHER(i) tjv_select(odd, tjv_all(q[i]), tjv_all(p[i]))
    tjv_double z = a.h * a.h, w = z * z, half = -0.5 * a.h;
    tjv_double b = tjv_fma(TJV_EITHER(1), z, TJV_EITHER(0)),
               c = tjv_fma(TJV_EITHER(3), z, TJV_EITHER(2));
    tjv_double d = tjv_fma(TJV_EITHER(5), z, TJV_EITHER(4));
#undef TJV_EITHER
    tjv_double v = tjv_fma(half, a.h, tjv_all(1.0)); /* nearly the cosine */
    tjv_double low = tjv_select(odd, tjv_fma(-a.h, a.l, tjv_fma(half, a.h, 1.0 - v)), v * a.l);
    c = tjv_fma(d, w, c);
    b = tjv_fma(c, w, b);
    tjv_double y = tjv_select(odd, v, a.h) + tjv_fma(tjv_select(odd, w, z * a.h), b, low);
    return tjv_flip(y, (tjv_long)((tjv_ulong)quadrant >> 1 << 63));
}

TJV_INLINE tjv_double tjv_sin_of(tjv_angle a, tjv_double x)
{
    return tjv_select(tjv_is(x, -0.0), x, tjv_sin_turned(a, 0));
}

TJV_RARE tjv_double tjv_sin_special(tjv_double x)
{
    return tjv_sin_of(tjv_angle_any(x), x);
}
TJV_RARE tjv_double tjv_cos_special(tjv_double x)
{
    return tjv_sin_turned(tjv_angle_any(x), 1);
}

TJV_INLINE tjv_double tjv_sin(tjv_double x)
{
    return tjv_angle_is_far(x) ? tjv_sin_special(x) : tjv_sin_of(tjv_angle_near(x), x);
}

TJV_INLINE tjv_double tjv_cos(tjv_double x)
{
    return tjv_angle_is_far(x) ? tjv_cos_special(x) : tjv_sin_turned(tjv_angle_near(x), 1);
}

/* sin(h + l) / cos(h + l), or minus its inverse: quotients of numbers in two parts. */
TJV_INLINE tjv_double tjv_tan_of(tjv_angle a, tjv_double x)
{
    static const double p[] = {TJV_SIN}, q[] = {TJV_COS};
    tjv_double z = a.h * a.h, w = z * z, half = -0.5 * a.h, v = tjv_fma(half, a.h, tjv_all(1.0));
    tjv_double s =
        tjv_fma(tjv_fma(TJV_LINEAR(p, 4, z), w, TJV_LINEAR(p, 2, z)), w, TJV_LINEAR(p, 0, z));
    tjv_double c =
        tjv_fma(tjv_fma(TJV_LINEAR(q, 4, z), w, TJV_LINEAR(q, 2, z)), w, TJV_LINEAR(q, 0, z));
    tjv_double low = tjv_fma(-a.h, a.l, tjv_fma(half, a.h, 1.0 - v));
    tjv_pair sine = tjv_ordered_sum(a.h, tjv_fma(z * a.h, s, v * a.l));
    tjv_pair cosine = tjv_ordered_sum(v, tjv_fma(w, c, low));
    tjv_long odd = -(a.quadrant & 1);
    tjv_pair y = tjv_quotient(
        (tjv_pair){tjv_select(odd, cosine.h, sine.h), tjv_select(odd, cosine.l, sine.l)},
        (tjv_pair){tjv_select(odd, sine.h, cosine.h), tjv_select(odd, sine.l, cosine.l)});
    tjv_double result = tjv_flip(y.h + y.l, (tjv_long)((tjv_ulong)a.quadrant << 63));
    return tjv_select(tjv_is(x, -0.0), x, result);
}

TJV_RARE tjv_double tjv_tan_special(tjv_double x)
{
    return tjv_tan_of(tjv_angle_any(x), x);
}

TJV_INLINE tjv_double tjv_tan(tjv_double x)
{
    return tjv_angle_is_far(x) ? tjv_tan_special(x) : tjv_tan_of(tjv_angle_near(x), x);
}

/* For floats: the same quotient without second parts. */
TJV_INLINE tjv_double tjv_tan_light(tjv_double x)
{
    static const double p[] = {TJV_SINF}, q[] = {TJV_COSF};
    tjv_double shifted = tjv_fma(x, tjv_all(TJV_2_PI), tjv_all(TJV_ONES)), n = TJV_ONES - shifted;
    tjv_double r = tjv_fma(n, tjv_all(TJV_PI_2_2), tjv_fma(n, tjv_all(TJV_PI_2_1), x)), z = r * r,
               w = z * z;
    tjv_double s = tjv_fma(z * r, tjv_fma(tjv_all(p[2]), w, TJV_LINEAR(p, 0, z)), r);
    tjv_double c = tjv_fma(w, tjv_fma(tjv_all(q[2]), w, TJV_LINEAR(q, 0, z)),
                           tjv_fma(tjv_all(-0.5), z, tjv_all(1.0)));
    tjv_long odd = -(tjv_bits(shifted) & 1);
    tjv_double y = tjv_flip(tjv_select(odd, c, s) / tjv_select(odd, s, c), tjv_shift(shifted, 63));
    return tjv_select(tjv_is(x, -0.0), x, y);
}

TJV_BY_LIGHT(tan, tjv_is_large(x, TJV_ANGLE_NEAR), 0.0)
