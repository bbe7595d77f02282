/* power.h: pow. It is exp(y log x) with log x = log c + log(1 + r) in two parts. A table has 1/c so short that
 * r = x/c - 1 is exact (Tang, ACM Transactions on Mathematical Software 16, 1990, and Arm's Optimized Routines,
 * math/pow.c). */
#pragma once

#include "common.h"
#include "exp.h"
#include "log.h"
#include "maths/maths.h"

/* x = 2^k (1 + r) / inverse: log x = k ln 2 - log inverse + log(1 + r) */
typedef struct {
    tjv_double k, r;
    tjv_long part;
} tjv_pow_reduced;

static const double tjv_pow_inverses[] = {TJV_POW_INVERSES}, tjv_pow_logs[] = {TJV_POW_LOGS},
                    tjv_pow_low_logs[] = {TJV_POW_LOW_LOGS};

/* For normal x above 0. */
TJV_INLINE tjv_pow_reduced tjv_pow_reduce(tjv_double x)
{
    tjv_long b = tjv_bits(x) + (INT64_C(0x3ff0000000000000) - TJV_POW_FIRST_BITS);
    tjv_long k = (tjv_long)((tjv_ulong)b >> 52) | INT64_C(0x4330000000000000);
    tjv_long m = (b & INT64_C(0x000fffffffffffff)) + TJV_POW_FIRST_BITS;
    tjv_long part = (tjv_long)((tjv_ulong)b >> 46) & 63;
    tjv_double inverse = tjv_look_up(tjv_pow_inverses, part);
    tjv_double r = tjv_fma(tjv_of_bits(m), inverse, tjv_all(-1.0)); /* exact */
    return (tjv_pow_reduced){tjv_of_bits(k) - (0x1p52 + 1023), r, part};
}

/* y log x, for the reduced x. */
TJV_INLINE tjv_pair tjv_pow_product(tjv_double y, tjv_pow_reduced z)
{
    static const double p[] = {TJV_POW_LOG};
    tjv_double r = z.r, r2 = r * r, half = -0.5 * r;
    tjv_double high =
        tjv_fma(z.k, tjv_all(TJV_LN2_SHORT), tjv_look_up(tjv_pow_logs, z.part)); /* exact */
    tjv_double low =
        tjv_fma(z.k, tjv_all(TJV_LN2_SHORT_LOW), tjv_look_up(tjv_pow_low_logs, z.part));
    tjv_pair u = tjv_ordered_sum(high, r);
    tjv_double v = tjv_fma(half, r, u.h), rest = tjv_fma(half, r, u.h - v);
    tjv_double c = tjv_fma(tjv_all(p[6]), r2, TJV_LINEAR(p, 4, r));
    c = tjv_fma(tjv_fma(c, r2, TJV_LINEAR(p, 2, r)), r2, TJV_LINEAR(p, 0, r));
    low = tjv_fma(c, r2 * r, (low + u.l) + rest);
    tjv_pair log = tjv_ordered_sum(v, low), product = tjv_two_product(y, log.h);
    return (tjv_pair){product.h, tjv_fma(y, log.l, product.l)};
}

/* -1 where y is an integer; in *odd -1 where it is an odd one. */
TJV_INLINE tjv_long tjv_is_integer(tjv_double y, tjv_long *odd)
{
    tjv_long small = tjv_is_small(y, 0x1p52), large = tjv_is_large(y, 0x1p53);
    tjv_double a = tjv_abs(y), sum = tjv_select(small, a, tjv_all(0.0)) + 0x1p52;
    tjv_long integer = ~small | TJV_MASK(sum - 0x1p52 == a);
    *odd = integer & ~large & -(tjv_bits(tjv_select(small, sum, a)) & 1);
    return integer;
}

