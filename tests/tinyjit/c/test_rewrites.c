/* test_rewrites.c: tests what is rewritten for libtcc, where, and that the meaning stays: -x to (-1*x), conditions to
 * !!(x). */
#include "program.h"
#include "read/negations.h"
#include "read/truths.h"

static void check_negated(const char *text, const char *wanted)
{
    tj_text out = {0};
    tj_negations_write(text, &out);
    CHECK_STR(out.data, wanted);
    tj_text_clear(&out);
}

static void check_no_negation(const char *text)
{
    check_negated(text, text);
}

static void test_negations(void)
{
    check_negated("y = -x;", "y = (-1*x);");
    check_negated("return -x * y;", "return (-1*x) * y;");
    check_negated("a - -b", "a - (-1*b)");
    check_negated("- -x", "(-1* (-1*x))");
    check_negated("exp(-x*x)", "exp((-1*x)*x)");
    check_negated("f(-a[i].b->c(1, -d)++, 2)", "f((-1*a[i].b->c(1, (-1*d))++), 2)");
    check_negated("sizeof -x", "sizeof (-1*x)");
    check_negated("-sizeof(double) + n", "(-1*sizeof(double)) + n");
    check_negated("-(a) / b", "(-1*(a)) / b");
    check_negated("-(double)x + 1", "(-1*(double)x) + 1");
    check_negated("-(double)-x", "(-1*(double)(-1*x))");
    check_negated("-(npy_double)*p", "(-1*(npy_double)*p)");
    check_negated("-(T *)*p", "(-1*(T *)*p)");
    check_negated("-(T)~x", "(-1*(T)~x)");
    check_negated("-(T)sizeof x", "(-1*(T)sizeof x)");
    check_negated("(float)-x", "(float)(-1*x)");
    check_negated("return (float)-x;", "return (float)(-1*x);");
    check_negated("typedef double T; y = (T)-x;", "typedef double T; y = (T)(-1*x);");
    check_negated("#define T const double\ny = (T)-x;", "#define T const double\ny = (T)(-1*x);");
    check_negated("typedef struct { double a, b; } T, *P; y = -(T){-x}.a * (P)-x;",
                  "typedef struct { double a, b; } T, *P; y = (-1*(T){(-1*x)}.a) * (P)(-1*x);");
    check_negated("(const double *)-x", "(const double *)(-1*x)");
    check_negated("-!x", "(-1*!x)");
    check_negated("-*p", "(-1**p)");
    check_negated("-(struct s){1, 2}.a", "(-1*(struct s){1, 2}.a)");
    check_negated("-({ a; }) - b", "(-1*({ a; })) - b");
    check_negated("-5.0 * -x", "-5.0 * (-1*x)");
    check_negated("x ? -a : -b", "x ? (-1*a) : (-1*b)");
    check_negated("-a\n  [2] // -c\n - 1", "(-1*a\n  [2]) // -c\n - 1");
    check_negated("#define NEG(x) (-(x))\ny = -b", "#define NEG(x) ((-1*(x)))\ny = (-1*b)");
    check_negated("#define N(x) (1 - -(x))\n", "#define N(x) (1 - (-1*(x)))\n");
    check_negated("#define X (-Y)\n#if -X\ny = -b;\n#endif",
                  "#define X ((-1*Y))\n#if -X\ny = (-1*b);\n#endif");
    check_negated("#define P (x) -y\n", "#define P (x) -y\n");
    check_negated("#define ITEM(i) (*(a + i))\ny = -ITEM(2);",
                  "#define ITEM(i) (*(a + i))\ny = (-1*ITEM(2));");
    check_negated("y = 1;\n#if 1\nz = -x;\n#endif", "y = 1;\n#if 1\nz = (-1*x);\n#endif");
    check_negated("y = 1 +\n#pragma x\n-x;", "y = 1 +\n#pragma x\n(-1*x);");
    check_negated("-sizeof (int[]){1, 2} / 2", "(-1*sizeof (int[]){1, 2}) / 2");
}

