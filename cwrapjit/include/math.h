/* math.h: ISO C's, with POSIX's and BSD's additions. The prelude has the ISO part already; the other names are only
 * taken if a unit includes this file. */
#ifndef _MATH_H
#define _MATH_H 1

#ifndef CWJ_ISO_MATH_H
#include "iso/math.h"
#endif

extern int signgam;
cwj_d_d j0, j1, y0, y1, gamma, significand;
cwj_f_f j0f, j1f, y0f, y1f, gammaf, significandf;
cwj_l_l j0l, j1l, y0l, y1l, gammal, significandl;
cwj_d_dd drem, scalb;
cwj_f_ff dremf, scalbf;
cwj_l_ll dreml, scalbl;
double jn(int, double), yn(int, double), lgamma_r(double, int *);
float jnf(int, float), ynf(int, float), lgammaf_r(float, int *);
long double jnl(int, long double), ynl(int, long double), lgammal_r(long double, int *);
int finite(double), finitef(float), finitel(long double);
int isinff(float), isinfl(long double), isnanf(float), isnanl(long double);

#define MAXFLOAT 3.40282347e+38F

#ifdef _GNU_SOURCE
cwj_d_d exp10;
cwj_f_f exp10f;
cwj_l_l exp10l;
void sincos(double, double *, double *), sincosf(float, float *, float *),
    sincosl(long double, long double *, long double *);
#define M_El 2.718281828459045235360287471352662498L
#define M_LOG2El 1.442695040888963407359924681001892137L
#define M_LOG10El 0.434294481903251827651128918916605082L
#define M_LN2l 0.693147180559945309417232121458176568L
#define M_LN10l 2.302585092994045684017991454684364208L
#define M_PIl 3.141592653589793238462643383279502884L
#define M_PI_2l 1.570796326794896619231321691639751442L
#define M_PI_4l 0.785398163397448309615660845819875721L
#define M_1_PIl 0.318309886183790671537767526745028724L
#define M_2_PIl 0.636619772367581343075535053490057448L
#define M_2_SQRTPIl 1.128379167095512573896158903121545172L
#define M_SQRT2l 1.414213562373095048801688724209698079L
#define M_SQRT1_2l 0.707106781186547524400844362104849039L
#endif

#endif
