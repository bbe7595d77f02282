/* cwj_builtins.h: gcc's builtins that libtcc lacks, as gcc's manual describes them.
 *
 * It precedes every C file of sources=, and texts that name a builtin or include a file (which may name one). It needs
 * no other header, and takes only reserved names: functions of the C library are declared under the builtin's name
 * alone. The system's compiler never reads it. */
#ifndef CWJ_BUILTINS_H
#define CWJ_BUILTINS_H

/* ---- bytes and bits ------------------------------------------------------------ */

static inline unsigned short __builtin_bswap16(unsigned short x)
{
    return x << 8 | x >> 8;
}

static inline unsigned __builtin_bswap32(unsigned x)
{
    return x << 24 | (x & 0xff00u) << 8 | (x >> 8 & 0xff00u) | x >> 24;
}

static inline unsigned long long __builtin_bswap64(unsigned long long x)
{
    return (unsigned long long)__builtin_bswap32(x) << 32 | __builtin_bswap32(x >> 32);
}

/* ---- arithmetic that reports overflow -------------------------------------------- */

/* An integer of any type: its absolute value and its sign. */
struct cwj_whole {
    unsigned long long size;
    _Bool negative;
};

/* Returns true if the product's upper half is not 0. */
static inline _Bool cwj_too_large(unsigned long long a, unsigned long long b)
{
    return a && b && a * b / a != b;
}

/* Stores the lower bytes of a wide result. Returns true if it does not fit. */
static inline _Bool cwj_settle(struct cwj_whole x, _Bool carry, void *to, int bytes,
                               _Bool is_signed)
{
    unsigned long long value = x.negative ? -x.size : x.size, most = -1ull >> (64 - 8 * bytes);
    unsigned long long limit = is_signed ? (most >> 1) + x.negative : x.negative ? 0 : most;
    if (bytes == 8)
        *(unsigned long long *)to = value;
    else if (bytes == 4)
        *(unsigned *)to = value;
    else if (bytes == 2)
        *(unsigned short *)to = value;
    else
        *(unsigned char *)to = value;
    return carry || x.size > limit;
}

static inline _Bool cwj_add_overflow(struct cwj_whole a, struct cwj_whole b, void *to, int bytes,
                                     _Bool is_signed)
{
    struct cwj_whole sum = {a.size + b.size, a.negative};
    _Bool carry = sum.size < a.size;
    if (a.negative != b.negative) {
        carry = 0;
        sum.negative = a.size > b.size ? a.negative : b.negative;
        sum.size = a.size > b.size ? a.size - b.size : b.size - a.size;
    }
    return cwj_settle(sum, carry, to, bytes, is_signed);
}

static inline _Bool cwj_sub_overflow(struct cwj_whole a, struct cwj_whole b, void *to, int bytes,
                                     _Bool is_signed)
{
    b.negative = !b.negative;
    return cwj_add_overflow(a, b, to, bytes, is_signed);
}

static inline _Bool cwj_mul_overflow(struct cwj_whole a, struct cwj_whole b, void *to, int bytes,
                                     _Bool is_signed)
{
    struct cwj_whole product = {a.size * b.size, a.negative != b.negative};
    return cwj_settle(product, cwj_too_large(a.size, b.size), to, bytes, is_signed);
}

/* clang-format off */
#define CWJ_WHOLE(x) \
    ({ __typeof__(x) cwj_w = (x); \
       (struct cwj_whole){cwj_w < 0 ? -(unsigned long long)cwj_w : cwj_w, cwj_w < 0}; })
#define CWJ_OVERFLOW(operation, a, b, to) \
    ({ __typeof__((to) + 0) cwj_to = (to); \
       operation(CWJ_WHOLE(a), CWJ_WHOLE(b), cwj_to, sizeof *cwj_to, (__typeof__(*cwj_to))-1 < 0); })
#define CWJ_OVERFLOW_P(operation, a, b, like) \
    ({ __typeof__(like) cwj_result; CWJ_OVERFLOW(operation, a, b, &cwj_result); })
/* Operands are converted first. */
#define CWJ_OVERFLOW_OF(type, operation, a, b, to) \
    CWJ_OVERFLOW(operation, (type)(a), (type)(b), (type *)(to))

