/* test_divisors.c: tests which operands are rewritten to cwj_hidden(z, b). */
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
    check_writes("{ y = a / b % (c + 1); }",
                 "{ y = a / cwj_hidden(0, b) % cwj_hidden(0, (c + 1)); }");
    check_writes("{ y = a / -(double)b[i].c(1)++ + 1; }",
                 "{ y = a / cwj_hidden(0, -(double)b[i].c(1)++) + 1; }");
    check_writes("{ y = a / (b / (c / (d / e))); }",
                 "{ y = a / cwj_hidden(0, (b / cwj_hidden(0, (c / (d / e))))); }");
    check_writes("#define Q(a, b) ((a) / (b))\n", "#define Q(a, b) ((a) / cwj_hidden(0, (b)))\n");
    check_writes("#define Q(a, b) ((a) / (b))\n#if defined(Q) && !defined Q && GNU >= 8\n#endif",
                 "#define Q(a, b) ((a) / cwj_hidden(0, (b)))\n"
                 "#if defined(Q) && !defined Q && GNU >= 8\n#endif");
    check_writes("{ y = 0.0 - fabs(x) + 0.f + -b[1] * (0e5L - (double)i) + 0 - c; }",
                 "{ y = 0.0 - cwj_hidden(0.0, fabs(x)) + 0.f + cwj_hidden(0.0f, -b[1]) * (0e5L - "
                 "cwj_hidden(0.0L, (double)i)) + 0 - cwj_hidden(0, c); }");
    /* literals, constants, macros that may expand to several operands, assignments, comments */
    const char *stays[] = {"{ y = a / 8 % 3; a /= b; a %= b; // a / b\n}",
                           "static int t[N / (M + 1)];",
                           "{ y = 0x1 - b - 10.0 + b; p[0]-b; 0.0 - 1.0; }",
                           "#define Q(a, b) a / b\n",
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
