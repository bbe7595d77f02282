/* maths_check.c: the functions of tinyjit/maths of one instruction set, for tools/maths_check.py: their errors against MPFR, their
 * flags, a digest of their bits, their speed. Build: cc -O2 -ffp-contract=off -DTJV_LANES=... (and -m... of the set) -lmpfr -lgmp -lm.
 *
 *   maths_check double NAME COUNT SEED   the largest error over COUNT arguments; flags that do not fit the results
 *   maths_check float NAME FROM TO       the same for arguments of float by their bits, in 65536ths of all (two: random)
 *   maths_check digest NAME COUNT SEED   a digest of the bits of results
 *   maths_check special NAME             results and flags at special arguments, to be compared with libm's
 *   maths_check time NAME                nanoseconds for each element: ours, libm's */
#define _GNU_SOURCE
#include "../tinyjit/maths/vector.h"

#include "../tinyjit/maths/functions.h"

#include <fenv.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    CHUNK = 64
};

/* ---- the functions -------------------------------------------------------------------------------- */

/* Like vectors, but their addresses need no alignment. */
#if TJV_LANES == 1
typedef double LOOSE_double;
typedef float LOOSE_float;
#else
typedef double LOOSE_double __attribute__((vector_size(TJV_BYTES), aligned(8), may_alias));
typedef float LOOSE_float __attribute__((vector_size(TJV_BYTES), aligned(4), may_alias));
#endif
#define LANES_OF(type) (long)(sizeof(LANES_##type) / sizeof(type))
#define RUN_1(name, type)                                                       \
    static __attribute__((noinline)) LANES_##type call_##name(LANES_##type x)   \
    {                                                                           \
        return tjv_##name(x);                                                   \
    }                                                                           \
    static void run_##name(const void *x, const void *y, void *result, long n)  \
    {                                                                           \
        (void)y;                                                                \
        for (long i = 0; i < n; i += LANES_OF(type))                            \
            *(LOOSE_##type *)((type *)result + i) =                             \
                call_##name(*(const LOOSE_##type *)((const type *)x + i));      \
    }                                                                           \
    static void libm_##name(const void *x, const void *y, void *result, long n) \
    {                                                                           \
        (void)y;                                                                \
        type (*volatile function)(type) = name;                                 \
        type (*f)(type) = function;                                             \
        for (long i = 0; i < n; i++)                                            \
            ((type *)result)[i] = f(((const type *)x)[i]);                      \
    }
#define RUN_2(name, type)                                                                     \
    static __attribute__((noinline)) LANES_##type call_##name(LANES_##type x, LANES_##type y) \
    {                                                                                         \
        return tjv_##name(x, y);                                                              \
    }                                                                                         \
    static void run_##name(const void *x, const void *y, void *result, long n)                \
    {                                                                                         \
        for (long i = 0; i < n; i += LANES_OF(type))                                          \
            *(LOOSE_##type *)((type *)result + i) =                                           \
                call_##name(*(const LOOSE_##type *)((const type *)x + i),                     \
                            *(const LOOSE_##type *)((const type *)y + i));                    \
    }                                                                                         \
    static void libm_##name(const void *x, const void *y, void *result, long n)               \
    {                                                                                         \
        type (*volatile function)(type, type) = name;                                         \
        type (*f)(type, type) = function;                                                     \
        for (long i = 0; i < n; i++)                                                          \
            ((type *)result)[i] = f(((const type *)x)[i], ((const type *)y)[i]);              \
    }
#define LANES_double tjv_double
#define LANES_float tjv_float
#define TJV_FUNCTION(name, arity, type) RUN_##arity(name, type)
#include "../tinyjit/maths/functions.def"
#undef TJV_FUNCTION

typedef struct {
    const char *name;
    int arity;
    size_t size;
    void (*run)(const void *, const void *, void *, long),
        (*libm)(const void *, const void *, void *, long);
} function;

static const function functions[] = {
#define TJV_FUNCTION(name, arity, type) {#name, arity, sizeof(type), run_##name, libm_##name},
#include "../tinyjit/maths/functions.def"
};

typedef int oracle(mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef int oracle2(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
/* Where arguments are most of the time: the interesting part of the domain, and for how long times are taken. */
static const struct {
    const char *name;
    oracle *one;
    oracle2 *two;
    double from, to, time_from, time_to;
} oracles[] = {
    {"exp", mpfr_exp, NULL, -746, 710, -10, 10},
    {"exp2", mpfr_exp2, NULL, -1076, 1025, -10, 10},
    {"expm1", mpfr_expm1, NULL, -40, 710, -10, 10},
    {"log", mpfr_log, NULL, 0, 3, 0.01, 100},
    {"log2", mpfr_log2, NULL, 0, 3, 0.01, 100},
    {"log10", mpfr_log10, NULL, 0, 3, 0.01, 100},
    {"log1p", mpfr_log1p, NULL, -1, 3, -0.9, 10},
    {"sin", mpfr_sin, NULL, -100, 100, -10, 10},
    {"cos", mpfr_cos, NULL, -100, 100, -10, 10},
    {"tan", mpfr_tan, NULL, -100, 100, -10, 10},
    {"sinh", mpfr_sinh, NULL, -30, 30, -10, 10},
    {"cosh", mpfr_cosh, NULL, -30, 30, -10, 10},
    {"tanh", mpfr_tanh, NULL, -20, 20, -5, 5},
    {"asin", mpfr_asin, NULL, -1, 1, -1, 1},
    {"acos", mpfr_acos, NULL, -1, 1, -1, 1},
    {"atan", mpfr_atan, NULL, -5, 5, -5, 5},
    {"asinh", mpfr_asinh, NULL, -5, 5, -5, 5},
    {"acosh", mpfr_acosh, NULL, 1, 5, 1, 10},
    {"atanh", mpfr_atanh, NULL, -1, 1, -0.99, 0.99},
    {"cbrt", mpfr_cbrt, NULL, -10, 10, -10, 10},
    {"erf", mpfr_erf, NULL, -6, 6, -3, 3},
    {"erfc", mpfr_erfc, NULL, -6, 28, -3, 6},
    {"pow", NULL, mpfr_pow, 0, 20, 0.1, 10},
    {"atan2", NULL, mpfr_atan2, -5, 5, -5, 5},
    {"hypot", NULL, mpfr_hypot, -5, 5, -5, 5},
};

/* ---- arguments ------------------------------------------------------------------------------------ */

static uint64_t state;

static uint64_t next_bits(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double of_bits(uint64_t b)
{
    double x;
    if ((b & UINT64_C(0x7fffffffffffffff)) > UINT64_C(0x7ff0000000000000))
        b |= UINT64_C(0x0008000000000000); /* no signalling NaN */
    memcpy(&x, &b, sizeof x);
    return x;
}

static int64_t to_bits(double x)
{
    int64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static double uniform(void)
{
    return (double)(next_bits() >> 11) * 0x1p-53;
}

/* One of: any bits; exponents near that of 1; the interesting part; few bits set; the neighbours of round numbers. */
static double argument(double from, double to)
{
    uint64_t b = next_bits();
    switch (b >> 60 & 7) {
    case 0:
        return of_bits(next_bits());
    case 1:
        return of_bits((next_bits() & UINT64_C(0x800fffffffffffff)) | (1023 - 12 + (b & 63) % 20)
                                                                          << 52);
    case 2:
        return of_bits((next_bits() & UINT64_C(0x800fffffffffffff)) | (1023 - 60 + (b & 127) % 100)
                                                                          << 52);
    case 3:
        return of_bits((next_bits() & UINT64_C(0xffffffff00000000)) + (b & 3) - 1);
    case 4:
        return of_bits((next_bits() & UINT64_C(0x800ff00000000000)) +
                       ((1023 - 10 + (b & 15)) << 52) + (b >> 8 & 7) - 3);
    default:
        return from + (to - from) * uniform();
    }
}

/* ---- errors --------------------------------------------------------------------------------------- */

/* log2 of an ulp of x */
static int ulp_of(double x, size_t size)
{
    int e;
    frexp(x, &e);
    int low = size == 8 ? -1074 : -149, digits = size == 8 ? 53 : 24;
    e -= digits;
    return e < low ? low : e;
}

static bool same_class(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

/* The error of result in ulps, if high is the exact value rounded and low is missing, in ulps; infinity counts as the
 * number after the largest. */
static double error_of(double result, double high, double low, size_t size)
{
    if (same_class(result, high))
        return isnan(high) || isinf(high) ? 0 : fabs(low);
    double largest = size == 8 ? 0x1.fffffffffffffp1023 : 0x1.fffffep127;
    if (isinf(high) && fabs(result) == largest && !signbit(high) == !signbit(result))
        return 1 + (signbit(high) ? -low : low);
    if (isinf(result) && fabs(high) == largest && !signbit(high) == !signbit(result))
        return 1 - (signbit(high) ? -low : low);
    if (isnan(result) || isnan(high) || isinf(result) || isinf(high))
        return 1e9;
    if (result == 0 && high == 0 && low == 0)
        return 1e8;
    return fabs(ldexp(result - high, -ulp_of(high, size)) - low);
}

enum {
    FLAGS = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW
};

static int flags_wanted(double x, double y, double result, double high)
{
    if (isnan(result))
        return isnan(x) || isnan(y) ? 0 : FE_INVALID;
    if (isinf(high) && !isinf(x) && !isinf(y))
        return -1;
    return 0;
}

static const char *flag_text(int flags)
{
    static char text[64];
    snprintf(text, sizeof text, "%s%s%s", flags & FE_INVALID ? "invalid " : "",
             flags & FE_DIVBYZERO ? "divide " : "", flags & FE_OVERFLOW ? "overflow " : "");
    return text;
}

static int find_oracle(const char *name)
{
    for (size_t i = 0; i < sizeof oracles / sizeof *oracles; i++) {
        size_t n = strlen(oracles[i].name);
        if (!strncmp(name, oracles[i].name, n) && (!name[n] || !strcmp(name + n, "f")))
            return (int)i;
    }
    fprintf(stderr, "no oracle for %s\n", name);
    exit(2);
}

typedef struct {
    double error, x, y, result, exact;
    long bad_flags;
    long count, wrong;
} worst;

/* The exact value: rounded, and what is missing in ulps. */
static void exact(int o, double x, double y, size_t size, double *target, double *low)
{
    static mpfr_t mx, my, mr, md;
    static bool ready;
    if (!ready) {
        mpfr_init2(mx, 53), mpfr_init2(my, 53), mpfr_init2(mr, 110), mpfr_init2(md, 110);
        ready = true;
    }
    mpfr_set_d(mx, x, MPFR_RNDN);
    mpfr_set_d(my, y, MPFR_RNDN);
    if (oracles[o].one)
        oracles[o].one(mr, mx, MPFR_RNDN);
    else
        oracles[o].two(mr, mx, my, MPFR_RNDN);
    *target = size == 8 ? mpfr_get_d(mr, MPFR_RNDN) : (double)mpfr_get_flt(mr, MPFR_RNDN);
    double largest = size == 8 ? 0x1.fffffffffffffp1023 : 0x1.fffffep127;
    double near = isinf(*target) ? copysign(largest, *target) : *target;
    mpfr_sub_d(md, mr, near, MPFR_RNDN);
    mpfr_mul_2si(md, md, -ulp_of(near, size), MPFR_RNDN);
    *low = mpfr_get_d(md, MPFR_RNDN) - (isinf(*target) ? copysign(1, *target) : 0);
}

static void check_chunk(const function *f, int o, const double *x, const double *y, worst *w)
{
    double r[CHUNK];
    float xf[CHUNK], yf[CHUNK], rf[CHUNK];
    for (int i = 0; f->size == 4 && i < CHUNK; i++)
        xf[i] = (float)x[i], yf[i] = (float)y[i];
    feclearexcept(FE_ALL_EXCEPT);
    if (f->size == 8)
        f->run(x, y, r, CHUNK);
    else
        f->run(xf, yf, rf, CHUNK);
    int flags = fetestexcept(FLAGS), wanted = 0;
    bool any_infinite = false;
    for (int i = 0; i < CHUNK; i++) {
        double target, low, result = f->size == 8 ? r[i] : (double)rf[i];
        exact(o, x[i], y[i], f->size, &target, &low);
        double error = error_of(result, target, low, f->size);
        w->count++;
        if (error > 0.5)
            w->wrong++;
        if (error > w->error) {
            w->error = error, w->x = x[i], w->y = y[i], w->result = result, w->exact = target;
        }
        int one = flags_wanted(x[i], f->arity == 2 ? y[i] : 0, result, target);
        if (one < 0)
            any_infinite = true;
        else
            wanted |= one;
    }
    if ((flags ^ wanted) & FE_INVALID || (flags & (FE_DIVBYZERO | FE_OVERFLOW) && !any_infinite) ||
        (any_infinite && !(flags & (FE_DIVBYZERO | FE_OVERFLOW))))
        if (w->bad_flags++ < 1) {
            printf("%s: flags %s(wanted %s) among", f->name, flag_text(flags),
                   wanted ? "invalid" : "none");
            for (int i = 0; i < CHUNK; i++) {
                double xs[16], ys[16], rs[16];
                float xfs[16], yfs[16], rfs[16];
                for (int j = 0; j < 16; j++)
                    xs[j] = x[i], ys[j] = y[i], xfs[j] = f->size == 4 ? (float)x[i] : 0,
                    yfs[j] = f->size == 4 ? (float)y[i] : 0;
                feclearexcept(FE_ALL_EXCEPT);
                if (f->size == 8)
                    f->run(xs, ys, rs, 16);
                else
                    f->run(xfs, yfs, rfs, 16), rs[0] = rfs[0];
                int alone = fetestexcept(FLAGS);
                if (alone && isfinite(rs[0]))
                    printf(" (%a %a)%s", x[i], y[i], flag_text(alone));
            }
            printf("\n");
        }
}

static void say(const function *f, const worst *w)
{
    printf("%s: %.4f ulp at %a", f->name, w->error, w->x);
    if (f->arity == 2)
        printf(" %a", w->y);
    printf(" is %a not %a; %ld arguments, %.3f%% not the nearest, %ld chunks with wrong flags\n",
           w->result, w->exact, w->count,
           100.0 * (double)w->wrong / (double)(w->count ? w->count : 1), w->bad_flags);
}

/* Worst cases and edges that random numbers do not find. */
static const double edges[] = {0.0,
                               1,
                               2,
                               3,
                               4,
                               0.5,
                               0.25,
                               0.125,
                               1.5,
                               10,
                               100,
                               1000,
                               1e5,
                               1e22,
                               0x1p-1074,
                               0x1p-1022,
                               0x0.fffffffffffffp-1022,
                               0x1.fffffffffffffp1023,
                               0x1p1023,
                               INFINITY,
                               NAN,
                               709.782712893384,
                               709.7827128933841,
                               745.1332191019411,
                               745.1332191019412,
                               708.3964185322641,
                               0x1.921fb54442d18p0,
                               0x1.921fb54442d18p1,
                               0x1.921fb54442d18p-1,
                               0x1.6ac5b262ca1ffp+849,
                               0x1.921fb54442d18p2,
                               0x1.6a09e667f3bcdp-1,
                               0x1.6a09e667f3bccp-1,
                               0x1.fffffffffffffp-1,
                               0x1.0000000000001p0,
                               6381956970095103.0 * 0x1p797,
                               0x1.4bdec9a4a17acp+5,
                               0x1p28,
                               0x1.fffffffffffffp27,
                               0x1.0000000000001p28,
                               1023.9999999999999,
                               1024,
                               1074,
                               1075,
                               1022,
                               26.5,
                               27.2,
                               5.9,
                               0x1p53,
                               0x1p52,
                               0x1.fffffffffffffp52,
                               0x1p-27,
                               0x1p-28,
                               0x1p-30,
                               0x1p-54,
                               0x1p-53,
                               0x1p-1000,
                               0x1p500,
                               0x1p600,
                               0x1p-500,
                               0x1p-600,
                               0x1.a827999fcef32p-2,
                               0x1.3504f333f9de6p1,
                               710.4758600739439,
                               710.475860073944};

/* For pow, half of the time: results all over the range, also of numbers near 1; near its ends; exact ones, and halves of
 * units. */
static void choose_power(const function *f, double *x, double *y)
{
    static const double ends[2][4] = {{1024, -1022, -1074, -1075}, {128, -126, -149, -150}};
    bool single = f->size == 4;
    uint64_t b = next_bits();
    if (b & 1)
        return;
    *x = fabs(b & 2 ? 1 + ldexp(uniform() - 0.5, -(int)(b >> 8 & 31)) : *x);
    double l = log2(single ? (double)(float)*x : *x);
    double wanted =
        b & 4 ? ends[single][b >> 3 & 3] + ldexp(uniform() - 0.5, -(int)(b >> 16 & 31))
              : ends[single][3] - 5 + (ends[single][0] - ends[single][3] + 10) * uniform();
    if (isfinite(l) && l != 0)
        *y = wanted / l;
    if ((b >> 32 & 15) == 0) {
        double root = (double)(next_bits() >> (single ? 52 : 46) >> (b >> 40 & 7));
        *x = ldexp((b & 32 ? root * root : 1) * root * root, (int)(b >> 48 & 31) * 4 - 64);
        *y = (double)((int)(b >> 56 & 31) - 12) * (b & 32 ? 0.25 : 0.5);
    }
}

static void check_double(const function *f, long count)
{
    int o = find_oracle(f->name);
    worst w = {.error = -1};
    double x[CHUNK], y[CHUNK];
    int n = 0, many = (int)(sizeof edges / sizeof *edges);
    for (int i = 0; i < 2 * many; i++)
        for (int j = 0; j < (f->arity == 2 ? 2 * many : 1); j++) {
            x[n] = i % 2 ? -edges[i / 2] : edges[i / 2];
            y[n] = j % 2 ? -edges[j / 2] : edges[j / 2];
            if (f->size == 4)
                x[n] = (float)x[n], y[n] = (float)y[n];
            if (++n == CHUNK)
                check_chunk(f, o, x, y, &w), n = 0;
        }
    for (; w.count < count;) {
        for (int i = 0; i < CHUNK; i++) {
            x[i] = argument(oracles[o].from, oracles[o].to);
            y[i] = argument(f->arity == 2 ? -oracles[o].to : 0, oracles[o].to);
            bool trigonometric = oracles[o].one == mpfr_sin || oracles[o].one == mpfr_cos ||
                                 oracles[o].one == mpfr_tan;
            if (trigonometric && (next_bits() & 3) == 0) {
                /* the neighbours of multiples of pi/2 */
                uint64_t b = next_bits();
                x[i] = (double)((long double)(b >> 34 >> b % 30) *
                                1.57079632679489661923132169163975144L);
                x[i] = of_bits((uint64_t)to_bits(x[i]) + (b >> 6 & 3) - 1);
            }
            if (!strncmp(f->name, "pow", 3))
                choose_power(f, &x[i], &y[i]);
            if (f->arity == 2 && strncmp(f->name, "pow", 3) && next_bits() & 1)
                y[i] = ldexp(x[i], (int)(next_bits() & 63) % 60 - 30) * (1 + uniform());
            if (f->size == 4) {
                if (next_bits() & 1 && f->arity == 1) {
                    uint32_t b = (uint32_t)next_bits();
                    float v;
                    if ((b & 0x7fffffff) > 0x7f800000)
                        b |= 0x00400000;
                    memcpy(&v, &b, 4);
                    x[i] = v;
                }
                x[i] = (float)x[i], y[i] = (float)y[i];
            }
        }
        check_chunk(f, o, x, y, &w);
    }
    say(f, &w);
}

/* The error of each result in ulps of the target's, as bits, which have the order of the numbers; 1e9 for what is no number of ulps. */
static int64_t largest_error(const float *r, const double *exact, int64_t *errors, long n,
                             long *wrong)
{
    int64_t largest = 0, many = 0;
    for (long i = 0; i < n; i++) {
        float target = (float)exact[i];
        uint32_t have, want;
        memcpy(&have, &r[i], 4);
        memcpy(&want, &target, 4);
        int64_t exponent = want >> 23 & 255, ulp = (INT64_C(1023) + 150 - (exponent ? exponent : 1))
                                                   << 52;
        bool nan = r[i] != r[i] && target != target, differ = have != want && !nan;
        bool odd = differ && (exponent == 255 || ((have | want) << 1) == 0);
        double scale, error, none = 0, all = 1e9;
        memcpy(&scale, &ulp, 8);
        error = ((double)r[i] - exact[i]) * scale;
        error = exponent == 255 ? none : error < 0 ? -error : error;
        error = odd ? all : error;
        memcpy(&errors[i], &error, 8);
        largest = errors[i] > largest ? errors[i] : largest;
        many += differ;
    }
    *wrong += many;
    return largest;
}

static bool is_among(const char *name, const char *const *names, int many)
{
    for (int i = 0; i < many; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

/* All floats of which the high 16 bits are in [from, to), against the function of doubles. */
static void check_float(const function *f, long from, long to)
{
    char name[16];
    snprintf(name, sizeof name, "%.*s", (int)strlen(f->name) - 1, f->name);
    const function *wide = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name))
            wide = &functions[i];
    if (!wide)
        exit(2);
    worst w = {.error = 0};
    enum {
        N = 1024
    };
    static float x[N], r[N], other[N];
    static double xd[N], rd[N];
    static int64_t errors[N];
    int64_t largest = 0;
    static const char *const even[] = {"cos", "cosh"};
    static const char *const odd[] = {"sin",  "tan",   "sinh",  "tanh", "asin",
                                      "atan", "asinh", "atanh", "cbrt", "erf"};
    bool is_even = is_among(name, even, 2), is_odd = is_among(name, odd, 10);
    for (long b = from << 16; b < to << 16; b += N) {
        if ((is_even || is_odd) && b >= INT64_C(1) << 31)
            break; /* done with the positive ones */
        for (int i = 0; i < N; i++) {
            uint32_t bits = (uint32_t)(b + i);
            bits |= (bits & 0x7fffffff) > 0x7f800000 ? 0x00400000 : 0; /* no signalling NaN */
            memcpy(&x[i], &bits, 4);
            xd[i] = (double)x[i];
        }
        f->run(x, x, r, N);
        wide->run(xd, xd, rd, N);
        w.count += N;
        int64_t here = largest_error(r, rd, errors, N, &w.wrong);
        if (here > largest) {
            largest = here;
            int i = 0;
            while (errors[i] != here)
                i++;
            memcpy(&w.error, &here, 8);
            w.x = xd[i], w.result = (double)r[i], w.exact = rd[i];
        }
        if (!is_even && !is_odd)
            continue;
        /* The negative ones must have the same bits but for the sign. */
        for (int i = 0; i < N; i++)
            x[i] = -x[i];
        f->run(x, x, other, N);
        w.count += N;
        for (int i = 0; i < N; i++) {
            float wanted = is_odd ? -r[i] : r[i];
            if (memcmp(&wanted, &other[i], 4) != 0 && !(isnan(wanted) && isnan(other[i])))
                w.error = 1e9, w.x = (double)x[i], w.result = (double)other[i],
                w.exact = (double)wanted, largest = INT64_MAX;
        }
    }
    say(f, &w);
}

static void digest(const function *f, long count)
{
    int o = find_oracle(f->name);
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    double x[CHUNK], y[CHUNK], r[CHUNK];
    float xf[CHUNK], yf[CHUNK];
    for (long k = 0; k < count; k += CHUNK) {
        for (int i = 0; i < CHUNK; i++) {
            x[i] = argument(oracles[o].from, oracles[o].to);
            y[i] = argument(f->arity == 2 ? -oracles[o].to : 0, oracles[o].to);
            xf[i] = (float)x[i], yf[i] = (float)y[i];
        }
        if (f->size == 8)
            f->run(x, y, r, CHUNK);
        else
            f->run(xf, yf, r, CHUNK);
        for (size_t i = 0; i < CHUNK * f->size / 8; i++) {
            uint64_t b;
            if (f->size == 8) {
                if (isnan(r[i]))
                    r[i] = NAN;
                memcpy(&b, &r[i], 8);
            } else {
                float *p = (float *)&r[i];
                for (int j = 0; j < 2; j++)
                    if (isnan(p[j]))
                        p[j] = NAN;
                memcpy(&b, p, 8);
            }
            h = (h ^ b) * UINT64_C(0x100000001b3);
            h ^= h >> 29;
        }
    }
    printf("%s: %016llx\n", f->name, (unsigned long long)h);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef struct {
    const char *name, *library;
    void (*run)(const void *, const void *, void *, long);
} peer;

#ifdef PEERS
#include PEERS
#else
static const peer peers[] = {{"", "", NULL}};
#endif

static double time_of(const function *f, void (*run)(const void *, const void *, void *, long))
{
    enum {
        N = 1024,
        ROUNDS = 30,
        REPEATS = 20
    };
    static double x[N], y[N], r[N];
    static float xf[N], yf[N];
    int o = find_oracle(f->name);
    double from = oracles[o].time_from, to = oracles[o].time_to, best = 1e9;
    for (int i = 0; i < N; i++) {
        x[i] = from + (to - from) * uniform(), y[i] = from + (to - from) * uniform();
        xf[i] = (float)x[i], yf[i] = (float)y[i];
    }
    for (int k = 0; k < ROUNDS; k++) {
        double start = now();
        for (int repeat = 0; repeat < REPEATS; repeat++)
            run(f->size == 8 ? (void *)x : xf, f->size == 8 ? (void *)y : yf, r, N);
        double took = (now() - start) / (REPEATS * N);
        best = took < best ? took : best;
    }
    return best;
}

static void take_time(const function *f)
{
    printf("%s: %.3f ns, libm %.3f", f->name, time_of(f, f->run), time_of(f, f->libm));
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
        if (!strcmp(peers[i].name, f->name))
            printf(", %s %.3f", peers[i].library, time_of(f, peers[i].run));
    printf("\n");
}

static void special(const function *f)
{
    int many = (int)(sizeof edges / sizeof *edges), bad = 0;
    for (int i = 0; i < 2 * many; i++)
        for (int j = 0; j < (f->arity == 2 ? 2 * many : 1); j++) {
            double a = i % 2 ? -edges[i / 2] : edges[i / 2],
                   b = j % 2 ? -edges[j / 2] : edges[j / 2];
            double x[16], y[16], r[16], l[16];
            float xf[16], yf[16], rf[16], lf[16];
            for (int k = 0; k < 16; k++)
                x[k] = a, y[k] = b, xf[k] = f->size == 4 ? (float)a : 0,
                yf[k] = f->size == 4 ? (float)b : 0;
            feclearexcept(FE_ALL_EXCEPT);
            f->run(f->size == 8 ? (void *)x : xf, f->size == 8 ? (void *)y : yf,
                   f->size == 8 ? (void *)r : rf, 16);
            int ours = fetestexcept(FLAGS);
            feclearexcept(FE_ALL_EXCEPT);
            f->libm(f->size == 8 ? (void *)x : xf, f->size == 8 ? (void *)y : yf,
                    f->size == 8 ? (void *)l : lf, 16);
            int theirs = fetestexcept(FLAGS);
            double ra = f->size == 8 ? r[0] : (double)rf[0],
                   la = f->size == 8 ? l[0] : (double)lf[0];
            bool odd = isnan(ra) || isnan(la) || isinf(ra) || isinf(la) || ra == 0 || la == 0;
            if ((odd && !same_class(ra, la)) || ours != theirs) {
                if (bad++ < 12) {
                    printf("%s(%a, %a): %a %s", f->name, a, b, ra, flag_text(ours));
                    printf("; libm %a %s\n", la, flag_text(theirs));
                }
            }
        }
    printf("%s: %d differences at special arguments\n", f->name, bad);
}

int main(int argc, char **argv)
{
    long a = argc > 3 ? atol(argv[3]) : 1000000, b = argc > 4 ? atol(argv[4]) : 1;
    state = (uint64_t)b;
    for (size_t i = 0; argc > 2 && i < sizeof functions / sizeof *functions; i++) {
        const function *f = &functions[i];
        if (strcmp(argv[2], f->name) && strcmp(argv[2], "all"))
            continue;
        if (!strcmp(argv[1], "double"))
            check_double(f, a);
        else if (!strcmp(argv[1], "float"))
            check_float(f, argc > 3 ? a : 0, argc > 4 ? b : 65536);
        else if (!strcmp(argv[1], "digest"))
            digest(f, a);
        else if (!strcmp(argv[1], "special"))
            special(f);
        else if (!strcmp(argv[1], "time"))
            take_time(f);
        fflush(stdout);
    }
    return 0;
}
