/* single.h: exp, log, sin, cos of floats in their own precision: the algorithms of exp.h, log.h and trigonometric.h with shorter
 * polynomials; the lanes that are special are computed as doubles. */
#pragma once

#include "common.h"
#include "exp.h"
#include "log.h"
#include "trigonometric.h"

/* p[i] + p[i + 1] x */
#define TJV_LINEARF(p, i, x) tjv_fmaf(tjv_allf((p)[(i) + 1]), x, tjv_allf((p)[i]))

/* tjv_NAMEf by tjv_NAME_single, and tjv_NAME for the lanes that are special; `safe` is no special argument. */
#define TJV_BY_SINGLE(name, special, safe)                                        \
    TJV_RARE tjv_float tjv_##name##_single_special(tjv_float x)                   \
    {                                                                             \
        tjv_int lanes = special;                                                  \
        tjv_float y = tjv_##name##_single(tjv_selectf(lanes, tjv_allf(safe), x)); \
        x = tjv_selectf(lanes, x, tjv_allf(safe));                                \
        return tjv_selectf(lanes, TJV_BY_DOUBLES(tjv_##name, x), y);              \
    }                                                                             \
    TJV_INLINE tjv_float tjv_##name##f(tjv_float x)                               \
    {                                                                             \
        if (TJV_UNLIKELY(tjv_anyf(special)))                                      \
            return tjv_##name##_single_special(x);                                \
        return tjv_##name##_single(x);                                            \
    }

TJV_INLINE tjv_float tjv_exp_single(tjv_float x)
{
    static const float p[] = {TJV_EXP_SINGLE};
    tjv_float shifted = tjv_fmaf(x, tjv_allf(TJV_1_LN2F), tjv_allf(TJV_ONESF)),
              n = shifted - TJV_ONESF;
    tjv_float high = tjv_fmaf(n, tjv_allf(-TJV_LN2F_HIGH), x); /* exact */
    tjv_float r = tjv_fmaf(n, tjv_allf(-TJV_LN2F_LOW), high),
              low = tjv_fmaf(n, tjv_allf(-TJV_LN2F_LOW), high - r);
    tjv_float r2 = r * r, sum = 1.0f + r;
    tjv_float b = tjv_fmaf(tjv_allf(p[4]), r2, TJV_LINEARF(p, 2, r));
    low = ((1.0f - sum) + r) + low;
    tjv_float y = sum + tjv_fmaf(tjv_fmaf(b, r2, TJV_LINEARF(p, 0, r)), r2, low);
    return tjv_of_bitsf(tjv_bitsf(y) + (tjv_int)((tjv_uint)tjv_bitsf(shifted) << 23));
}

/* For normal x above 0. */
TJV_INLINE tjv_float tjv_log_single(tjv_float x)
{
    static const float p[] = {TJV_LOG_SINGLE};
    tjv_int b = tjv_bitsf(x) + (0x3f800000 - 0x3f3504f3);
    tjv_float k = tjv_of_bitsf((tjv_int)((tjv_uint)b >> 23) | 0x4b000000) - (0x1p23f + 127);
    tjv_float f = tjv_of_bitsf((b & 0x007fffff) + 0x3f3504f3) - 1.0f, half = -0.5f * f;
    tjv_float large = k * TJV_LN2F_SHORT, u = large + f,
              v = tjv_fmaf(half, f, u); /* in two parts */
    tjv_float low = tjv_fmaf(half, f, u - v) + ((large - u) + f);
    tjv_float f2 = f * f, f4 = f2 * f2;
    tjv_float c = tjv_fmaf(TJV_LINEARF(p, 2, f), f2, TJV_LINEARF(p, 0, f));
    tjv_float d = tjv_fmaf(TJV_LINEARF(p, 6, f), f2, TJV_LINEARF(p, 4, f));
    low = tjv_fmaf(k, tjv_allf(TJV_LN2F_SHORT_LOW), low);
    return v + tjv_fmaf(tjv_fmaf(d, f4, c), f2 * f, low);
}

TJV_INLINE tjv_float tjv_sin_single_turned(tjv_float x, int32_t turn)
{
    static const float p[] = {TJV_SIN_SINGLE}, q[] = {TJV_COS_SINGLE};
    tjv_float shifted = tjv_fmaf(x, tjv_allf(TJV_2_PIF), tjv_allf(TJV_ONESF)),
              n = TJV_ONESF - shifted;
    tjv_float y = tjv_fmaf(n, tjv_allf(TJV_PIF_2_1), x); /* exact */
    tjv_float product = n * TJV_PIF_2_2, rest = tjv_fmaf(n, tjv_allf(TJV_PIF_2_2), -product),
              h = y + product;
    tjv_float l = ((y - h) + product) + tjv_fmaf(n, tjv_allf(TJV_PIF_2_3), rest);
    tjv_int quadrant = tjv_bitsf(shifted) + turn, odd = -(quadrant & 1);
#define TJV_EITHER(i) tjv_selectf(odd, tjv_allf(q[i]), tjv_allf(p[i]))
    tjv_float z = h * h, w = z * z, half = -0.5f * h, v = tjv_fmaf(half, h, tjv_allf(1.0f));
    tjv_float b = tjv_fmaf(TJV_EITHER(2), w, tjv_fmaf(TJV_EITHER(1), z, TJV_EITHER(0)));
#undef TJV_EITHER
    tjv_float low = tjv_selectf(odd, tjv_fmaf(-h, l, tjv_fmaf(half, h, 1.0f - v)), v * l);
    y = tjv_selectf(odd, v, h) + tjv_fmaf(tjv_selectf(odd, w, z * h), b, low);
    return tjv_of_bitsf(tjv_bitsf(y) ^ (tjv_int)((tjv_uint)quadrant >> 1 << 31));
}

TJV_INLINE tjv_float tjv_sin_single(tjv_float x)
{
    return tjv_selectf(TJV_MASK(tjv_bitsf(x) == INT32_MIN), x, tjv_sin_single_turned(x, 0));
}

TJV_INLINE tjv_float tjv_cos_single(tjv_float x)
{
    return tjv_sin_single_turned(x, 1);
}

TJV_BY_SINGLE(exp, tjv_exceedsf(x, 87.0f), 0.0f)
TJV_BY_SINGLE(log, TJV_MASK((tjv_uint)tjv_bitsf(x) - 0x00800000 >= 0x7f000000), 1.0f)
TJV_BY_SINGLE(sin, tjv_exceedsf(x, 0x1p17f), 0.0f)
TJV_BY_SINGLE(cos, tjv_exceedsf(x, 0x1p17f), 0.0f)