#define __builtin_add_overflow(a, b, to) CWJ_OVERFLOW(cwj_add_overflow, a, b, to)
#define __builtin_sub_overflow(a, b, to) CWJ_OVERFLOW(cwj_sub_overflow, a, b, to)
#define __builtin_mul_overflow(a, b, to) CWJ_OVERFLOW(cwj_mul_overflow, a, b, to)
#define __builtin_add_overflow_p(a, b, like) CWJ_OVERFLOW_P(cwj_add_overflow, a, b, like)
#define __builtin_sub_overflow_p(a, b, like) CWJ_OVERFLOW_P(cwj_sub_overflow, a, b, like)
#define __builtin_mul_overflow_p(a, b, like) CWJ_OVERFLOW_P(cwj_mul_overflow, a, b, like)
#define __builtin_sadd_overflow(a, b, to) CWJ_OVERFLOW_OF(int, cwj_add_overflow, a, b, to)
#define __builtin_ssub_overflow(a, b, to) CWJ_OVERFLOW_OF(int, cwj_sub_overflow, a, b, to)
#define __builtin_smul_overflow(a, b, to) CWJ_OVERFLOW_OF(int, cwj_mul_overflow, a, b, to)
#define __builtin_saddl_overflow(a, b, to) CWJ_OVERFLOW_OF(long, cwj_add_overflow, a, b, to)
#define __builtin_ssubl_overflow(a, b, to) CWJ_OVERFLOW_OF(long, cwj_sub_overflow, a, b, to)
#define __builtin_smull_overflow(a, b, to) CWJ_OVERFLOW_OF(long, cwj_mul_overflow, a, b, to)
#define __builtin_saddll_overflow(a, b, to) CWJ_OVERFLOW_OF(long long, cwj_add_overflow, a, b, to)
#define __builtin_ssubll_overflow(a, b, to) CWJ_OVERFLOW_OF(long long, cwj_sub_overflow, a, b, to)
#define __builtin_smulll_overflow(a, b, to) CWJ_OVERFLOW_OF(long long, cwj_mul_overflow, a, b, to)
#define __builtin_uadd_overflow(a, b, to) CWJ_OVERFLOW_OF(unsigned, cwj_add_overflow, a, b, to)
#define __builtin_usub_overflow(a, b, to) CWJ_OVERFLOW_OF(unsigned, cwj_sub_overflow, a, b, to)
#define __builtin_umul_overflow(a, b, to) CWJ_OVERFLOW_OF(unsigned, cwj_mul_overflow, a, b, to)
#define __builtin_uaddl_overflow(a, b, to) CWJ_OVERFLOW_OF(unsigned long, cwj_add_overflow, a, b, to)
#define __builtin_usubl_overflow(a, b, to) CWJ_OVERFLOW_OF(unsigned long, cwj_sub_overflow, a, b, to)
#define __builtin_umull_overflow(a, b, to) CWJ_OVERFLOW_OF(unsigned long, cwj_mul_overflow, a, b, to)
#define __builtin_uaddll_overflow(a, b, to) CWJ_OVERFLOW_OF(unsigned long long, cwj_add_overflow, a, b, to)
#define __builtin_usubll_overflow(a, b, to) CWJ_OVERFLOW_OF(unsigned long long, cwj_sub_overflow, a, b, to)
#define __builtin_umulll_overflow(a, b, to) CWJ_OVERFLOW_OF(unsigned long long, cwj_mul_overflow, a, b, to)

/* ---- kinds of numbers ------------------------------------------------------------ */

/* As in this package's <math.h>: a literal that is too large is infinite, and a NaN is positive. */
#define __builtin_huge_val() 1e500
#define __builtin_huge_valf() 1e50f
#define __builtin_huge_vall() 1e5000L
#define __builtin_inf() 1e500
#define __builtin_inff() 1e50f
#define __builtin_infl() 1e5000L
#ifdef __x86_64__
#define __builtin_nanf(text) (__builtin_constant_p(0.0f / 0.0f) ? 0.0f / 0.0f : -(0.0f / 0.0f))
#else
#define __builtin_nanf(text) (0.0f / 0.0f)
#endif
#define __builtin_nan(text) ((double)__builtin_nanf(text))
#define __builtin_nanl(text) ((long double)__builtin_nanf(text))

