/* iso/math.h: ISO C's <math.h>.
 *
 * The functions are libm's. They are declared through function types, which libtcc parses three times as fast as
 * prototypes. Classification calls nothing: libtcc has no builtins for it, so these are expressions that evaluate their
 * argument once. */
#ifndef CWJ_ISO_MATH_H
#define CWJ_ISO_MATH_H

#include "float.h"

typedef float float_t;
typedef double double_t;

typedef double cwj_d_d(double), cwj_d_dd(double, double);
typedef float cwj_f_f(float), cwj_f_ff(float, float);
typedef long double cwj_l_l(long double), cwj_l_ll(long double, long double);

cwj_d_d acos, asin, atan, cos, sin, tan, acosh, asinh, atanh, cosh, sinh, tanh, exp, exp2, expm1,
    log, log10, log1p, log2, logb, cbrt, fabs, sqrt, erf, erfc, lgamma, tgamma, ceil, floor,
    nearbyint, rint, round, trunc;
cwj_d_dd pow, hypot, atan2, fmod, remainder, copysign, nextafter, fdim, fmax, fmin;
double fma(double, double, double), remquo(double, double, int *), frexp(double, int *),
    ldexp(double, int), modf(double, double *), scalbn(double, int), scalbln(double, long),
    nan(const char *), nexttoward(double, long double);

cwj_f_f acosf, asinf, atanf, cosf, sinf, tanf, acoshf, asinhf, atanhf, coshf, sinhf, tanhf, expf,
    exp2f, expm1f, logf, log10f, log1pf, log2f, logbf, cbrtf, fabsf, sqrtf, erff, erfcf, lgammaf,
    tgammaf, ceilf, floorf, nearbyintf, rintf, roundf, truncf;
cwj_f_ff powf, hypotf, atan2f, fmodf, remainderf, copysignf, nextafterf, fdimf, fmaxf, fminf;
float fmaf(float, float, float), remquof(float, float, int *), frexpf(float, int *),
    ldexpf(float, int), modff(float, float *), scalbnf(float, int), scalblnf(float, long),
    nanf(const char *), nexttowardf(float, long double);

cwj_l_l acosl, asinl, atanl, cosl, sinl, tanl, acoshl, asinhl, atanhl, coshl, sinhl, tanhl, expl,
    exp2l, expm1l, logl, log10l, log1pl, log2l, logbl, cbrtl, fabsl, sqrtl, erfl, erfcl, lgammal,
    tgammal, ceill, floorl, nearbyintl, rintl, roundl, truncl;
cwj_l_ll powl, hypotl, atan2l, fmodl, remainderl, copysignl, nextafterl, fdiml, fmaxl, fminl,
    nexttowardl;
long double fmal(long double, long double, long double), remquol(long double, long double, int *),
    frexpl(long double, int *), ldexpl(long double, int), modfl(long double, long double *),
    scalbnl(long double, int), scalblnl(long double, long), nanl(const char *);

int ilogb(double), ilogbf(float), ilogbl(long double);
long lrint(double), lrintf(float), lrintl(long double);
long lround(double), lroundf(float), lroundl(long double);
long long llrint(double), llrintf(float), llrintl(long double);
long long llround(double), llroundf(float), llroundl(long double);

#define MATH_ERRNO 1
#define MATH_ERREXCEPT 2
#define math_errhandling (MATH_ERRNO | MATH_ERREXCEPT)
#define FP_ILOGB0 (-2147483647 - 1)
#if defined __x86_64__
#define FP_ILOGBNAN (-2147483647 - 1)
#else
#define FP_ILOGBNAN 2147483647
#endif

enum {
    FP_NAN,
    FP_INFINITE,
    FP_ZERO,
    FP_SUBNORMAL,
    FP_NORMAL
};

#if defined __GNUC__ || defined CWJ_CC
#define HUGE_VAL __builtin_huge_val()
#define HUGE_VALF __builtin_huge_valf()
#define HUGE_VALL __builtin_huge_vall()
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define fpclassify(x) __builtin_fpclassify(FP_NAN, FP_INFINITE, FP_NORMAL, FP_SUBNORMAL, FP_ZERO, x)
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf_sign(x)
#define isfinite(x) __builtin_isfinite(x)
#define isnormal(x) __builtin_isnormal(x)
#define signbit(x) (__builtin_signbit(x) != 0)
#define isgreater(x, y) __builtin_isgreater(x, y)
#define isgreaterequal(x, y) __builtin_isgreaterequal(x, y)
#define isless(x, y) __builtin_isless(x, y)
#define islessequal(x, y) __builtin_islessequal(x, y)
#define islessgreater(x, y) __builtin_islessgreater(x, y)
#define isunordered(x, y) __builtin_isunordered(x, y)
#else
/* A literal that is too large is infinite. NAN is positive, as NumPy's: libtcc folds 0/0 to that in static
 * initializers, and otherwise divides at run time, where x86 makes a negative one. */
#define HUGE_VAL 1e500
#define HUGE_VALF 1e50f
#define HUGE_VALL 1e5000L
#define INFINITY HUGE_VALF
#ifdef __x86_64__
#define NAN (__builtin_constant_p(0.0f / 0.0f) ? 0.0f / 0.0f : -(0.0f / 0.0f))
#else
#define NAN (0.0f / 0.0f)
#endif
/* libtcc converts a double to a long double wrongly while it holds another one, as in fmaxl(a, b) of two doubles, or
 * logl(a) - logl(b). Variables are therefore converted one after the other. */