static void test_no_negations(void)
{
    check_no_negation(
        "a - b; a-b; a[1] - b; f(x) - b; (a) - b; 2 - b; a++ - b; --a; a->b; a -= b;");
    check_no_negation("-1; -2.5f; -0x1p-3; -'a'");
    check_no_negation("sizeof(double) - n; MACRO(double) - n; _Alignof(int) - n");
    check_no_negation("if (a and b) (a) - b;");
    check_no_negation("#define ID(x) x\ndouble z = (x) - b;");
    /* a type or a variable */
    check_no_negation("-(T)-1; -(a) - b; -(a)*b; y = (T)-x;");
    check_no_negation("#define N c\ny = (N)-k;");
    check_no_negation("#define W width\ny = a[(W)-i];");
    check_no_negation("struct point p; y = (point)-i;");
    /* may expand to several operands */
    check_no_negation("#define SUM i + 1\nreturn -SUM;");
    check_no_negation("#define SUM(a) a + 1\nreturn -SUM(2) * 3;");
    check_no_negation("#define NEG(x) -x\n#define SQUARED -square\n#define MINUS_B - b\n");
    check_no_negation(
        "#define PASTE(x) -x##_y\n#define TEXT(x) -x #x\n#pragma -x\n#if -A\n#endif\n");
    check_no_negation("#define NEGATIVE -\n");
    check_no_negation("#define MINUS(a) -(a)\ny = x MINUS(3);");
    check_no_negation("#define EMPTY\ny = - EMPTY -1;\n#define CAST (int)\ny = -CAST *p;");
    check_no_negation("#define LP (\ny = - LP (x) + y);");
    check_no_negation("#define S(x) #x\n#define CAT(a, b) a##b\ny = S(-y) + CAT(-x, 1);");
    check_no_negation("#define DECL typedef int\nint a, b;\nint f(int x) { return (a) - x; }");
    check_no_negation("y = -(__typeof__(y))*p; y = -(time_t const)*p; y = -(time_t)(int){x};");
    check_no_negation(
        "y = -(enum {A, B})*x; y = -(_Atomic(int))*x; y = -(INT(32))*x; y = -(a)(b) - c;");
    check_no_negation("y = - __extension__ -1;");
    /* cut by a directive */
    check_no_negation("return i\n#if 1\n - i/2\n#endif\n ;");
    check_no_negation("int x = a\n#ifdef FOO\n + b;\n#else\n - b;\n#endif");
    check_no_negation("return -i\n#if 1\n [2]\n#endif\n ;");
    check_no_negation("\"-x\" '-' /* -x */ // -x");
    check_no_negation("-");
    check_no_negation("- )");
    check_no_negation("-(");
    check_no_negation("#define INDEX [1]\nreturn -v INDEX;");
    check_no_negation("y = -v AT(1) + 2;");
    check_no_negation("");
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
    tj_text whole = {0};
    double (*function)(double, double, int, unsigned char, unsigned) = NULL;
    tj_text_puts(&whole, "static double f2(double x, double y) { return x - 2 * y; }\n");
    tj_text_puts(&whole, text);
    compiled r = compile(whole.data);
    CHECK(r.status == TJ_OK);
    FIND(r.unit, "run", function);
    double result = function ? function(x, y, i, c, u) : 0;
    drop_compiled(&r);
    tj_text_clear(&whole);
    return result;
}

static void test_the_same_numbers(void)
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

/* As it is written, this would end a process on arm64. */
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

/* ---- truths -------------------------------------------------------------------------------- */

/* The text may have a long double, because it names the type. */
#define LONG "void f(long double x) {\n"

static void check_truth(const char *text, const char *wanted)
{
    tj_text out = {0}, whole = {0};
    tj_text_puts(&whole, LONG);
    tj_text_puts(&whole, text);
    tj_truths_write(whole.data, &out);
    CHECK(!strncmp(out.data, LONG, strlen(LONG)));
    CHECK_STR(out.data + strlen(LONG), wanted);
    tj_text_clear(&out);
    tj_text_clear(&whole);
}

static void check_no_truth(const char *text)
{
    check_truth(text, text);
}