#define CWJ_NUMBER(x) __typeof__((x) + 0.0f)
#define __builtin_isnan(x) ({ CWJ_NUMBER(x) cwj_n = (x); cwj_n != cwj_n; })
#define __builtin_isinf_sign(x) ({ CWJ_NUMBER(x) cwj_n = (x); (cwj_n == 1e500) - (cwj_n == -1e500); })
#define __builtin_isinf(x) (__builtin_isinf_sign(x) != 0)
#define __builtin_isfinite(x) ({ CWJ_NUMBER(x) cwj_n = (x); cwj_n < 1e500 && cwj_n > -1e500; })
#define CWJ_LEAST(x) \
    _Generic((x), float: 1.17549435e-38f, long double: 3.36210314311209350626e-4932L, \
             default: 2.2250738585072014e-308)
#define __builtin_fpclassify(nan, infinite, normal, subnormal, zero, x) \
    ({ CWJ_NUMBER(x) cwj_n = (x); \
       cwj_n != cwj_n ? (nan) : cwj_n == 0 ? (zero) \
       : cwj_n == 1e500 || cwj_n == -1e500 ? (infinite) \
       : cwj_n < CWJ_LEAST(cwj_n) && -cwj_n < CWJ_LEAST(cwj_n) ? (subnormal) : (normal); })
#define __builtin_isnormal(x) __builtin_fpclassify(0, 0, 1, 0, 0, x)
/* Conversions keep the sign, even that of a NaN. */
#define __builtin_signbit(x) ({ union { double d; long i; } cwj_n = { (x) }; cwj_n.i < 0; })
#define __builtin_signbitf(x) __builtin_signbit((float)(x))
#define __builtin_signbitl(x) __builtin_signbit((long double)(x))
#define __builtin_isgreater(x, y) ((x) > (y))
#define __builtin_isgreaterequal(x, y) ((x) >= (y))
#define __builtin_isless(x, y) ((x) < (y))
#define __builtin_islessequal(x, y) ((x) <= (y))
#define __builtin_islessgreater(x, y) \
    ({ CWJ_NUMBER(x) cwj_n = (x); CWJ_NUMBER(y) cwj_m = (y); cwj_n < cwj_m || cwj_n > cwj_m; })
#define __builtin_isunordered(x, y) \
    ({ CWJ_NUMBER(x) cwj_n = (x); CWJ_NUMBER(y) cwj_m = (y); cwj_n != cwj_n || cwj_m != cwj_m; })

/* ---- hints -------------------------------------------------------------------------- */

#define __builtin_expect_with_probability(x, wanted, probability) ((long)(x))
#define __builtin_assume_aligned(pointer, ...) ((void *)(pointer))
#define __builtin_prefetch(pointer, ...) ((void)(pointer))
#define __builtin_object_size(pointer, kind) ((kind) & 2 ? 0ul : -1ul)
#define __builtin_LINE() __LINE__
#define __builtin_FILE() __FILE__
#define __builtin_FUNCTION() __func__
#if defined __x86_64__
#define __builtin_trap() ({ __asm__ volatile("ud2"); (void)0; })
#else
#define __builtin_trap() __builtin_abort()
#endif

/* ---- functions of the C library ------------------------------------------------------ */

typedef double cwj_builtin_d(double), cwj_builtin_dd(double, double);
typedef float cwj_builtin_f(float), cwj_builtin_ff(float, float);
typedef long double cwj_builtin_l(long double), cwj_builtin_ll(long double, long double);
#define CWJ_1(name) \
    cwj_builtin_d __builtin_##name __asm__(#name); \
    cwj_builtin_f __builtin_##name##f __asm__(#name "f"); \
    cwj_builtin_l __builtin_##name##l __asm__(#name "l");
/* Functions that this package's <math.h> implements itself. */
#define CWJ_OWN(name) \
    cwj_builtin_dd __builtin_##name __asm__("cwj_" #name); \
    cwj_builtin_ff __builtin_##name##f __asm__("cwj_" #name "f"); \
    cwj_builtin_ll __builtin_##name##l __asm__(#name "l");
#define CWJ_2(name) \
    cwj_builtin_dd __builtin_##name __asm__(#name); \
    cwj_builtin_ff __builtin_##name##f __asm__(#name "f"); \
    cwj_builtin_ll __builtin_##name##l __asm__(#name "l");