/* clang-format off */
#define CWJ_LL(function, x, y) ({ long double cwj_x = (x), cwj_y = (y); function(cwj_x, cwj_y); })
#define CWJ_L(function, x) ({ long double cwj_l = (x); function(cwj_l); })
#define sinl(x) CWJ_L(sinl, x)
#define cosl(x) CWJ_L(cosl, x)
#define tanl(x) CWJ_L(tanl, x)
#define asinl(x) CWJ_L(asinl, x)
#define acosl(x) CWJ_L(acosl, x)
#define atanl(x) CWJ_L(atanl, x)
#define sinhl(x) CWJ_L(sinhl, x)
#define coshl(x) CWJ_L(coshl, x)
#define tanhl(x) CWJ_L(tanhl, x)
#define asinhl(x) CWJ_L(asinhl, x)
#define acoshl(x) CWJ_L(acoshl, x)
#define atanhl(x) CWJ_L(atanhl, x)
#define expl(x) CWJ_L(expl, x)
#define exp2l(x) CWJ_L(exp2l, x)
#define expm1l(x) CWJ_L(expm1l, x)
#define logl(x) CWJ_L(logl, x)
#define log10l(x) CWJ_L(log10l, x)
#define log1pl(x) CWJ_L(log1pl, x)
#define log2l(x) CWJ_L(log2l, x)
#define logbl(x) CWJ_L(logbl, x)
#define cbrtl(x) CWJ_L(cbrtl, x)
#define fabsl(x) CWJ_L(fabsl, x)
#define sqrtl(x) CWJ_L(sqrtl, x)
#define erfl(x) CWJ_L(erfl, x)
#define erfcl(x) CWJ_L(erfcl, x)
#define lgammal(x) CWJ_L(lgammal, x)
#define tgammal(x) CWJ_L(tgammal, x)
#define ceill(x) CWJ_L(ceill, x)
#define floorl(x) CWJ_L(floorl, x)
#define truncl(x) CWJ_L(truncl, x)
#define roundl(x) CWJ_L(roundl, x)
#define rintl(x) CWJ_L(rintl, x)
#define nearbyintl(x) CWJ_L(nearbyintl, x)
#define powl(x, y) CWJ_LL(powl, x, y)
#define hypotl(x, y) CWJ_LL(hypotl, x, y)
#define atan2l(x, y) CWJ_LL(atan2l, x, y)
#define fmodl(x, y) CWJ_LL(fmodl, x, y)
#define remainderl(x, y) CWJ_LL(remainderl, x, y)
#define copysignl(x, y) CWJ_LL(copysignl, x, y)
#define nextafterl(x, y) CWJ_LL(nextafterl, x, y)
#define nexttowardl(x, y) CWJ_LL(nexttowardl, x, y)
#define fdiml(x, y) CWJ_LL(fdiml, x, y)
#define fmaxl(x, y) CWJ_LL(fmaxl, x, y)
#define fminl(x, y) CWJ_LL(fminl, x, y)
#define fmal(x, y, z) \
    ({ long double cwj_x = (x), cwj_y = (y), cwj_z = (z); fmal(cwj_x, cwj_y, cwj_z); })
#define remquol(x, y, quotient) \
    ({ long double cwj_x = (x), cwj_y = (y); remquol(cwj_x, cwj_y, quotient); })
/* These functions are the ones that the cc tier inlines (tinyjit/mathematics.h). */
cwj_d_dd cwj_pow, cwj_fmin, cwj_fmax, cwj_fdim;
cwj_f_ff cwj_powf, cwj_fminf, cwj_fmaxf, cwj_fdimf;
#define pow cwj_pow
#define powf cwj_powf
#define fmin cwj_fmin
#define fminf cwj_fminf
#define fmax cwj_fmax
#define fmaxf cwj_fmaxf
#define fdim cwj_fdim
#define fdimf cwj_fdimf
#define CWJ_REAL(x) __typeof__((x) + 0.0f)
#define CWJ_LEAST_NORMAL(x) _Generic((x), float: FLT_MIN, long double: LDBL_MIN, default: DBL_MIN)
#define fpclassify(x) \
    ({ CWJ_REAL(x) cwj_x = (x); \
       cwj_x != cwj_x ? FP_NAN : cwj_x == 0 ? FP_ZERO \
       : cwj_x == HUGE_VAL || cwj_x == -HUGE_VAL ? FP_INFINITE \
       : cwj_x < CWJ_LEAST_NORMAL(cwj_x) && -cwj_x < CWJ_LEAST_NORMAL(cwj_x) ? FP_SUBNORMAL \
       : FP_NORMAL; })
#define isnan(x) ({ CWJ_REAL(x) cwj_x = (x); cwj_x != cwj_x; })
#define isinf(x) ({ CWJ_REAL(x) cwj_x = (x); (cwj_x == HUGE_VAL) - (cwj_x == -HUGE_VAL); })
#define isfinite(x) ({ CWJ_REAL(x) cwj_x = (x); cwj_x < HUGE_VAL && cwj_x > -HUGE_VAL; })
#define isnormal(x) (fpclassify(x) == FP_NORMAL)
/* Conversions keep the sign, even that of a NaN. */
#define signbit(x) ({ union { double d; long i; } cwj_x = { (x) }; cwj_x.i < 0; })
#define isgreater(x, y) ((x) > (y))
#define isgreaterequal(x, y) ((x) >= (y))
#define isless(x, y) ((x) < (y))
#define islessequal(x, y) ((x) <= (y))
#define islessgreater(x, y) \
    ({ CWJ_REAL(x) cwj_x = (x); CWJ_REAL(y) cwj_y = (y); \
       cwj_x < cwj_y || cwj_x > cwj_y; })
#define isunordered(x, y) \
    ({ CWJ_REAL(x) cwj_x = (x); CWJ_REAL(y) cwj_y = (y); \
       cwj_x != cwj_x || cwj_y != cwj_y; })
/* clang-format on */
#endif

/* POSIX's constants, which snippets expect. */
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

#endif
