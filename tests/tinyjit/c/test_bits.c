/* test_bits.c: tests that both tiers give the same bits. libtcc and the system's compiler compile a loop for each
 * expression from one text, which runs over edge values and random bits. NaNs equal each other. Not promised: the
 * bits of a NaN, shifts by a negative or too large number, and conversions of values that the integer type cannot
 * represent. */
#include "program.h"

#include <stdint.h>

enum {
    COUNT = 2051,
    MOST_BYTES = 16 /* of an element */
};

typedef struct type {
    const char *name;
    size_t size;
    size_t real; /* bytes of a floating-point component, or 0 */
    const char *fits; /* C text: a as a number that this type can represent */
} type;

static const type types[] = {{"double", 8, 8, "a"},
                             {"float", 4, 4, "a"},
                             {"long", 8, 0, "a<1e18&&a>-1e18?(long)a:7"},
                             {"unsigned long", 8, 0, "a<1.8e19&&a>=0?(unsigned long)a:7"},
                             {"int", 4, 0, "a<1e9&&a>-1e9?(int)a:0"},
                             {"unsigned", 4, 0, "a<4e9&&a>=0?(unsigned)a:7"},
                             {"short", 2, 0, "a<3e4&&a>-3e4?(short)a:7"},
                             {"unsigned short", 2, 0, "a<6e4&&a>=0?(unsigned short)a:7"},
                             {"signed char", 1, 0, "a<120&&a>-120?(signed char)a:7"},
                             {"unsigned char", 1, 0, "a<255&&a>=0?(unsigned char)a:7"}},
                  complexes[] = {{"npy_complex128", 16, 8, NULL}, {"npy_complex64", 8, 4, NULL}};

typedef struct kernel {
    const type *from, *to;
    const char *expression; /* of a, b, c, whose type is T */
} kernel;

static const char *const real_expressions[] = {
    "a*b+c",
    "a*b-c",
    "c-a*b",
    "a*b+c*a",
    "a*a+b*b+c*c",
    "a/b",
    "a/3",
    "a+(b+c)",
    "a<b?a:b",
    "a<=b?b:a",
    "fmin(a,b)",
    "fmax(a,b)",
    "fabs(a)",
    "-a",
    "0-a",
    "a+0.0",
    "a-0.0",
    "a*0",
    "a/a",
    "sqrt(a)",
    "1/sqrt(a)",
    "floor(a)",
    "ceil(a)",
    "trunc(a)",
    "rint(a)",
    "nearbyint(a)",
    "round(a)",
    "roundf(a)",
    "copysign(a,b)",
    "fma(a,b,c)",
    "pow(a,2.0)",
    "pow(a,0.5)",
    "pow(a,-1.0)",
    "pow(a,3.0)",
    "pow(a,b)",
    "pow(2.0,a)",
    "exp(a)",
    "log(exp(a))",
    "cos(a)+sin(a)",
    "atan2(a,b)",
    "hypot(a,b)",
    "fmod(a,b)",
    "cbrt(a)",
    "log1p(a)",
    "sinf(a)*cosf(a)",
    "isnan(a)+2*isinf(a)",
    "isfinite(a)+2*signbit(a)",
    "(float)a*(float)b",
    "(float)((double)a*(double)b+(double)c)",
    "(float)sqrt((double)a)",
    "ldexp(a,3)",
    "fdim(a,b)",
    "nextafter(a,b)",
    "a>0?sqrt(a):0",
    "isgreater(a,b)+2*isunordered(a,b)",
    "(a<b)+(b<c)*2",
    "a*0.1f",
    "sin(1.5)+exp(0.3)+log(7.7)+pow(1.1,5.3)+a",
    "(long double)a*b+c",
    "a*b-b*a",
    "a*0.0+0.0*b",
    "(a+b)-a",
    "(double)(int)(a>-1e9&&a<1e9?a:0)",
    "({ float f = a * b; f * a + (float)b; })",
    "({ T s = 0; for (int i = 0; i < 50; i++) s += a * i - b / (i + 1); s; })",
    "({ int e; double m = frexp(a, &e); ldexp(m, e) + b; })",
    "({ double w, p = modf(a, &w); p + w * b; })",
    "fabs(a)<1e9?lrint(a)+lround(a):0",
};

