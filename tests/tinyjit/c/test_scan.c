/* test_scan.c: tests which texts are rejected before a compiler sees them, and which pass. */
#include "check.h"
#include "read/tokens.h"

#include <stdlib.h>

static tj_messages scan(const char *text)
{
    tj_messages messages = {0};
    tj_piece piece = {"<text>", text, strlen(text)};
    tj_status status = tj_scan_check(NULL, &piece, false, &messages);
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

/* The text must be rejected with a message that contains `part`, at line:column. */
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

/* Returns head, middle `count` times, closing `count` times, tail. */
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
    CHECK(tj_scan_check(NULL, &piece, false, &messages) == TJ_COMPILE_FAILED);
    CHECK_HAS(messages.items[0].text, "0x00");
    CHECK(messages.items[0].line == 2 && messages.items[0].column == 3);
    tj_messages_clear(&messages);
    check_refused("x\x1b[0m", "0x1b", 1, 2);
    check_refused("x\x7f", "0x7f", 1, 2);
    check_refused("int x; \\", "backslash", 1, 8);
    piece.length = TJ_MAX_TEXT + 1;
    CHECK(tj_scan_check(NULL, &piece, false, &messages) == TJ_COMPILE_FAILED);
    CHECK_HAS(messages.items[0].text, "too long");
    tj_messages_clear(&messages);
}

