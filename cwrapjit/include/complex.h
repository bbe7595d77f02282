/* complex.h: a <complex.h> for npy_complex64 and npy_complex128, structs of real and imag.
 *
 * libtcc has no _Complex. The names are C's; cadd() and so on replace C's operators. As in <tgmath.h>, the type of the
 * first argument selects the function; the others have the same type. cexpf() and so on take npy_complex64. */
#ifndef CWJ_COMPLEX_NAMES_H
#define CWJ_COMPLEX_NAMES_H

#ifndef CWJ_NPY_TYPES_H
#include <numpy/npy_types.h>
#endif
#ifndef CWJ_ISO_MATH_H
#include <math.h>
#endif
#include "cwj_complex.h"

/* `+` refuses a struct, which libtcc accepts in place of a number. */
#define CMPLX(real, imag) cwj_make_npy_complex128(+(real), +(imag))
#define CMPLXF(real, imag) cwj_make_npy_complex64(+(real), +(imag))

#define CWJ_C(a, name)                             \
    _Generic((a),                                  \
        npy_complex64: cwj_##name##_npy_complex64, \
        npy_complex128: cwj_##name##_npy_complex128)

#define cadd(a, b) CWJ_C(a, add)(a, b)
#define csub(a, b) CWJ_C(a, subtract)(a, b)
#define cmul(a, b) CWJ_C(a, multiply)(a, b)
#define cscale(a, x) CWJ_C(a, scale)(a, +(x))
#define cdiv(a, b) CWJ_C(a, divide)(a, b)
#define cpow(a, b) CWJ_C(a, power)(a, b)
#define cneg(a) CWJ_C(a, negative)(a)
#define conj(a) CWJ_C(a, conjugate)(a)
#define creal(a) CWJ_C(a, real)(a)
#define cimag(a) CWJ_C(a, imag)(a)
#define cabs(a) CWJ_C(a, absolute)(a)
#define carg(a) CWJ_C(a, arg)(a)
#define cproj(a) CWJ_C(a, proj)(a)
#define ceq(a, b) CWJ_C(a, equal)(a, b)
#define cne(a, b) CWJ_C(a, not_equal)(a, b)
#define clt(a, b) CWJ_C(a, less)(a, b)
#define cle(a, b) CWJ_C(a, less_equal)(a, b)
#define cgt(a, b) CWJ_C(a, greater)(a, b)
#define cge(a, b) CWJ_C(a, greater_equal)(a, b)
#define cisnan(a) CWJ_C(a, isnan)(a)
#define cisinf(a) CWJ_C(a, isinf)(a)
#define cisfinite(a) CWJ_C(a, isfinite)(a)
#define cexp(a) CWJ_C(a, exp)(a)
#define clog(a) CWJ_C(a, log)(a)
#define csqrt(a) CWJ_C(a, sqrt)(a)
#define csin(a) CWJ_C(a, sin)(a)
#define ccos(a) CWJ_C(a, cos)(a)
#define ctan(a) CWJ_C(a, tan)(a)
#define casin(a) CWJ_C(a, asin)(a)
#define cacos(a) CWJ_C(a, acos)(a)
#define catan(a) CWJ_C(a, atan)(a)
#define csinh(a) CWJ_C(a, sinh)(a)
#define ccosh(a) CWJ_C(a, cosh)(a)
#define ctanh(a) CWJ_C(a, tanh)(a)
#define casinh(a) CWJ_C(a, asinh)(a)
#define cacosh(a) CWJ_C(a, acosh)(a)
#define catanh(a) CWJ_C(a, atanh)(a)

#define caddf cwj_add_npy_complex64
#define csubf cwj_subtract_npy_complex64
#define cmulf cwj_multiply_npy_complex64
#define cscalef(a, x) cwj_scale_npy_complex64(a, +(x))
#define cdivf cwj_divide_npy_complex64
#define cpowf cwj_power_npy_complex64
#define cnegf cwj_negative_npy_complex64
#define conjf cwj_conjugate_npy_complex64
#define crealf cwj_real_npy_complex64
#define cimagf cwj_imag_npy_complex64
#define cabsf cwj_absolute_npy_complex64
#define cargf cwj_arg_npy_complex64
#define cprojf cwj_proj_npy_complex64
#define ceqf cwj_equal_npy_complex64
#define cnef cwj_not_equal_npy_complex64
#define cltf cwj_less_npy_complex64
#define clef cwj_less_equal_npy_complex64
#define cgtf cwj_greater_npy_complex64
#define cgef cwj_greater_equal_npy_complex64
#define cisnanf cwj_isnan_npy_complex64
#define cisinff cwj_isinf_npy_complex64
#define cisfinitef cwj_isfinite_npy_complex64
#define cexpf cwj_exp_npy_complex64
#define clogf cwj_log_npy_complex64
#define csqrtf cwj_sqrt_npy_complex64
#define csinf cwj_sin_npy_complex64
#define ccosf cwj_cos_npy_complex64
#define ctanf cwj_tan_npy_complex64
#define casinf cwj_asin_npy_complex64
#define cacosf cwj_acos_npy_complex64
#define catanf cwj_atan_npy_complex64
#define csinhf cwj_sinh_npy_complex64
#define ccoshf cwj_cosh_npy_complex64
#define ctanhf cwj_tanh_npy_complex64
#define casinhf cwj_asinh_npy_complex64
#define cacoshf cwj_acosh_npy_complex64
#define catanhf cwj_atanh_npy_complex64

#endif