static const char *const whole_expressions[] = {
    "a+b",
    "a-b",
    "a*b+c",
    "-a",
    "a>>3",
    "a<<2",
    "(a&b)|(c^a)",
    "~a",
    "a%(b|1)",
    "a/3",
    "a%7",
    "a/8",
    "a<b?a:b",
    "a<0?-a:a",
    "a+1>a",
    "(a+b)/2",
    "a*a*a",
    "(unsigned char)a",
    "(short)(a+b)",
    "(int)a+(unsigned)b",
    "(a*77+b*151+c*28)>>8",
    "a*0.5<b*0.25",
    "b!=0&&b!=-1?a/b+a%b:0",
    "a>b?a-b:(a+b)/2",
    "(int)a+(int)b+2147483647>0",
    "(unsigned char)((a&255)*0.299+(b&255)*0.587+(c&255)*0.114)>7",
};

static const char *const complex_expressions[] = {
    "(T){a.real*b.real-a.imag*b.imag,a.real*b.imag+a.imag*b.real}",
    "(T){a.real*b.real+a.imag*b.imag,a.imag*b.real-a.real*b.imag}",
    "(T){a.real*b.real-a.imag*b.imag+c.real,a.real*b.imag+a.imag*b.real+c.imag}",
    "(T){c.real-(a.real*b.real-a.imag*b.imag),c.imag-(a.real*b.imag+a.imag*b.real)}",
    "(T){a.real*b.real+c.real,a.imag*b.imag-c.imag}",
    "(T){a.real*c.real-b.real,a.imag*c.imag+b.imag}",
    "({ double r = a.real, i = a.imag, s; for (int k = 0; k < 5; k++) { s = r * r - i * i + b.real;"
    " i = 2 * r * i + b.imag; r = s; } (T){r, i}; })",
    "({ double d = b.real * b.real + b.imag * b.imag; (T){(a.real * b.real + a.imag * b.imag) / d,"
    " (a.imag * b.real - a.real * b.imag) / d}; })",
};

static kernel kernels[600];
static int nkernels;

static void add(const type *one, const char *const *expressions, size_t count, size_t step)
{
    for (size_t i = 0; i < count; i += step)
        kernels[nkernels++] = (kernel){one, one, expressions[i]};
}

static void add_all(void)
{
    for (size_t i = 0; i < LENGTH(types); i++) {
        if (types[i].real)
            add(&types[i], real_expressions, LENGTH(real_expressions), i + 1);
        else if (i == 2 || i % 4 == 1) /* not all: compiling is slow */
            add(&types[i], whole_expressions, LENGTH(whole_expressions), 1);
        for (size_t to = 0; to < LENGTH(types); to++)
            if (types[i].real || types[to].real)
                kernels[nkernels++] =
                    (kernel){&types[i], &types[to], types[i].real ? types[to].fits : "a"};
    }
    for (size_t i = 0; i < LENGTH(complexes); i++)
        add(&complexes[i], complex_expressions, LENGTH(complex_expressions), 1);
}

/* ---- text --------------------------------------------------------------------- */

typedef int loop(int count, const void *a, const void *b, const void *c, void *out);

static void write_text(tj_text *text)
{
    for (int k = 0; k < nkernels; k++) {
        const char *from = kernels[k].from->name, *to = kernels[k].to->name;
        tj_text_printf(text,
                       "static %s e%d(%s a, %s b, %s c)\n"
                       "{ typedef %s T; (void)(T *)0; (void)a; (void)b; (void)c; return %s; }\n"
                       "int f%d(int n, const void *x, const void *y, const void *z, void *w)\n"
                       "{ const %s *restrict a = x, *restrict b = y, *restrict c = z;\n"
                       "  %s *restrict o = w;\n"
                       "  for (int i = 0; i < n; i++) o[i] = e%d(a[i], b[i], c[i]); return 1; }\n",
                       to, k, from, from, from, from, kernels[k].expression, k, from, to, k);
    }
    tj_text_puts(text, "typedef int loop(int, const void *, const void *, const void *, void *);\n"
                       "loop *const table[] = {");
    for (int k = 0; k < nkernels; k++)
        tj_text_printf(text, "f%d, ", k);
    tj_text_puts(text, "};\n");
}

