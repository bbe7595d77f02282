/* test_scan.c: what is refused before a compiler sees it, and what passes. */
#include "check.h"
#include "tinyjit.h"

#include <stdlib.h>

static tj_messages scan(const char *text)
{
    tj_messages messages = {0};
    tj_piece piece = {"<text>", text, strlen(text)};
    tj_status status = tj_scan_check(&piece, &messages);
    CHECK((status == TJ_COMPILE_FAILED) == (messages.count > 0));
    return messages;
}

static void check_passes(const char *text)
{
    tj_messages messages = scan(text);
    CHECK_STR(messages.count ? messages.items[0].text : NULL, NULL);
    if (messages.count)
        fprintf(stderr, "    in: %.200s\n", text);
    tj_messages_clear(&messages);
}

/* Refused with a message that holds `part`, at line:column. */
static void check_refused(const char *text, const char *part, int line, int column)
{
    tj_messages messages = scan(text);
    CHECK(messages.count == 1);
    if (messages.count) {
        CHECK_HAS(messages.items[0].text, part);
        CHECK(messages.items[0].line == line);
        CHECK(messages.items[0].column == column);
        CHECK(messages.items[0].source != NULL);
    } else {
        fprintf(stderr, "    in: %.200s\n", text);
    }
    tj_messages_clear(&messages);
}

/* head, then count times middle, then count times closing, then tail. */
static char *repeat(const char *head, const char *middle, size_t count, const char *closing,
                    const char *tail)
{
    tj_text text = {0};
    tj_text_puts(&text, head);
    for (size_t i = 0; i < count; i++)
        tj_text_puts(&text, middle);
    for (size_t i = 0; i < count; i++)
        tj_text_puts(&text, closing);
    tj_text_puts(&text, tail);
    return text.data;
}

static void check_depth(const char *head, const char *middle, const char *closing, size_t passes,
                        size_t fails)
{
    char *shallow = repeat(head, middle, passes, closing, ";");
    char *deep = repeat(head, middle, fails, closing, ";");
    check_passes(shallow);
    tj_messages messages = scan(deep);
    CHECK(messages.count == 1);
    if (messages.count)
        CHECK_HAS(messages.items[0].text, "nested too deeply");
    else
        fprintf(stderr, "    %zu times %s\n", fails, middle);
    tj_messages_clear(&messages);
    tj_free(shallow);
    tj_free(deep);
}

static void test_plain_text(void)
{
    check_passes("");
    check_passes("return (a[1] + '(') * \"}\"[0]; /* ) */ // ]\n");
    check_passes("int \\\n x;\r\n\f\v\tint y;");
    check_passes("int gr\xc3\xb6\xc3\x9f"
                 "e;");
}

static void test_bytes(void)
{
    tj_messages messages = {0};
    tj_piece piece = {"<text>", "a\n b\0c", 6};
    CHECK(tj_scan_check(&piece, &messages) == TJ_COMPILE_FAILED);
    CHECK_HAS(messages.items[0].text, "0x00");
    CHECK(messages.items[0].line == 2 && messages.items[0].column == 3);
    tj_messages_clear(&messages);
    check_refused("x\x1b[0m", "0x1b", 1, 2);
    check_refused("x\x7f", "0x7f", 1, 2);
    check_refused("int x; \\", "backslash", 1, 8);
    piece.length = TJ_MAX_TEXT + 1;
    CHECK(tj_scan_check(&piece, &messages) == TJ_COMPILE_FAILED);
    CHECK_HAS(messages.items[0].text, "too long");
    tj_messages_clear(&messages);
}

static void test_brackets(void)
{
    check_refused("return 1; } int g(void) { return 2;", "'}' closes nothing", 1, 11);
    check_refused("\n (1", "'(' is not closed", 2, 2);
    check_refused("{ [", "'[' is not closed", 1, 3);
    check_refused("f(1];", "']' does not close", 1, 4);
    check_passes("#define OPEN {\n#define CLOSE }\nOPEN x = 1; CLOSE");
    check_refused("#define OPEN {\nOPEN x = 1;", "opens a bracket", 2, 1);
    check_refused("#define END } int g(void) {\nEND", "nothing opened", 2, 4);
}