/* Annex F's results that are no power of a positive number, and their flags: y is the result for |x|. */
TJV_INLINE tjv_double tjv_pow_specials(tjv_double x, tjv_double y, tjv_double result)
{
    tjv_double one = tjv_all(1.0), zero = tjv_all(0.0), infinity = tjv_all(__builtin_inf());
    tjv_long odd, integer = tjv_is_integer(y, &odd), nan = tjv_is_nan(x) | tjv_is_nan(y);
    tjv_long none = tjv_is_zero(x), infinite = tjv_is_infinite(x), y_infinite = tjv_is_infinite(y);
    tjv_long unity = tjv_is(tjv_abs(x), 1.0);
    /* of |x| 0 or infinite, or y infinite */
    tjv_long grows = tjv_is_large(x, 1.0) ^ tjv_is_negative(y);
    result = tjv_select(none | infinite | y_infinite, tjv_select(grows, infinity, zero), result);
    tjv_long pole = none & tjv_is_negative(y) & ~y_infinite & ~nan & ~tjv_is_zero(y);
    result = tjv_pole(pole, one, result);
    result = tjv_select(unity & y_infinite, one, result);
    result = tjv_flip(result, tjv_sign(x) & odd);
    result =
        tjv_invalid(tjv_is_negative(x) & ~integer & ~none & ~infinite & ~nan & ~y_infinite, result);
    result = tjv_select(nan, tjv_select(tjv_is_nan(x), tjv_quiet(x), tjv_quiet(y)), result);
    return tjv_select(tjv_is_zero(y) | tjv_is(x, 1.0), one, result);
}

/* -1 where pow is the function of mathematics.h: whole exponents from -8 to 8, and 0.5. */
TJV_INLINE tjv_long tjv_pow_is_whole(tjv_double y)
{
    return ~tjv_exceeds(y, 8.0) & (TJV_MASK((y + TJV_ONES) - TJV_ONES == y) | tjv_is(y, 0.5));
}

TJV_RARE tjv_double tjv_pow_special(tjv_double x, tjv_double y)
{
    tjv_long whole = tjv_pow_is_whole(y);
    tjv_double powers = x;
    for (int i = 0; i < TJV_LANES; i++)
        if (TJV_LANE(whole, i))
            TJV_LANE(powers, i) = tj_whole_power(TJV_LANE(x, i), TJV_LANE(y, i));
    if (!tjv_any(~whole))
        return powers;
    tjv_long nan = tjv_is_nan(y);
    tjv_double exponent = tjv_select(nan, tjv_all(1.0), tjv_clamped(y, 0x1p66));
    tjv_long small = tjv_is_small(x, 0x1p-1022);
    tjv_double a =
        tjv_select(small, tjv_select(small, tjv_abs(x), tjv_all(1.0)) * 0x1p54, tjv_abs(x));
    tjv_pow_reduced z = tjv_pow_reduce(tjv_select(tjv_log_is_special(a), tjv_all(1.0), a));
    z.k = z.k - tjv_select(small, tjv_all(54.0), tjv_all(0.0));
    tjv_pair p = tjv_pow_product(exponent, z);
    /* 1 where a flag would be wrong: the result comes from tjv_pow_specials() */
    tjv_long odd;
    tjv_long known = nan | tjv_is_zero(x) | tjv_is_infinite_or_nan(x) | tjv_is_infinite(y);
    known |= tjv_is_negative(x) & ~tjv_is_integer(y, &odd);
    p.l = tjv_select(known | tjv_exceeds(p.h, 800.0), tjv_all(0.0), p.l);
    p.h = tjv_select(known, tjv_all(0.0), tjv_clamped(p.h, 800.0));
    tjv_exp_reduced e = tjv_exp_reduce(p.h, p.l);
    tjv_double result = tjv_pow_specials(x, y, tjv_scale_far(tjv_exp_finish(e), e.shifted));
    return tjv_select(whole, powers, result);
}

