/* test_divisors.c: which divisors are written as cwj_divisor(b). */
#include "check.h"
#include "internal.h"
#include "read/divisors.h"

static void check_writes(const char *text, const char *wanted)
{
    tj_text out = {0};
    tj_divisors_write(text, &out);
    CHECK_STR(out.data, wanted);
    tj_text_clear(&out);
}

static void test_written(void)
{
    check_writes("{ y = a / b % (c + 1); }", "{ y = a / cwj_divisor(b) % cwj_divisor((c + 1)); }");
    check_writes("{ y = a / -(double)b[i].c(1)++ + 1; }",
                 "{ y = a / cwj_divisor(-(double)b[i].c(1)++) + 1; }");
    check_writes("{ y = a / (b / (c / (d / e))); }",
                 "{ y = a / cwj_divisor((b / cwj_divisor((c / (d / e))))); }");
    check_writes("#define Q(a, b) ((a) / (b))\n", "#define Q(a, b) ((a) / cwj_divisor((b)))\n");
    check_writes("#define Q(a, b) ((a) / (b))\n#if defined(Q) && !defined Q && GNU >= 8\n#endif",
                 "#define Q(a, b) ((a) / cwj_divisor((b)))\n"
                 "#if defined(Q) && !defined Q && GNU >= 8\n#endif");
    /* literals, constants, names of macros that may be several operands, assignments, comments */
    const char *stays[] = {"{ y = a / 8 % 3; a /= b; a %= b; // a / b\n}",
                           "static int t[N / (M + 1)];", "#define Q(a, b) a / b\n",
                           "#define SUM b + 1\nint f(void) { return a / SUM; }",
                           "#define Q(a, b) ((a) / (b))\n#if Q(4, 2) > 1\n#endif"};
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++)
        check_writes(stays[i], stays[i]);
}

int main(void)
{
    RUN(test_written);
    return check_report();
}