static void test_literals(void)
{
    check_refused("x = \"abc;\ny", "string", 1, 5);
    check_refused("x = 'a;\ny", "character", 1, 5);
    check_refused("x; /* y\n", "comment", 1, 4);
    check_passes("char c = '\\'', d = '\"'; char *s = \"\\\\\", *t = \"a\\\nb\";");
}

static void test_conditions(void)
{
    check_passes("#if A\nif (1) {\n#else\n{\n#endif\nx;\n}");
    check_passes("#if A\n{\n#endif\nx;\n#if A\n}\n#endif\n");
    check_passes("#if A\nx(1,\n#elif B\ny(2,\n#else\nz(\n#endif\n3);");
    check_passes("#if 0\nit's (([[ {{ \"\n#endif\nx;");
    check_passes("#if 1\nx;\n#else\nit's }}}\n#endif\n");
    check_passes("#error don't\n#include <it's>\n");
    check_refused("#if A\n} int g(void) {\n#endif\n", "closes nothing", 2, 1);
    check_refused("#if A\nx;\n#else\n}\n#endif\n", "closes nothing", 4, 1);
    check_refused("x;\n#if A\n", "#if without #endif", 2, 2);
    check_refused("x;\n#endif\n", "#endif without #if", 2, 2);
    check_refused("#else\n", "without #if", 1, 2);
    check_refused("#if A\n#else\n#elif B\n#endif\n", "behind #else", 3, 2);
}

static void test_depth(void)
{
    check_depth("x = ", "(", "1)", 200, 300);
    check_depth("", "{", "}", 200, 300);
    check_depth("x = ", "- ", "", 4000, 6000);
    check_depth("x = ", "(int)", "", 2000, 6000);
    check_depth("x", " = x", "", 4000, 6000);
    check_depth("x = ", "1 ? 1 : ", "", 4000, 6000);
    check_depth("x = ", "1 ? ", "1 : 2", 4000, 6000);
    check_depth("x = ", "sizeof ", "", 4000, 6000);
    check_depth("int ", "*", "", 4000, 6000);
    check_depth("", "if (1) ", "", 4000, 6000);
    check_depth("if (0) ; ", "else if (0) ; ", "", 4000, 6000);
    check_depth("", "do ", "; while (0)", 4000, 6000);
    check_depth("#if ", "(", "1)\n#endif\n#if 1\n#endif\n", 1, 300);
}

static void test_flat_text(void)
{
    char *text = repeat("x = 1", " + y * 2 - f(-3)", 20000, "", ";");
    check_passes(text);
    tj_free(text);
    text = repeat("int x[] = {", "-1, a ? b : c, (int)d, {2}, ", 20000, "", "};");
    check_passes(text);
    tj_free(text);
    text = repeat("", "if (a) b = -c; else d = 1; while (e) f(); { g(); } ", 20000, "", "");
    check_passes(text);
    tj_free(text);
    text = repeat("#define STEP if (x) y = 1;\n", "STEP ", 20000, "", "");
    check_passes(text);
    tj_free(text);
}

/* #define A0(x) HEAD, then A1 in terms of A0 and so on, then USE of the last. */
static char *tower(const char *first, const char *format, int levels, const char *use)
{
    tj_text text = {0};
    tj_text_puts(&text, first);
    for (int i = 1; i <= levels; i++) {
        tj_text_printf(&text, "#define A%d(x) ", i);
        for (const char *at = format; *at; at++)
            tj_text_printf(&text, *at == '@' ? "A%d" : "%c", *at == '@' ? i - 1 : *at);
        tj_text_puts(&text, "\n");
    }
    tj_text_printf(&text, "x = A%d%s;", levels, use);
    return text.data;
}

static void check_tower(char *text, const char *part)
{
    tj_messages messages = scan(text);
    CHECK((messages.count == 1) == (part != NULL));
    if (part && messages.count)
        CHECK_HAS(messages.items[0].text, part);
    tj_messages_clear(&messages);
    tj_free(text);
}