static void test_truths(void)
{
    check_truth("if (x) y = 1;", "if (!!(x)) y = 1;");
    check_truth("while (x - 1) y;", "while (!!(x - 1)) y;");
    check_truth("do y; while (*p);", "do y; while (!!(*p));");
    check_truth("for (i = f(a; b); x; i++) y;", "for (i = f(a; b); !!(x); i++) y;");
    check_truth("y = x ? a : b;", "y = !!(x) ? a : b;");
    check_truth("return f(x, 2) ? a : b;", "return !!(f(x, 2)) ? a : b;");
    check_truth("x && y", "!!(x) && !!(y)");
    check_truth("x || y && z;", "!!(x) || !!(y) && !!(z);");
    check_truth("x && y ? a : b", "!!(x) && !!(y) ? a : b");
    check_truth("x ? y ? a : b : z ? c : d", "!!(x) ? !!(y) ? a : b : !!(z) ? c : d");
    check_truth("if (x && y) z;", "if (!!(!!(x) && !!(y))) z;");
    check_truth("if (x) y && z();", "if (!!(x)) !!(y) && !!(z());");
    check_truth("else y && z();", "else !!(y) && !!(z());");
    check_truth("{ a; } y && z();", "{ a; } !!(y) && !!(z());");
    check_truth("case 1: y && z();", "case 1: !!(y) && !!(z());");
    check_truth("v = a[x ? 1 : 0] && (struct s){1, y || z}.b;",
                "v = !!(a[!!(x) ? 1 : 0]) && !!((struct s){1, !!(y) || !!(z)}.b);");
    check_truth("(struct s){x}.b && y", "!!((struct s){x}.b) && !!(y)");
    check_truth("f(x && y, z)", "f(!!(x) && !!(y), z)");
    check_truth("a = b = x ? 1 : 2", "a = b = !!(x) ? 1 : 2");
    check_truth("x\n  && // y\n y", "!!(x)\n  && // y\n !!(y)");
    check_truth("#define BOTH(a, b) ((a) && (b))\nx && y;",
                "#define BOTH(a, b) (!!((a)) && !!((b)))\n!!(x) && !!(y);");
    check_truth("#define AND &&\n#if a && b\nx && y;\n#endif",
                "#define AND &&\n#if a && b\nx && !!(y);\n#endif");
    check_truth("#define HALF x / 2\ny && HALF;", "#define HALF x / 2\n!!(y) && !!(HALF);");
    check_truth("y;\n#pragma once\nx && z;", "y;\n#pragma once\n!!(x) && !!(z);");
    check_truth("return (long double){x} > 0 && *(int[]){1, 2} == 1;",
                "return !!((long double){x} > 0) && !!(*(int[]){1, 2} == 1);");
    check_truth("FOR(x) { y; } x && z;", "FOR(x) { y; } !!(x) && !!(z);");
    check_truth("y = (x) && (z);", "y = !!((x)) && !!((z));");
}

static void test_no_truths(void)
{
    check_no_truth("switch (x) { default: y; }");
    check_no_truth("for (;;) y; for (int i = 0;; i++) y;");
    check_no_truth("x ?: y");
    check_no_truth("y = x ?\n#ifdef B\n b\n#endif\n : c;");
    check_no_truth("#define OR(a, b, c) ((a) ? b : c)\n");
    check_no_truth("x and y; int or = x; and(x, 2);");
    check_no_truth("} static int s = arr && 1, t = f ? 1 : 2; void g(void) {");
    check_no_truth("lab: return &&lab; (u_long)&&lab; sizeof &&lab;");
    check_truth("switch (y) { case 0 ... A && B: z; }",
                "switch (y) { case 0 ... !!(A) && !!(B): z; }");
    check_truth("EACH(v, h, l) v->x && g(); RET (x) ? y : z; f(x) || y;",
                "EACH(v, h, l) v->x && !!(g()); RET (x) ? y : z; f(x) || !!(y);");
    check_no_truth("#define IS3(a) a == 3\ny = IS3(x && y);");
    check_no_truth("#define INIT int i = 0; i < 3\nfor (INIT; g(i)) y;");
    check_no_truth("void *p = &&label;");
    check_no_truth("y = !x; z = x != 0; w = x & y | z;");
    check_no_truth("void *p[] = {&&one, (void *)&&two}; int d = &&one - &&two;");
    check_no_truth("static int s = \"a\" ? 3 : 4, t = &g && &h;");
    check_no_truth("#define PASTE(x) (a##x && b##x)\n#define TEXT(x) (#x ? 1 : 2)\n");
    /* may expand to several operands */
    check_no_truth(
        "#define OR(a, b) a || b\n#define PICK(v) (v ? 1 : 0)\n#define TAIL x ? 1 : 2\n");
    check_no_truth("#define CALL(...) g(__VA_ARGS__ && __VA_ARGS__)\n");
    check_truth("#define E i || i\ny = E && z;", "#define E i || i\ny = E && !!(z);");
    check_truth("y = z && i OR i;", "y = !!(z) && i OR i;");
    /* cut by a directive */
    check_truth("y = i && i\n#if 1\n + -5\n#endif\n ;", "y = !!(i) && i\n#if 1\n + -5\n#endif\n ;");
    check_truth("return i\n#if 1\n - 1\n#endif\n > 5 && i;",
                "return i\n#if 1\n - 1\n#endif\n > 5 && !!(i);");
    check_truth("if (i && 5 < g(i,\n#if 1\n 1\n#endif\n )) y;",
                "if (!!(i) && 5 < g(i,\n#if 1\n 1\n#endif\n )) y;");
    check_no_truth("\"x && y\" /* x && y */ // x ? y : z");
    check_no_truth("&&");
    check_no_truth("if (");
    check_no_truth("( && )");
    check_no_truth("");
}

