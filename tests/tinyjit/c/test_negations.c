/* test_negations.c: -x as (-1*x): where it is written so, and that it is the same number. */
#include "check.h"
#include "internal.h"
#include "read/negations.h"

#include <stdlib.h>
#include <string.h>

static void check_writes(const char *text, const char *wanted)
{
    tj_text out = {0};
    tj_negations_write(text, &out);
    CHECK_STR(out.data, wanted);
    tj_text_clear(&out);
}

static void check_stays(const char *text)
{
    check_writes(text, text);
}

static void test_written(void)
{
    check_writes("y = -x;", "y = (-1*x);");
    check_writes("return -x * y;", "return (-1*x) * y;");
    check_writes("a - -b", "a - (-1*b)");
    check_writes("- -x", "(-1* (-1*x))");
    check_writes("exp(-x*x)", "exp((-1*x)*x)");
    check_writes("f(-a[i].b->c(1, -d)++, 2)", "f((-1*a[i].b->c(1, (-1*d))++), 2)");
    check_writes("sizeof -x", "sizeof (-1*x)");
    check_writes("-sizeof(double) + n", "(-1*sizeof(double)) + n");
    check_writes("-(a) / b", "(-1*(a)) / b");
    check_writes("-(double)x + 1", "(-1*(double)x) + 1");
    check_writes("-(double)-x", "(-1*(double)(-1*x))");
    check_writes("-(npy_double)*p", "(-1*(npy_double)*p)");
    check_writes("-(T *)*p", "(-1*(T *)*p)");
    check_writes("-(T)~x", "(-1*(T)~x)");
    check_writes("-(T)sizeof x", "(-1*(T)sizeof x)");
    check_writes("(float)-x", "(float)(-1*x)");
    check_writes("return (float)-x;", "return (float)(-1*x);");
    check_writes("typedef double T; y = (T)-x;", "typedef double T; y = (T)(-1*x);");
    check_writes("#define T const double\ny = (T)-x;", "#define T const double\ny = (T)(-1*x);");
    check_writes("typedef struct { double a, b; } T, *P; y = -(T){-x}.a * (P)-x;",
                 "typedef struct { double a, b; } T, *P; y = (-1*(T){(-1*x)}.a) * (P)(-1*x);");
    check_writes("(const double *)-x", "(const double *)(-1*x)");
    check_writes("-!x", "(-1*!x)");
    check_writes("-*p", "(-1**p)");
    check_writes("-(struct s){1, 2}.a", "(-1*(struct s){1, 2}.a)");
    check_writes("-({ a; }) - b", "(-1*({ a; })) - b");
    check_writes("-5.0 * -x", "-5.0 * (-1*x)");
    check_writes("x ? -a : -b", "x ? (-1*a) : (-1*b)");
    check_writes("-a\n  [2] // -c\n - 1", "(-1*a\n  [2]) // -c\n - 1");
    check_writes("#define NEG(x) (-(x))\ny = -b", "#define NEG(x) ((-1*(x)))\ny = (-1*b)");
    check_writes("#define N(x) (1 - -(x))\n", "#define N(x) (1 - (-1*(x)))\n");
    check_writes("#define X (-Y)\n#if -X\ny = -b;\n#endif",
                 "#define X ((-1*Y))\n#if -X\ny = (-1*b);\n#endif");
    check_writes("#define P (x) -y\n", "#define P (x) -y\n");
    check_writes("#define ITEM(i) (*(a + i))\ny = -ITEM(2);",
                 "#define ITEM(i) (*(a + i))\ny = (-1*ITEM(2));");
    check_writes("y = 1;\n#if 1\nz = -x;\n#endif", "y = 1;\n#if 1\nz = (-1*x);\n#endif");
    check_writes("y = 1 +\n#pragma x\n-x;", "y = 1 +\n#pragma x\n(-1*x);");
    check_writes("-sizeof (int[]){1, 2} / 2", "(-1*sizeof (int[]){1, 2}) / 2");
}

static void test_left(void)
{
    check_stays("a - b; a-b; a[1] - b; f(x) - b; (a) - b; 2 - b; a++ - b; --a; a->b; a -= b;");
    check_stays("-1; -2.5f; -0x1p-3; -'a'");
    check_stays("sizeof(double) - n; MACRO(double) - n; _Alignof(int) - n");
    check_stays("if (a and b) (a) - b;");
    check_stays("#define ID(x) x\ndouble z = (x) - b;");
    /* a type, or a variable */
    check_stays("-(T)-1; -(a) - b; -(a)*b; y = (T)-x;");
    check_stays("#define N c\ny = (N)-k;");
    check_stays("#define W width\ny = a[(W)-i];");
    check_stays("struct point p; y = (point)-i;");
    /* what several operands may be made of */
    check_stays("#define SUM i + 1\nreturn -SUM;");
    check_stays("#define SUM(a) a + 1\nreturn -SUM(2) * 3;");
    check_stays("#define NEG(x) -x\n#define SQUARED -square\n#define MINUS_B - b\n");
    check_stays("#define PASTE(x) -x##_y\n#define TEXT(x) -x #x\n#pragma -x\n#if -A\n#endif\n");
    check_stays("#define NEGATIVE -\n");
    check_stays("#define MINUS(a) -(a)\ny = x MINUS(3);");
    check_stays("#define EMPTY\ny = - EMPTY -1;\n#define CAST (int)\ny = -CAST *p;");
    check_stays("#define LP (\ny = - LP (x) + y);");
    check_stays("#define S(x) #x\n#define CAT(a, b) a##b\ny = S(-y) + CAT(-x, 1);");
    check_stays("#define DECL typedef int\nint a, b;\nint f(int x) { return (a) - x; }");
    check_stays("y = -(__typeof__(y))*p; y = -(time_t const)*p; y = -(time_t)(int){x};");
    check_stays("y = -(enum {A, B})*x; y = -(_Atomic(int))*x; y = -(INT(32))*x; y = -(a)(b) - c;");
    check_stays("y = - __extension__ -1;");
    /* what a directive cuts */
    check_stays("return i\n#if 1\n - i/2\n#endif\n ;");
    check_stays("int x = a\n#ifdef FOO\n + b;\n#else\n - b;\n#endif");
    check_stays("return -i\n#if 1\n [2]\n#endif\n ;");
    check_stays("\"-x\" '-' /* -x */ // -x");
    check_stays("-");
    check_stays("- )");
    check_stays("-(");
    check_stays("#define INDEX [1]\nreturn -v INDEX;");
    check_stays("y = -v AT(1) + 2;");
    check_stays("");
}

