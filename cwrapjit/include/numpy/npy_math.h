/* numpy/npy_math.h: NumPy's names for the contents of <math.h>. */
#ifndef CWJ_NPY_MATH_H
#define CWJ_NPY_MATH_H

#include "npy_common.h"
#ifndef CWJ_ISO_MATH_H
#include "../iso/math.h"
#endif

#define NPY_INFINITYF INFINITY
#define NPY_NANF NAN
#define NPY_INFINITY ((npy_double)INFINITY)
#define NPY_NAN ((npy_double)NAN)
#define NPY_INFINITYL ((npy_longdouble)INFINITY)
#define NPY_NANL ((npy_longdouble)NAN)
#define NPY_PZERO 0.0
#define NPY_NZERO (-0.0)
#define NPY_E M_E
#define NPY_LOG2E M_LOG2E
#define NPY_LOG10E M_LOG10E
#define NPY_LOGE2 M_LN2
#define NPY_LOGE10 M_LN10
#define NPY_PI M_PI
#define NPY_PI_2 M_PI_2
#define NPY_PI_4 M_PI_4
#define NPY_1_PI M_1_PI
#define NPY_2_PI M_2_PI
#define NPY_EULER 0.577215664901532860606512090082402431
#define NPY_SQRT2 M_SQRT2
#define NPY_SQRT1_2 M_SQRT1_2
#define NPY_PIf 3.141592653589793238462643383279502884F
#define NPY_PIl 3.141592653589793238462643383279502884L

#define npy_isnan(x) isnan(x)
#define npy_isinf(x) isinf(x)
#define npy_isfinite(x) isfinite(x)
#define npy_signbit(x) signbit(x)

#define npy_acos acos
#define npy_asin asin
#define npy_atan atan
#define npy_cos cos
#define npy_sin sin
#define npy_tan tan
#define npy_acosh acosh
#define npy_asinh asinh
#define npy_atanh atanh
#define npy_cosh cosh
#define npy_sinh sinh
#define npy_tanh tanh
#define npy_exp exp
#define npy_exp2 exp2
#define npy_expm1 expm1
#define npy_log log
#define npy_log10 log10
#define npy_log1p log1p
#define npy_log2 log2
#define npy_cbrt cbrt
#define npy_fabs fabs
#define npy_sqrt sqrt
#define npy_ceil ceil
#define npy_floor floor
#define npy_rint rint
#define npy_trunc trunc
#define npy_pow pow
#define npy_hypot hypot
#define npy_atan2 atan2
#define npy_fmod fmod
#define npy_copysign copysign
#define npy_nextafter nextafter

#define npy_acosf acosf
#define npy_asinf asinf
#define npy_atanf atanf
#define npy_cosf cosf
#define npy_sinf sinf
#define npy_tanf tanf
#define npy_acoshf acoshf
#define npy_asinhf asinhf
#define npy_atanhf atanhf
#define npy_coshf coshf
#define npy_sinhf sinhf
#define npy_tanhf tanhf
#define npy_expf expf
#define npy_exp2f exp2f
#define npy_expm1f expm1f
#define npy_logf logf
#define npy_log10f log10f
#define npy_log1pf log1pf
#define npy_log2f log2f
#define npy_cbrtf cbrtf
#define npy_fabsf fabsf
#define npy_sqrtf sqrtf
#define npy_ceilf ceilf
#define npy_floorf floorf
#define npy_rintf rintf
#define npy_truncf truncf
#define npy_powf powf
#define npy_hypotf hypotf
#define npy_atan2f atan2f
#define npy_fmodf fmodf
#define npy_copysignf copysignf
#define npy_nextafterf nextafterf

#define npy_acosl acosl
#define npy_asinl asinl
#define npy_atanl atanl
#define npy_cosl cosl
#define npy_sinl sinl
#define npy_tanl tanl
#define npy_acoshl acoshl
#define npy_asinhl asinhl
#define npy_atanhl atanhl
#define npy_coshl coshl
#define npy_sinhl sinhl
#define npy_tanhl tanhl
#define npy_expl expl
#define npy_exp2l exp2l
#define npy_expm1l expm1l
#define npy_logl logl
#define npy_log10l log10l
#define npy_log1pl log1pl
#define npy_log2l log2l
#define npy_cbrtl cbrtl
#define npy_fabsl fabsl
#define npy_sqrtl sqrtl
#define npy_ceill ceill
#define npy_floorl floorl
#define npy_rintl rintl
#define npy_truncl truncl
#define npy_powl powl
#define npy_hypotl hypotl
#define npy_atan2l atan2l
#define npy_fmodl fmodl
#define npy_copysignl copysignl
#define npy_nextafterl nextafterl

#define npy_deg2rad(x) ((x) * (NPY_PI / 180.0))
#define npy_rad2deg(x) ((x) * (180.0 / NPY_PI))

#endif