static void check_looks(const char *text, bool looks)
{
    tj_text out = {0}, whole = {0};
    tj_text_puts(&whole, "void f() {");
    tj_text_puts(&whole, text);
    tj_truths_write(whole.data, &out);
    CHECK(!strcmp(out.data, whole.data) == !looks);
    tj_text_clear(&out);
    tj_text_clear(&whole);
}

static void test_texts_without_long_double(void)
{
    check_looks("if (x) y;", false);
    check_looks("if (x == 1l) y;", false);
    check_looks("if (5 / 2.0) y;", false);
    check_looks("if (x - 1.0L) y;", true);
    check_looks("if (fmodl(x, 2)) y;", true);
    check_looks("npy_longdouble x; if (x) y;", true);
    check_looks("double long x; if (x) y;", true);
    check_looks("long const double x; if (x) y;", true);
    check_looks("long x; double y; if (x) y;", false);
    check_looks("if (strtold(x, 0)) y;", true);
}

/* ---- the same ------------------------------------------------------------------------------ */

static const char conditions[] =
    "typedef struct { long double a; int b; } pair;\n"
    "#define CHOOSE(a, b) ((a) ? (b) : -1)\n"
    "#define EITHER i & 1 || i & 2\n"
    "static int count;\n"
    "static long double next(void) { return count++ % 3; }\n"
    "int run(int i)\n"
    "{\n"
    "    long double x = i % 4 - 1, y[2] = {i & 1, x / 2}, *p = y;\n"
    "    int found = 0;\n"
    "    if (x) found += 1; else if (*p) found += 2;\n"
    "    if (i) y[1] && (found += 4);\n"
    "    for (long double z = x + 1; z; z--) found += 8;\n"
    "    while (next()) found += 64;\n"
    "    do found += 256; while (next());\n"
    "    found += x ? y[0] ? 1024 : 2048 : 4096;\n"
    "    found += 10000 * (x && y[0] || (pair){y[1], 2}.a && !p[1]);\n"
    "    found += 2000000 * (y[0] && EITHER && i > 4) + 4000000 * (i & 1\n"
    "#if 1\n"
    "        && i - 3\n"
    "#endif\n"
    "        || x);\n"
    "    found += (x == 1 ? 20000 : 0) + (CHOOSE(y[1], 100000));\n"
    "    { pair q = {x, 1}; q.a || (found += 1000000); }\n"
    "    return found + (x ?: 3);\n"
    "}\n";

/* Stores run(0) to run(count - 1) in results. */
static void run_conditions(const char *text, int *results, int count)
{
    compiled r = compile(text);
    int (*function)(int) = NULL;
    CHECK(r.status == TJ_OK);
    FIND(r.unit, "run", function);
    for (int i = 0; function && i < count; i++)
        results[i] = function(i);
    drop_compiled(&r);
}

static void test_the_same_conditions(void)
{
    enum {
        COUNT = 12
    };
    tj_text changed = {0};
    int one[COUNT] = {0}, other[COUNT] = {0};
    tj_truths_write(conditions, &changed);
    CHECK(strcmp(changed.data, conditions) != 0);
    run_conditions(conditions, one, COUNT); /* on arm64, compile() rewrites it, too */
    run_conditions(changed.data, other, COUNT);
    CHECK(one[0] != 0 && !memcmp(one, other, sizeof one));
    tj_text_clear(&changed);
}

static void test_conditions(void)
{
    static const char text[] = "int run(int i)\n"
                               "{\n"
                               "    long double x = i;\n"
                               "    int found = 0;\n"
                               "    if (x) found += 1;\n"
                               "    while (x - 2) { found += 2; x = 2; }\n"
                               "    return found + (x ? 4 : 8) + 16 * (x - 2 || i);\n"
                               "}\n";
    int results[3] = {0};
    run_conditions(text, results, 3);
    CHECK(results[0] == 2 + 4 && results[1] == 1 + 2 + 4 + 16 && results[2] == 1 + 4 + 16);
}

int main(void)
{
    open_backend();
    RUN(test_negations);
    RUN(test_no_negations);
    RUN(test_the_same_numbers);
    RUN(test_dead_code);
    RUN(test_truths);
    RUN(test_no_truths);
    RUN(test_texts_without_long_double);
    RUN(test_the_same_conditions);
    RUN(test_conditions);
    return check_report();
}