/* ---- the same numbers ---------------------------------------------------------------------- */

static const char functions[] =
    "typedef float T;\n"
    "#define NEG(x) (-(x))\n"
    "#define BARE(x) -x\n"
    "#define SUM x + 1\n"
    "#define SQUARED -square\n"
    "#define MINUS_Y - y\n"
    "static double square(double x) { return x * x; }\n"
    "static double f(double x, double y, int i, unsigned char c, unsigned u)\n"
    "{\n"
    "    double a[2] = {-x, -y}, *p = a;\n"
    "    T t = (T)-x;\n"
    "    double s = -x - -y - (double)-i + -(double)-c * 2 - -a[1] + -*p - -(x) - y;\n"
    "    s += -(T)x / 3 + NEG(y) * 2 - NEG((x + y)) + -~i - -!i + -u - -(u) - 1 + (int)-c;\n"
    "    s += BARE(y - 3) + 2 * -SUM * 3 + SQUARED(x) + (x MINUS_Y);\n"
    "    s = s\n"
    "#if 1\n"
    "        - y / 2\n"
    "#endif\n"
    "        ;\n"
    "    s -= -(x) * -(y) - -p[-i % 2 ? 1 : 0] + (-x > -y ? -t : -(-t)) - -sizeof(double) - "
    "-1e-3;\n"
    "    return -s + -f2(-x, -(y)) - -a[0]++;\n"
    "}\n"
    "double run(double x, double y, int i, unsigned char c, unsigned u)\n"
    "{ return f(x, y, i, c, u); }\n";

static double run(const char *text, double x, double y, int i, unsigned char c, unsigned u)
{
    static const char before[] = "static double f2(double x, double y) { return x - 2 * y; }\n";
    tj_text whole = {0};
    tj_messages messages = {0};
    tj_error error;
    tj_unit *unit = NULL;
    double result = 0;
    tj_error_init(&error);
    tj_text_puts(&whole, before);
    tj_text_puts(&whole, text);
    CHECK(tj_compile(NULL, whole.data, NULL, &unit, &messages, &error) == TJ_OK);
    if (unit) {
        double (*function)(double, double, int, unsigned char, unsigned);
        void *address = tj_unit_symbol(unit, "run");
        memcpy(&function, &address, sizeof function);
        result = function(x, y, i, c, u);
    }
    tj_unit_free(unit);
    tj_messages_clear(&messages);
    tj_error_clear(&error);
    tj_text_clear(&whole);
    return result;
}

static void test_same(void)
{
    tj_text changed = {0};
    tj_negations_write(functions, &changed);
    CHECK(strcmp(changed.data, functions) != 0);
    for (int k = 0; k < 20; k++) {
        double x = 1.37 * k - 9, y = 100 / (k + 0.3);
        unsigned u = (unsigned)k * 7919u;
        double one = run(functions, x, y, k - 10, (unsigned char)(k * 13), u);
        double other = run(changed.data, x, y, k - 10, (unsigned char)(k * 13), u);
        CHECK(one != 0 && one == other);
    }
    tj_text_clear(&changed);
}

/* What ends a process on arm64 as it is written. */
static void test_dead_code(void)
{
    static const char dead[] =
        "double run(double x, double y, int i, unsigned char c, unsigned u)\n"
        "{\n"
        "    if (0) y = -x;\n"
        "    while (0) y = -y * x;\n"
        "    double z = 0 ? -x : _Generic(-x, double: y, default: 0) + (1 || -x > y);\n"
        "    return z + sizeof(-x) + sizeof -y;\n"
        "    x = -x;\n"
        "    return (float)-x;\n"
        "}\n";
    CHECK(run(dead, 2, 3, 0, 0, 0) == 3 + 1 + 16);
}

int main(void)
{
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_backend_open(getenv("TJ_TEST_LIBTCC"), getenv("TJ_TEST_LIB_DIR"),
                          getenv("TJ_TEST_INCLUDE_DIR"), &error) == TJ_OK);
    RUN(test_written);
    RUN(test_left);
    RUN(test_same);
    RUN(test_dead_code);
    return check_report();
}
