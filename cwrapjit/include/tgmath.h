/* tgmath.h: ISO C's, for real types, as libtcc has no complex ones. Integer arguments count as double. */
#ifndef _TGMATH_H
#define _TGMATH_H 1

#include "math.h"

#define CWJ_TG1(name, x) _Generic((x), float: name##f, long double: name##l, default: name)(x)
#define CWJ_TG1_WITH(name, x, y) \
    _Generic((x), float: name##f, long double: name##l, default: name)(x, y)
/* Several arguments: float only if all of them are, as for their sum. */
#define CWJ_TG_KIND(x) _Generic((x), float: 1.0F, long double: 1.0L, default: 1.0)
#define CWJ_TG_SUM(name, sum) _Generic(sum, float: name##f, long double: name##l, default: name)
#define CWJ_TG2(name, x, y) CWJ_TG_SUM(name, CWJ_TG_KIND(x) + CWJ_TG_KIND(y))(x, y)
/* Functions of double and float that this package's <math.h> implements itself. */
#define CWJ_TG2_OWN(name, x, y)               \
    _Generic(CWJ_TG_KIND(x) + CWJ_TG_KIND(y), \
        float: cwj_##name##f,                 \
        long double: name##l,                 \
        default: cwj_##name)(x, y)
#define CWJ_TG3(name, x, y, z) \
    CWJ_TG_SUM(name, CWJ_TG_KIND(x) + CWJ_TG_KIND(y) + CWJ_TG_KIND(z))(x, y, z)

#define acos(x) CWJ_TG1(acos, x)
#define asin(x) CWJ_TG1(asin, x)
#define atan(x) CWJ_TG1(atan, x)
#define cos(x) CWJ_TG1(cos, x)
#define sin(x) CWJ_TG1(sin, x)
#define tan(x) CWJ_TG1(tan, x)
#define acosh(x) CWJ_TG1(acosh, x)
#define asinh(x) CWJ_TG1(asinh, x)
#define atanh(x) CWJ_TG1(atanh, x)
#define cosh(x) CWJ_TG1(cosh, x)
#define sinh(x) CWJ_TG1(sinh, x)
#define tanh(x) CWJ_TG1(tanh, x)
#define exp(x) CWJ_TG1(exp, x)
#define exp2(x) CWJ_TG1(exp2, x)
#define expm1(x) CWJ_TG1(expm1, x)
#define log(x) CWJ_TG1(log, x)
#define log10(x) CWJ_TG1(log10, x)
#define log1p(x) CWJ_TG1(log1p, x)
#define log2(x) CWJ_TG1(log2, x)
#define logb(x) CWJ_TG1(logb, x)
#define cbrt(x) CWJ_TG1(cbrt, x)
#define fabs(x) CWJ_TG1(fabs, x)
#define sqrt(x) CWJ_TG1(sqrt, x)
#define erf(x) CWJ_TG1(erf, x)
#define erfc(x) CWJ_TG1(erfc, x)
#define lgamma(x) CWJ_TG1(lgamma, x)
#define tgamma(x) CWJ_TG1(tgamma, x)
#define ceil(x) CWJ_TG1(ceil, x)
#define floor(x) CWJ_TG1(floor, x)
#define nearbyint(x) CWJ_TG1(nearbyint, x)
#define rint(x) CWJ_TG1(rint, x)
#define round(x) CWJ_TG1(round, x)
#define trunc(x) CWJ_TG1(trunc, x)
#define ilogb(x) CWJ_TG1(ilogb, x)
#define lrint(x) CWJ_TG1(lrint, x)
#define llrint(x) CWJ_TG1(llrint, x)
#define lround(x) CWJ_TG1(lround, x)
#define llround(x) CWJ_TG1(llround, x)
#undef pow
#define pow(x, y) CWJ_TG2_OWN(pow, x, y)
#define hypot(x, y) CWJ_TG2(hypot, x, y)
#define atan2(x, y) CWJ_TG2(atan2, x, y)
#define fmod(x, y) CWJ_TG2(fmod, x, y)
#define remainder(x, y) CWJ_TG2(remainder, x, y)
#define copysign(x, y) CWJ_TG2(copysign, x, y)
#define nextafter(x, y) CWJ_TG2(nextafter, x, y)
#undef fdim
#define fdim(x, y) CWJ_TG2_OWN(fdim, x, y)
#undef fmax
#define fmax(x, y) CWJ_TG2_OWN(fmax, x, y)
#undef fmin
#define fmin(x, y) CWJ_TG2_OWN(fmin, x, y)
#define frexp(x, y) CWJ_TG1_WITH(frexp, x, y)
#define ldexp(x, y) CWJ_TG1_WITH(ldexp, x, y)
#define scalbn(x, y) CWJ_TG1_WITH(scalbn, x, y)
#define scalbln(x, y) CWJ_TG1_WITH(scalbln, x, y)
#define nexttoward(x, y) CWJ_TG1_WITH(nexttoward, x, y)
#define fma(x, y, z) CWJ_TG3(fma, x, y, z)
#define remquo(x, y, quotient) CWJ_TG_SUM(remquo, CWJ_TG_KIND(x) + CWJ_TG_KIND(y))(x, y, quotient)

#endif