CWJ_1(acos) CWJ_1(asin) CWJ_1(atan) CWJ_1(cos) CWJ_1(sin) CWJ_1(tan) CWJ_1(acosh) CWJ_1(asinh)
CWJ_1(atanh) CWJ_1(cosh) CWJ_1(sinh) CWJ_1(tanh) CWJ_1(exp) CWJ_1(exp2) CWJ_1(expm1) CWJ_1(log)
CWJ_1(log10) CWJ_1(log1p) CWJ_1(log2) CWJ_1(logb) CWJ_1(cbrt) CWJ_1(fabs) CWJ_1(sqrt) CWJ_1(erf)
CWJ_1(erfc) CWJ_1(lgamma) CWJ_1(tgamma) CWJ_1(ceil) CWJ_1(floor) CWJ_1(nearbyint) CWJ_1(rint)
CWJ_1(round) CWJ_1(trunc)
CWJ_2(hypot) CWJ_2(atan2) CWJ_2(fmod) CWJ_2(remainder) CWJ_2(copysign)
CWJ_2(nextafter) CWJ_OWN(pow) CWJ_OWN(fdim) CWJ_OWN(fmax) CWJ_OWN(fmin)
double __builtin_fma(double, double, double) __asm__("fma"), __builtin_frexp(double, int *) __asm__("frexp"),
    __builtin_ldexp(double, int) __asm__("ldexp"), __builtin_modf(double, double *) __asm__("modf"),
    __builtin_scalbn(double, int) __asm__("scalbn");
float __builtin_fmaf(float, float, float) __asm__("fmaf"), __builtin_frexpf(float, int *) __asm__("frexpf"),
    __builtin_ldexpf(float, int) __asm__("ldexpf"), __builtin_modff(float, float *) __asm__("modff"),
    __builtin_scalbnf(float, int) __asm__("scalbnf");
int __builtin_ilogb(double) __asm__("ilogb"), __builtin_ilogbf(float) __asm__("ilogbf");
long __builtin_lrint(double) __asm__("lrint"), __builtin_lrintf(float) __asm__("lrintf"),
    __builtin_lround(double) __asm__("lround"), __builtin_lroundf(float) __asm__("lroundf"),
    __builtin_labs(long) __asm__("labs");
long long __builtin_llrint(double) __asm__("llrint"), __builtin_llrintf(float) __asm__("llrintf"),
    __builtin_llround(double) __asm__("llround"), __builtin_llroundf(float) __asm__("llroundf"),
    __builtin_llabs(long long) __asm__("llabs");
int __builtin_abs(int) __asm__("abs"), __builtin_printf(const char *, ...) __asm__("printf"),
    __builtin_puts(const char *) __asm__("puts"), __builtin_putchar(int) __asm__("putchar"),
    __builtin_sprintf(char *, const char *, ...) __asm__("sprintf"),
    __builtin_snprintf(char *, unsigned long, const char *, ...) __asm__("snprintf");
void *__builtin_memchr(const void *, int, unsigned long) __asm__("memchr");
char *__builtin_strstr(const char *, const char *) __asm__("strstr"),
    *__builtin_strpbrk(const char *, const char *) __asm__("strpbrk"),
    *__builtin_stpcpy(char *, const char *) __asm__("stpcpy");
unsigned long __builtin_strspn(const char *, const char *) __asm__("strspn"),
    __builtin_strcspn(const char *, const char *) __asm__("strcspn");
#undef CWJ_1
#undef CWJ_2
#undef CWJ_OWN
/* See this package's <math.h>: libtcc must not convert two arguments of one call. */
#define CWJ_BUILTIN_LL(function, x, y) \
    ({ long double cwj_x = (x), cwj_y = (y); function(cwj_x, cwj_y); })
#define __builtin_powl(x, y) CWJ_BUILTIN_LL(__builtin_powl, x, y)
#define __builtin_hypotl(x, y) CWJ_BUILTIN_LL(__builtin_hypotl, x, y)
#define __builtin_atan2l(x, y) CWJ_BUILTIN_LL(__builtin_atan2l, x, y)
#define __builtin_fmodl(x, y) CWJ_BUILTIN_LL(__builtin_fmodl, x, y)
#define __builtin_remainderl(x, y) CWJ_BUILTIN_LL(__builtin_remainderl, x, y)
#define __builtin_copysignl(x, y) CWJ_BUILTIN_LL(__builtin_copysignl, x, y)
#define __builtin_nextafterl(x, y) CWJ_BUILTIN_LL(__builtin_nextafterl, x, y)
#define __builtin_fdiml(x, y) CWJ_BUILTIN_LL(__builtin_fdiml, x, y)
#define __builtin_fmaxl(x, y) CWJ_BUILTIN_LL(__builtin_fmaxl, x, y)
#define __builtin_fminl(x, y) CWJ_BUILTIN_LL(__builtin_fminl, x, y)
/* clang-format on */

#endif
