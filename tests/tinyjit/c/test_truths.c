/* test_truths.c: conditions as !!(x): where they are written so, and that the same is done. */
#include "check.h"
#include "internal.h"
#include "read/truths.h"

#include <stdlib.h>
#include <string.h>

/* What makes the text one that may have a long double. */
#define LONG "void f(long double x) {\n"

static void check_writes(const char *text, const char *wanted)
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

static void check_stays(const char *text)
{
    check_writes(text, text);
}

static void test_written(void)
{
    check_writes("if (x) y = 1;", "if (!!(x)) y = 1;");
    check_writes("while (x - 1) y;", "while (!!(x - 1)) y;");
    check_writes("do y; while (*p);", "do y; while (!!(*p));");
    check_writes("for (i = f(a; b); x; i++) y;", "for (i = f(a; b); !!(x); i++) y;");
    check_writes("y = x ? a : b;", "y = !!(x) ? a : b;");
    check_writes("return f(x, 2) ? a : b;", "return !!(f(x, 2)) ? a : b;");
    check_writes("x && y", "!!(x) && !!(y)");
    check_writes("x || y && z;", "!!(x) || !!(y) && !!(z);");
    check_writes("x && y ? a : b", "!!(x) && !!(y) ? a : b");
    check_writes("x ? y ? a : b : z ? c : d", "!!(x) ? !!(y) ? a : b : !!(z) ? c : d");
    check_writes("if (x && y) z;", "if (!!(!!(x) && !!(y))) z;");
    check_writes("if (x) y && z();", "if (!!(x)) !!(y) && !!(z());");
    check_writes("else y && z();", "else !!(y) && !!(z());");
    check_writes("{ a; } y && z();", "{ a; } !!(y) && !!(z());");
    check_writes("case 1: y && z();", "case 1: !!(y) && !!(z());");
    check_writes("v = a[x ? 1 : 0] && (struct s){1, y || z}.b;",
                 "v = !!(a[!!(x) ? 1 : 0]) && !!((struct s){1, !!(y) || !!(z)}.b);");
    check_writes("(struct s){x}.b && y", "!!((struct s){x}.b) && !!(y)");
    check_writes("f(x && y, z)", "f(!!(x) && !!(y), z)");
    check_writes("a = b = x ? 1 : 2", "a = b = !!(x) ? 1 : 2");
    check_writes("x\n  && // y\n y", "!!(x)\n  && // y\n !!(y)");
    check_writes("#define BOTH(a, b) ((a) && (b))\nx && y;",
                 "#define BOTH(a, b) (!!((a)) && !!((b)))\n!!(x) && !!(y);");
    check_writes("#define AND &&\n#if a && b\nx && y;\n#endif",
                 "#define AND &&\n#if a && b\nx && !!(y);\n#endif");
    check_writes("#define HALF x / 2\ny && HALF;", "#define HALF x / 2\n!!(y) && !!(HALF);");
    check_writes("y;\n#pragma once\nx && z;", "y;\n#pragma once\n!!(x) && !!(z);");
    check_writes("return (long double){x} > 0 && *(int[]){1, 2} == 1;",
                 "return !!((long double){x} > 0) && !!(*(int[]){1, 2} == 1);");
    check_writes("FOR(x) { y; } x && z;", "FOR(x) { y; } !!(x) && !!(z);");
    check_writes("y = (x) && (z);", "y = !!((x)) && !!((z));");
}