TJV_INLINE tjv_double tjv_pow(tjv_double x, tjv_double y)
{
    tjv_long special = tjv_log_is_special(x) | tjv_exceeds(y, 0x1p62), whole = tjv_pow_is_whole(y);
    if (TJV_IF_ONE(whole))
        return tjv_all(tj_whole_power(TJV_LANE(x, 0), TJV_LANE(y, 0)));
    if (TJV_UNLIKELY(tjv_any(special | whole)))
        return tjv_pow_special(x, y);
    tjv_pair p = tjv_pow_product(y, tjv_pow_reduce(x));
    if (TJV_UNLIKELY(tjv_any(tjv_exceeds(p.h, 708.0))))
        return tjv_pow_special(x, y);
    tjv_exp_reduced e = tjv_exp_reduce(p.h, p.l);
    return tjv_scale(tjv_exp_finish(e), e.shifted);
}

/* x^y for floats; adds to *far where it is too large or too small. */
TJV_INLINE tjv_double tjv_pow_light(tjv_double x, tjv_double y, tjv_long *far)
{
    static const double p[] = {TJV_POWF_LOG};
    tjv_pow_reduced z = tjv_pow_reduce(x);
    tjv_double r = z.r, r2 = r * r;
    tjv_double high = tjv_fma(z.k, tjv_all(TJV_LN2_HIGH), tjv_look_up(tjv_pow_logs, z.part)) + r;
    tjv_double a = tjv_fma(TJV_LINEAR(p, 2, r), r2, TJV_LINEAR(p, 0, r));
    tjv_double product = y * tjv_fma(a, r2, high);
    tjv_long exceeds = tjv_exceeds(product, 200.0);
    *far |= exceeds;
    return tjv_exp_light(
        tjv_select(exceeds, tjv_all(0.0), product)); /* no flag, as a float, either */
}

/* For floats, whose lanes of whole exponents do not count. */
TJV_INLINE tjv_double tjv_pow_wide(tjv_double x, tjv_double y)
{
    tjv_double one = tjv_all(1.0);
    tjv_long far = tjv_all_long(0), lanes = tjv_log_is_special(x) | tjv_is_infinite_or_nan(y);
    tjv_double result = tjv_pow_light(tjv_select(lanes, one, x), tjv_select(lanes, one, y), &far);
    lanes |= far;
    return tjv_select(lanes, tjv_pow(tjv_select(lanes, x, one), tjv_select(lanes, y, one)), result);
}

TJV_INLINE tjv_int tjv_powf_is_whole(tjv_float y)
{
    return ~tjv_exceedsf(y, 8.0f) &
           (TJV_MASK((y + TJV_ONESF) - TJV_ONESF == y) | TJV_MASK(y == 0.5f));
}

TJV_RARE tjv_float tjv_powf_special(tjv_float x, tjv_float y)
{
    tjv_int whole = tjv_powf_is_whole(y);
    tjv_float powers = x;
    for (int i = 0; i < TJV_FLOAT_LANES; i++)
        if (TJV_LANE(whole, i))
            TJV_LANE(powers, i) = tj_whole_powerf(TJV_LANE(x, i), TJV_LANE(y, i));
    if (!tjv_anyf(~whole))
        return powers;
    x = tjv_selectf(whole, tjv_allf(1.0f), x);
    return tjv_selectf(whole, powers, TJV_BY_DOUBLES2(tjv_pow_wide, x, y));
}

#define TJV_POW_LIGHT(x, y) tjv_pow_light(x, y, &far)
TJV_INLINE tjv_float tjv_powf(tjv_float x, tjv_float y)
{
    tjv_int whole = tjv_powf_is_whole(y),
            special = TJV_MASK((tjv_int)((tjv_uint)tjv_bitsf(x) + 0x7f800000u) >= -0x01000000) |
                      tjv_exceedsf(y, 0x1.fffffep127f);
    if (TJV_IF_ONE(whole))
        return tjv_allf(tj_whole_powerf(TJV_LANE(x, 0), TJV_LANE(y, 0)));
    if (TJV_UNLIKELY(tjv_anyf(special | whole)))
        return tjv_powf_special(x, y);
    tjv_long far = tjv_all_long(0);
    tjv_float result = TJV_BY_DOUBLES2(TJV_POW_LIGHT, x, y);
    return TJV_UNLIKELY(tjv_any(far)) ? tjv_powf_special(x, y) : result;
}