/* ---- values --------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static double next_real(void)
{
    static const double edges[] = {0.0,
                                   -0.0,
                                   1.0,
                                   -1.0,
                                   0.5,
                                   1.5,
                                   2.5,
                                   __builtin_inf(),
                                   -__builtin_inf(),
                                   4.9e-324,
                                   -1e-320,
                                   2.2e-308,
                                   1.79e308,
                                   3.0,
                                   1e-45,
                                   3.4e38,
                                   2147483647.5,
                                   0.49999999999999994,
                                   4503599627370497.5,
                                   9007199254740993.0};
    union {
        uint64_t bits;
        double value;
    } any = {next_random()};
    switch (next_random() % 4) {
    case 0:
        return edges[next_random() % LENGTH(edges)];
    case 1:
        return any.value;
    default:
        return (double)(int64_t)any.bits * 1e-18 * (any.bits & 1 ? 1 : 70);
    }
}

static void fill(unsigned char *out, const type *one)
{
    for (size_t at = 0; at < COUNT * one->size; at += one->real ? one->real : 1) {
        double value = one->real ? next_real() : 0;
        float narrow = (float)value;
        if (one->real == 8)
            memcpy(out + at, &value, 8);
        else if (one->real == 4)
            memcpy(out + at, &narrow, 4);
        else
            out[at] = (unsigned char)(next_random() % 4 ? next_random() : next_random() % 2 - 1);
    }
}

static bool is_nan(const unsigned char *bits, size_t size)
{
    double wide = 0;
    float narrow = 0;
    if (size == 8)
        memcpy(&wide, bits, 8);
    else if (size == 4)
        memcpy(&narrow, bits, 4);
    return wide != wide || narrow != narrow;
}

static bool is_same(const unsigned char *one, const unsigned char *other, const type *what)
{
    size_t step = what->real ? what->real : what->size;
    for (size_t at = 0; at < COUNT * what->size; at += step)
        if (memcmp(one + at, other + at, step) &&
            !(what->real && is_nan(one + at, step) && is_nan(other + at, step)))
            return false;
    return true;
}

static void compare(loop *const *plain, loop *const *optimized)
{
    static unsigned char in[3][COUNT * MOST_BYTES], out[2][COUNT * MOST_BYTES];
    for (int k = 0; k < nkernels; k++) {
        for (int i = 0; i < 3; i++)
            fill(in[i], kernels[k].from);
        plain[k](COUNT, in[0], in[1], in[2], out[0]);
        optimized[k](COUNT, in[0], in[1], in[2], out[1]);
        if (!is_same(out[0], out[1], kernels[k].to))
            CHECK_STR(kernels[k].expression, "the same bits");
        else
            check_count++;
    }
}

static void keep(void *context, const void *address)
{
    *(const void **)context = address;
}

static void test_bits(void)
{
    tj_text text = {0};
    tj_compiler compiler;
    tj_error error;
    loop *const *plain = NULL;
    const void *table = NULL;
    tj_error_init(&error);
    add_all();
    write_text(&text);
    compiled r = compile(text.data);
    CHECK(r.status == TJ_OK);
    CHECK_STR(r.messages.count ? r.messages.items[0].text : NULL, NULL);
    FIND(r.unit, "table", plain);
    CHECK(tj_compiler_find(NULL, getenv("PATH"), &compiler, &error) == TJ_OK);
    tj_job_options options = {
        .compiler = &compiler, .symbol = "table", .ready = keep, .context = &table};
    tj_job *job = tj_job_new(NULL, text.data, &options);
    CHECK(tj_job_wait(job, -1) == TJ_JOB_READY);
    char *failure = tj_job_failure(job);
    CHECK_STR(failure, NULL);
    if (plain && table)
        compare(plain, table);
    tj_free(failure);
    tj_job_free(job);
    tj_compiler_clear(&compiler);
    drop_compiled(&r);
    tj_text_clear(&text);
    tj_error_clear(&error);
}

int main(void)
{
    open_backend();
    tj_optimizer_set_limits(1, 600); /* for a long text */
    RUN(test_bits);
    tj_optimizer_stop();
    return check_report();
}