static void test_left(void)
{
    check_stays("switch (x) { default: y; }");
    check_stays("for (;;) y; for (int i = 0;; i++) y;");
    check_stays("x ?: y");
    check_stays("y = x ?\n#ifdef B\n b\n#endif\n : c;");
    check_stays("#define OR(a, b, c) ((a) ? b : c)\n");
    check_stays("x and y; int or = x; and(x, 2);");
    check_stays("} static int s = arr && 1, t = f ? 1 : 2; void g(void) {");
    check_stays("lab: return &&lab; (u_long)&&lab; sizeof &&lab;");
    check_writes("switch (y) { case 0 ... A && B: z; }",
                 "switch (y) { case 0 ... !!(A) && !!(B): z; }");
    check_writes("EACH(v, h, l) v->x && g(); RET (x) ? y : z; f(x) || y;",
                 "EACH(v, h, l) v->x && !!(g()); RET (x) ? y : z; f(x) || !!(y);");
    check_stays("#define IS3(a) a == 3\ny = IS3(x && y);");
    check_stays("#define INIT int i = 0; i < 3\nfor (INIT; g(i)) y;");
    check_stays("void *p = &&label;");
    check_stays("y = !x; z = x != 0; w = x & y | z;");
    check_stays("void *p[] = {&&one, (void *)&&two}; int d = &&one - &&two;");
    check_stays("static int s = \"a\" ? 3 : 4, t = &g && &h;");
    check_stays("#define PASTE(x) (a##x && b##x)\n#define TEXT(x) (#x ? 1 : 2)\n");
    /* what several operands may be made of */
    check_stays("#define OR(a, b) a || b\n#define PICK(v) (v ? 1 : 0)\n#define TAIL x ? 1 : 2\n");
    check_stays("#define CALL(...) g(__VA_ARGS__ && __VA_ARGS__)\n");
    check_writes("#define E i || i\ny = E && z;", "#define E i || i\ny = E && !!(z);");
    check_writes("y = z && i OR i;", "y = !!(z) && i OR i;");
    /* what a directive cuts */
    check_writes("y = i && i\n#if 1\n + -5\n#endif\n ;",
                 "y = !!(i) && i\n#if 1\n + -5\n#endif\n ;");
    check_writes("return i\n#if 1\n - 1\n#endif\n > 5 && i;",
                 "return i\n#if 1\n - 1\n#endif\n > 5 && !!(i);");
    check_writes("if (i && 5 < g(i,\n#if 1\n 1\n#endif\n )) y;",
                 "if (!!(i) && 5 < g(i,\n#if 1\n 1\n#endif\n )) y;");
    check_stays("\"x && y\" /* x && y */ // x ? y : z");
    check_stays("&&");
    check_stays("if (");
    check_stays("( && )");
    check_stays("");
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

/* What the function gives for 0 .. count - 1. */
static void run(const char *text, int *results, int count)
{
    tj_messages messages = {0};
    tj_error error;
    tj_unit *unit = NULL;
    tj_error_init(&error);
    CHECK(tj_compile(NULL, text, NULL, &unit, &messages, &error) == TJ_OK);
    if (unit) {
        int (*function)(int);
        void *address = tj_unit_symbol(unit, "run");
        memcpy(&function, &address, sizeof function);
        for (int i = 0; i < count; i++)
            results[i] = function(i);
    }
    tj_unit_free(unit);
    tj_messages_clear(&messages);
    tj_error_clear(&error);
}

static void test_same(void)
{
    enum {
        COUNT = 12
    };
    tj_text changed = {0};
    int one[COUNT] = {0}, other[COUNT] = {0};
    tj_truths_write(conditions, &changed);
    CHECK(strcmp(changed.data, conditions) != 0);
    run(conditions, one, COUNT); /* on arm64 it is changed there */
    run(changed.data, other, COUNT);
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
    run(text, results, 3);
    CHECK(results[0] == 2 + 4 && results[1] == 1 + 2 + 4 + 16 && results[2] == 1 + 4 + 16);
}

int main(void)
{
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_backend_open(getenv("TJ_TEST_LIBTCC"), getenv("TJ_TEST_LIB_DIR"),
                          getenv("TJ_TEST_INCLUDE_DIR"), &error) == TJ_OK);
    RUN(test_written);
    RUN(test_left);
    RUN(test_texts_without_long_double);
    RUN(test_same);
    RUN(test_conditions);
    return check_report();
}