static void test_brackets(void)
{
    check_refused("return 1; } int g(void) { return 2;", "'}' closes nothing", 1, 11);
    check_refused("\n (1", "'(' is not closed", 2, 2);
    check_refused("{ [", "'[' is not closed", 1, 3);
    check_refused("f(1];", "']' closes nothing", 1, 4);
    check_passes("#define OPEN {\n#define CLOSE }\nOPEN x = 1; CLOSE");
    check_refused("#define OPEN {\nOPEN x = 1;", "opens a bracket", 2, 1);
    check_refused("#define END } int g(void) {\nEND", "nothing opened", 2, 1);
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

/* Returns `first` (a #define of A0), macros A1 to A`levels` from `format` (@: the one before), and a use. */
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
    check_tower(tower("#define A0(x) ((((x))))\n", "@(@(@(x)))", 4, "(1)"), "nested too deeply");
    check_tower(tower("#define A0(x) ((((x))))\n", "@(@(@(x)))", 9, "(1)"), "too many tokens");
    check_tower(tower("#define A0(x) - - x\n", "@(@(@(@(x))))", 9, "(1)"), "too many tokens");
    check_tower(tower("#define A0(x) x\n", "@(x)+@(x)", 10, "(1)"), NULL);
    check_tower(tower("#define A0(x) x\n", "@(x) @(x)", 30, "(1)"), "too many tokens");
    check_tower(tower("#define A0(x) x\n", "@(x) @(x)", 12, "((int))"), NULL);
    check_tower(tower("#define A0(x) x\n", "@(x)", 150, "(1)"), NULL);
    check_tower(tower("#define A0(x) x\n", "@(x)", 1000, "(1)"), "nested too deeply");
    char *text = repeat("#define D(x) x x\ny = ", "D(1 ", 30, ")", ";");
    check_tower(text, "too many tokens");
    text = repeat("#define D(x) x x\ny = 1", "D(", 30, ")", ";"); /* without a token to repeat */
    check_tower(text, NULL);
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

/* After expansion there may be other brackets and operators than in the text. */
static void test_expansion(void)
{
    check_passes(
        "#define CALL(f, ...) f(__VA_ARGS__)\n#define NONE()\nx = CALL(g, 1, (2, 3)) NONE();");
    check_passes(
        "#define LOG(format, ...) log(format, ## __VA_ARGS__)\nLOG(\"a\"); LOG(\"b\", 1);");
    check_passes("#define LOG(args...) log(args)\nLOG(1, 2);");
    check_passes("#define NAME(a, b) a ## b ## _t\n#define TEXT(a) #a\nNAME(x, y) z = TEXT([);");
    check_refused("#define NAME(a, b) a ## b ## _t\n#define xy_t {\nNAME(x, y)", "opens a bracket",
                  3, 1);
    check_refused("#define NAME(a) x ## a ## y\n#define xy {\nNAME()", "opens a bracket", 3, 1);
    check_passes("#define PASTE(a, b) a ## b\n#define xy(q) (q)\nz = PASTE(x, y)(1);");
    check_refused("#define PASTE(a, b) a ## b\n#define xy(q) (q\nz = PASTE(x, y)(1);",
                  "opens a bracket", 3, 5);
    check_refused("#define OPEN(x) ( x\n#define NAME OPEN\ny = NAME (1);", "opens a bracket", 3, 5);
    check_passes("#define PAIR(x) ( x\n#define END )\ny = PAIR(1) END;");
    check_passes("#define f(x) x f\ny = f(1)(2)(3);");
    check_passes("#define WIDE(x) x\ny = WIDE(\n#ifdef A\n1\n#else\n2\n#endif\n);");
    check_refused("#define OPEN(x) ( x\ny = OPEN(\n#ifdef A\n1\n#endif\n);", "opens a bracket", 2,
                  5);
    check_refused("#ifdef A\n#define B (\n#else\n#define B {\n#endif\ny = B 1 );", "closes nothing",
                  6, 9);
    check_refused("{\n if (x > 0 {\n y;\n }\n}", "'(' is not closed", 2, 5);
    check_refused("{\n int y[3;\n}", "'[' is not closed", 2, 7);
    check_refused("{ f(({ x; ) }); }", "'{' is not closed", 1, 6);
    check_refused("#undef f\n#define f(x) {\nf (1", "'(' is not closed", 3, 3);
    check_depth("#define N -\nx = ", "N ", "", 4000, 6000);
    check_depth("#define TWO(x) x x\nx = ", "TWO(-) ", "", 2000, 3000);
    check_depth("#define OPEN(x) (x\nx = ", "OPEN(1 +)", "1)", 200, 300);
    check_tower(tower("#define A0(x) x\n", "@(x ## x)", 40, "(ab)"), "too many tokens");
    char *text = repeat("#define MUCH(x) x + x + x + x\nint f(int a) { return ", "MUCH(a) - ",
                        100000, "", "1; }"); /* a large text may become much larger */
    check_passes(text);
    tj_free(text);
}

/* For adjacent strings of different widths libtcc would write beyond its memory. */
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

/* All keywords must be found: the search is binary, in a sorted list. */
static void test_keywords(void)
{
    static const struct {
        const char *words;
        tj_word kind;
    } kinds[] = {
        {"_Alignas __attribute __attribute__ __declspec", TJ_ATTRIBUTE},
        {"_Alignof __alignof __alignof__ sizeof", TJ_MEASURE},
        {"_Atomic __const __const__ __restrict __restrict__ __volatile __volatile__ const restrict "
         "volatile",
         TJ_QUALIFIER},
        {"_BitInt _Bool _Complex _Decimal128 _Decimal32 _Decimal64 _Float128 _Float16 _Float32 "
         "_Float32x _Float64 _Float64x _Imaginary __auto_type __builtin_va_list __complex__ "
         "__float128 __int128 __int128_t __signed __signed__ __uint128_t bool char double float "
         "int long short signed unsigned void",
         TJ_TYPE},
        {"_Generic _Pragma _Static_assert __label__ __pragma static_assert", TJ_OTHER_WORD},
        {"_Noreturn __inline __inline__ auto extern inline register static", TJ_STORAGE},
        {"_Thread_local __thread thread_local", TJ_THREAD_LOCAL},
        {"__asm __asm__ asm", TJ_ASSEMBLER},
        {"__extension__", TJ_EXTENSION},
        {"__typeof __typeof__ typeof", TJ_TYPEOF},
        {"break case continue default do else for goto if return switch while", TJ_STATEMENT},
        {"enum struct union", TJ_DEFINER},
        {"typedef", TJ_TYPEDEF},
        {"a constant in i intt _ __ zzz Const while_ whil", TJ_NO_WORD},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (const char *at = kinds[i].words; *at; at += strspn(at, " ")) {
            size_t length = strcspn(at, " ");
            CHECK(tj_word_of(at, length) == kinds[i].kind);
            at += length;
        }
    CHECK(tj_word_of("", 0) == TJ_NO_WORD);
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
    RUN(test_expansion);
    RUN(test_keywords);
    RUN(test_wide_strings);
    RUN(test_what_libtcc_does_not_survive);
    return check_report();
}