static void test_macros(void)
{
    check_tower(tower("#define A0(x) ((((x))))\n", "@(@(@(x)))", 2, "(1)"), NULL);
    check_tower(tower("#define A0(x) ((((x))))\n", "@(@(@(x)))", 9, "(1)"), "nested too deeply");
    check_tower(tower("#define A0(x) - - x\n", "@(@(@(@(x))))", 9, "(1)"), "nested too deeply");
    check_tower(tower("#define A0(x) x\n", "@(x)+@(x)", 10, "(1)"), NULL);
    check_tower(tower("#define A0(x) x\n", "@(x) @(x)", 30, "(1)"), "too many tokens");
    check_tower(tower("#define A0(x) x\n", "@(x) @(x)", 12, "((int))"), NULL);
    check_tower(tower("#define A0(x) x\n", "@(x)", 150, "(1)"), NULL);
    check_tower(tower("#define A0(x) x\n", "@(x)", 1000, "(1)"), "nested too deeply");
    char *text = repeat("#define D(x) x x\ny = ", "D(", 30, ")", ";");
    check_tower(text, "too many tokens");
    text = repeat("y = ", "isnan(", 40, "1)", ";"); /* a macro of the prelude */
    tj_messages messages = scan(text);
    tj_messages_clear(&messages);
    tj_free(text);
    check_passes("#define A B\n#define B A\nx = A;\n#define f(x) f(f(x))\nf(1);");
    check_passes("#define LIST(X) X(a) X(b) X(c)\n#define DECLARE(x) int x;\nLIST(DECLARE)");
    check_passes("#define MAX(a, b) ((a) > (b) ? (a) : (b))\n"
                 "x = MAX(1, MAX(2, MAX(3, MAX(4, MAX(5, MAX(6, 7))))));");
    char *nested =
        repeat("#define MAX(a, b) ((a) > (b) ? (a) : (b))\nx = ", "MAX(-y, ", 14, "z)", ";");
    check_tower(nested, NULL);
    nested =
        repeat("#define MINUS(x) x x x x\ny = ", "MINUS(MINUS(MINUS(MINUS(-)))) ", 40, "", "1;");
    check_tower(nested, "nested too deeply");
}

/* Strings of different widths side by side: libtcc writes past its memory. */
static void test_wide_strings(void)
{
    static const char fault[] = "wide strings";
    check_refused("p = L\"x\" \"y\";", fault, 1, 10);
    check_refused("p = \"x\"\n L\"y\";", fault, 2, 3);
    check_refused("#define S \"y\"\np = L\"x\" S;", fault, 2, 6);
    check_refused("#define S(x) #x \"y\"\np = L\"x\";", fault, 2, 6);
    check_passes("const int *p = L\"x\"; return L\"y\" != p;");
    check_passes("#include \"own.h\"\nprintf(\"a\" \"b\" S \"c\"); return 'x' == L'x';");
}

static void test_what_libtcc_does_not_survive(void)
{
    check_refused("#pragma comment(option, \"-dumpversion\")\n", "#pragma comment", 1, 17);
    check_refused("#pra\\\ngma com\\\nment(option,\"-b\")\n", "#pragma comment", 3, 6);
    check_refused("#define P(a, b) a##b\nP(/,/)\n", "'/'", 2, 3);
    check_refused("asm(\".rept 100000000\\nnop\\n.endr\");", "asm", 1, 5);
    check_refused("static _Thread_local int x;", "'_Thread_local'", 1, 8);
    check_refused("__thread int x;", "thread", 1, 1);
    check_passes("#ifdef HAVE_TLS\n__thread int x;\n#endif\n");
    check_passes("asm(\"nop\"); #pragma pack(1)\nx = a / b; // .rept\n");
}

int main(void)
{
    RUN(test_plain_text);
    RUN(test_bytes);
    RUN(test_brackets);
    RUN(test_literals);
    RUN(test_conditions);
    RUN(test_depth);
    RUN(test_flat_text);
    RUN(test_macros);
    RUN(test_wide_strings);
    RUN(test_what_libtcc_does_not_survive);
    return check_report();
}
