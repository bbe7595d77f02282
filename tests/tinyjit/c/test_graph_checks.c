/* test_graph_checks.c: tests how declarations are read, and what the texts of blocks must not do. */
#include "program.h"

/* ---- declarations --------------------------------------------------------------- */

static void check_declared(const char *text, const char *typedefs, const char *members,
                           const char *names)
{
    tj_piece whole = piece("<declare>", text);
    tj_declarations found;
    tj_messages messages = {0};
    tj_error error;
    tj_text joined = {0};
    tj_error_init(&error);
    tj_status status = tj_declarations_read(&whole, "V1_x", &found, &messages, &error);
    if (messages.count)
        fprintf(stderr, "%s: %s\n", text, messages.items[0].text);
    CHECK(status == TJ_OK);
    CHECK_STR(found.typedefs, typedefs);
    CHECK_STR(found.members, members);
    tj_text_puts(&joined, "");
    for (size_t i = 0; i < found.nnames; i++)
        tj_text_printf(&joined, "%s%s", i ? " " : "", found.names[i]);
    CHECK_STR(joined.data, names);
    tj_text_clear(&joined);
    tj_declarations_clear(&found);
    tj_messages_clear(&messages);
    tj_error_clear(&error);
}

/* All of the text declares variables: its typedefs are blanks. */
static void check_variables(const char *text, const char *names)
{
    char blanks[1024];
    size_t i = 0;
    for (; text[i]; i++)
        blanks[i] = text[i] == '\n' ? '\n' : ' ';
    blanks[i] = '\0';
    check_declared(text, blanks, text, names);
}

static void test_declarations(void)
{
    check_declared("", "", "", "");
    check_variables("double V1_x;", "V1_x");
    check_variables("double V1_x;\nvoid *V1_x_tmp, *aux_V1_x;", "V1_x V1_x_tmp aux_V1_x");
    check_variables("const char *const *V1_x[3][4];", "V1_x");
    check_variables("int (*V1_x)(int, double *), (*V1_x_a[2])(void);", "V1_x V1_x_a");
    check_variables("unsigned long long V1_x;", "V1_x");
    check_variables("npy_float64 V1_x;", "V1_x");
    check_variables("struct { int a, b; } V1_x;", "V1_x");
    check_variables("struct tag *V1_x;", "V1_x");
    check_variables("enum V1_x_e { V1_x_A, B_V1_x = 2 } V1_x;", "V1_x");
    check_variables("__typeof__(1 + 2) V1_x;", "V1_x");
    check_variables("NPY_TYPE(x) V1_x;", "V1_x");
    check_variables("char V1_x[sizeof(double) * N];", "V1_x");
    check_variables("const npy_intp *V1_x __attribute__((unused));", "V1_x");
    check_variables("void *restrict V1_x;", "V1_x");
    check_declared("typedef double V1_x_t; V1_x_t V1_x;", "typedef double V1_x_t;             ",
                   "                       V1_x_t V1_x;", "V1_x");
    check_declared("/* a */ struct V1_x_s\n{ int a; }; // b\nstruct V1_x_s V1_x;",
                   "        struct V1_x_s\n{ int a; };     \n                   ",
                   "                     \n                \nstruct V1_x_s V1_x;", "V1_x");
    check_declared("typedef int V1_x_f(int), *V1_x_p;", "typedef int V1_x_f(int), *V1_x_p;",
                   "                                 ", "");
    check_declared(";;double V1_x;;", "               ", "  double V1_x; ", "V1_x");
}

static void check_not_declared(const char *text, int line, const char *part)
{
    tj_piece whole = piece("<declare>", text);
    tj_declarations found;
    tj_messages messages = {0};
    CHECK(tj_declarations_read(&whole, "V1_x", &found, &messages, NULL) == TJ_COMPILE_FAILED);
    CHECK(messages.count == 1);
    if (messages.count) {
        CHECK_HAS(messages.items[0].text, part);
        CHECK(messages.items[0].line == line);
        CHECK(messages.items[0].column > 0);
    }
    CHECK(found.names == NULL && found.members == NULL && found.typedefs == NULL);
    tj_messages_clear(&messages);
}

static void test_not_declarations(void)
{
    check_not_declared("double x;", 1, "'x' must have the variable's name, 'V1_x'");
    check_not_declared("double V1_x;\nint i;", 2, "'i' must have");
    check_not_declared("typedef int T;", 1, "'T' must have");
    check_not_declared("PyObject *py_V1_x;", 1, "object in the variable's storage");
    check_not_declared("PyObject *storage_V1_x;", 1, "'storage_V1_x' is declared already");
    check_not_declared("double V1_x = 0;", 1, "initializer");
    check_not_declared("double V1_x[2] = {1, 2};", 1, "initializer");
    check_not_declared("#define V1_x 3\n", 1, "directive");
    check_not_declared("double V1_x;\n#include <math.h>", 2, "directive");
    check_not_declared("static double V1_x;", 1, "storage class");
    check_not_declared("extern double V1_x;", 1, "storage class");
    check_not_declared("int V1_x(int);", 1, "function");
    check_not_declared("int V1_x(int a) { return a; }", 1, "statement");
    check_not_declared("double V1_x; V1_x = 3;", 1, "only declarations");
    check_not_declared("enum V1_x_e { V1_x_A,\nB = 2 } V1_x;", 2, "'B' must have");
    check_not_declared("struct tag { int a; } V1_x;", 1, "'tag' must have");
    check_not_declared("struct tag; double V1_x;", 1, "'tag' must have");
    check_not_declared("struct {\n  union in { int a; } u; } V1_x;", 2, "'in' must have");
    check_not_declared("V1_x++;", 1, "only declarations");
    check_not_declared("if (1) { int V1_x; }", 1, "statement");
    check_not_declared("return 1;", 1, "statement");
    check_not_declared("double V1_x", 1, "ends with ';'");
    check_not_declared("int V1_x : 3;", 1, "only declarations");
    check_not_declared("double;", 1, "only declarations");
    check_not_declared("typedef double;", 1, "only declarations");
    check_not_declared("V1_x;", 1, "only declarations");
    check_not_declared("int V1_x, V1_x_a[V1_x];", 1, "constant");
    check_not_declared("_Static_assert(1, \"V1_x\");", 1, "only declarations");
    check_not_declared("double *;", 1, "only declarations");
    check_not_declared("int (V1_x", 1, "ends with ';'");
}

/* ---- texts in blocks ---------------------------------------------------------------- */

typedef enum place {
    SUPPORT,
    INIT_CODE,
    BEGIN,
    SYNC,
    FAILING_SYNC,
    CLEANUP,
    CODE,
    CODE_CLEANUP,
    STRUCT_INIT
} place;

/* Checks a graph of one variable (block 1) and one operation (block 2) with the text at `at`. support may be NULL. */
static tj_status check_text(place at, const char *support, const char *text, tj_messages *messages)
{
    tj_piece whole = piece("<text>", text), supports[] = {piece("<support>", support)};
    tj_graph_variable variable = {.name = "V1_x", .label = "x", .sync_fails = at == FAILING_SYNC};
    tj_graph_node node = {.name = "node_1", .label = "op", .code_block = 2};
    tj_graph graph = {.name = "graph",
                      .nvariables = 1,
                      .variables = &variable,
                      .nnodes = 1,
                      .nodes = &node,
                      .nsupports = 1,
                      .supports = supports};
    tj_error error;
    tj_error_init(&error);
    *(at == SUPPORT                      ? &node.support
      : at == BEGIN                      ? &variable.extract
      : at == SYNC || at == FAILING_SYNC ? &variable.sync
      : at == CLEANUP                    ? &variable.cleanup
      : at == CODE                       ? &node.code
      : at == CODE_CLEANUP               ? &node.code_cleanup
                                         : &node.struct_init) = whole;
    if (at == INIT_CODE) {
        graph.ninits = 1;
        graph.inits = &whole;
        node.struct_init = (tj_piece){0};
    }
    tj_status status = tj_graph_check(NULL, &graph, messages, &error);
    tj_error_clear(&error);
    return status;
}

static void check_fine(place at, const char *support, const char *text)
{
    tj_messages messages = {0};
    tj_status status = check_text(at, support, text, &messages);
    CHECK(status == TJ_OK);
    if (status)
        fprintf(stderr, "    %s: %s\n", text, messages.count ? messages.items[0].text : "");
    tj_messages_clear(&messages);
}

static void check_refused(place at, const char *support, const char *text, int line,
                          const char *part)
{
    tj_messages messages = {0};
    CHECK(check_text(at, support, text, &messages) == TJ_COMPILE_FAILED);
    CHECK(messages.count >= 1);
    if (messages.count) {
        CHECK_HAS(messages.items[0].text, part);
        CHECK(messages.items[0].line == line);
        CHECK(messages.items[0].column > 0);
        CHECK_STR(messages.items[0].file, "<text>");
    } else {
        fprintf(stderr, "    %s\n", text);
    }
    tj_messages_clear(&messages);
}

static void test_ways_out(void)
{
    static const place places[] = {BEGIN,        SYNC,        CLEANUP,  CODE,
                                   CODE_CLEANUP, STRUCT_INIT, INIT_CODE};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        check_refused(places[i], NULL, "\nif (1) return;", 2, "'return'");
        check_refused(places[i], NULL, "return 1;", 1, "'return'");
        check_refused(places[i], NULL, "break;", 1, "'break'");
        check_refused(places[i], NULL, "if (1) { continue; }", 1, "'continue'");
        check_refused(places[i], NULL, "goto out;", 1, "'goto'");
        check_refused(places[i], NULL, "switch (1) { case 1: continue; }", 1, "'continue'");
        check_fine(places[i], NULL,
                   "/* return */ puts(\"return; goto\"); int returns = 1; // break");
        check_fine(places[i], NULL, "for (;;) { break; }");
    }
    check_fine(SUPPORT, NULL, "static int f(int x) { if (x) return 1; return 2; }");
}

static void test_loops(void)
{
    check_fine(CODE, NULL, "for (int i = 0; i < 3; i++) if (i) break; else continue;");
    check_fine(CODE, NULL, "while (a) { if (b) continue; switch (c) { case 1: break; } }");
    check_fine(CODE, NULL, "do { if (a) break; } while (0);");
    check_fine(CODE, NULL, "do if (a) break; else continue; while (0); x = 1;");
    check_fine(CODE, NULL, "do do x(); while (0); while (break_it);");
    check_fine(CODE, NULL, "for (;;) if (a) x = (int[]){1, 2}; else break;");
    check_fine(CODE, NULL,
               "for (;;) while (a) for (;;) if (b) if (c) x(); else break; else continue;");
    check_fine(CODE, NULL, "int a[] = {1, 2}; struct { int b; } s = {1}; for (;;) { break; }");
    check_fine(CODE, NULL, "for (;;) { int a[] = {1}; break; }");
    check_fine(CODE, NULL, "for (;;) { again: if (a) goto again; break; }");
    check_fine(CODE, NULL, "foreach(item, list) { if (item) break; }");
    check_fine(CODE, NULL, "x = ({ int y = 0; for (;;) { break; } y; });");
    check_fine(CODE, NULL, "switch (a) { case 1: x(); break; default: break; }");
    check_fine(CODE, NULL, "#if 0\nreturn 1;\n#endif\nx();");
    check_fine(CODE, NULL, "#ifdef A\nfor (;;) {\n#else\nwhile (a) {\n#endif\nbreak; }");
    check_fine(CODE, NULL,
               "int bad = 0; for (int i = 0; i < 3; i++) { if (i) {bad++; continue;} }");
    check_refused(CODE, NULL, "for (;;) { } break;", 1, "'break'");
    check_refused(CODE, NULL, "for (;;) x();\nbreak;", 2, "'break'");
    check_refused(CODE, NULL, "do x(); while (a); break;", 1, "'break'");
    check_refused(CODE, NULL, "if (a) for (;;) x(); else break;", 1, "'break'");
    check_refused(CODE, NULL, "while (a) x(); if (b) y(); else\ncontinue;", 2, "'continue'");
    check_refused(CODE, NULL, "int a[] = {1, 2}; break;", 1, "'break'");
}

static void test_labels(void)
{
    check_fine(CODE, NULL, "again: if (a) goto again;");
    check_fine(CODE, NULL, "if (a) goto out; x(); out:;");
    check_fine(CODE, NULL, "void *at = &&out; goto *at; out:;");
    check_fine(CODE, NULL, "x = a ? b : c;");
    check_refused(CODE, NULL, "goto label_1;", 1, "'goto'");
    check_refused(CODE, NULL, "label_2: x();", 1, "belongs to the generated text");
    check_refused(CODE, NULL, "int label_77 = 0;", 1, "belongs to the generated text");
    check_fine(CODE, NULL, "int label_ = 0, label_x, my_label_2;");
}

static void test_failing(void)
{
    check_fine(CODE, NULL, "if (a) {failure = 2; goto label_2;}");
    check_fine(CODE, NULL, "if (a) { failure=2;\n goto label_2; };");
    check_fine(BEGIN, NULL, "if (a) {failure = 1; goto label_1;} x();");
    check_fine(STRUCT_INIT, NULL, "if (a) {failure = 2; goto label_2;}");
    check_refused(CODE, NULL, "{failure = 1; goto label_1;}", 1, "another block");
    check_refused(CODE, NULL, "{failure = 2; goto label_1;}", 1, "belongs to the generated");
    check_refused(CODE, NULL, "failure = 2;", 1, "belongs to the generated");
    check_refused(CODE, NULL, "int failure = 0;", 1, "belongs to the generated");
    check_refused(CODE, NULL, "#define failure 1\n", 1, "belongs to the generated");
    check_refused(CODE, NULL, "cwj_state = 0;", 1, "belongs to the generated");
    check_fine(CODE, NULL, "cwj_other(x->failures, my_failure);");
    check_refused(CLEANUP, NULL, "{failure = 1; goto label_1;}", 1, "a cleanup must not fail");
    check_refused(CODE_CLEANUP, NULL, "x();\n{failure = 2; goto label_2;}", 2,
                  "a cleanup must not fail");
    check_refused(SYNC, NULL, "{failure = 1; goto label_1;}", 1, "c_sync must not fail");
    check_refused(SYNC, NULL, "{failure = 1; goto label_1_cleanup;}", 1, "c_sync must not fail");
    check_fine(FAILING_SYNC, NULL, "if (a) {failure = 1; goto label_1_cleanup;}");
    check_refused(INIT_CODE, NULL, "{failure = 1; goto label_1;}", 1, "no block");
}

static void test_macros(void)
{
    check_fine(CODE, "#define F(x) return x\n", "x();");
    check_refused(CODE, "#define F(x) return x\n", "F(1);", 1, "in the macro 'F': 'return'");
    check_refused(CODE, "#define F return\n#define G(x) F x\n", "\nG(1);", 2, "in the macro 'G'");
    check_refused(CODE, "#define F break\n", "F;", 1, "'break'");
    check_fine(CODE, "#define F break\n", "for (;;) F;");
    check_fine(CODE, "#define F for (;;) { break; }\n", "F");
    check_refused(CODE, "#define F if (a) \\\n  goto out\n", "F;", 1, "'goto'");
    check_fine(CODE, "#define F(x) return x\n#undef F\n", "F(1);");
    check_fine(CODE, "#define F F\n#define A B\n#define B A\n", "F; A;");
    check_fine(CODE, "#define EACH(i, n) for (int i = 0; i < n; i++)\n",
               "EACH(i, 3) if (i) break; x();");
    check_fine(CODE, "#define BEGIN for (;;) {\n#define END }\n", "BEGIN x(); break; END");
    check_refused(CODE, "#define EACH(i, n) for (int i = 0; i < n; i++)\n",
                  "EACH(i, 3) x(); break;", 1, "'break'");
    check_fine(CODE, NULL,
               "#define FAIL {failure = 2; goto label_2;}\nif (a) { FAIL }\n#undef FAIL\n");
    check_refused(CODE, NULL, "#define FAIL {failure = 1; goto label_1;}\nif (a) { FAIL }", 2,
                  "another block");
    check_refused(CODE_CLEANUP, "#define FAIL {failure = 2; goto label_2;}\n", "FAIL", 1,
                  "a cleanup must not fail");
    check_refused(CODE, NULL, "#define R(x) x\nR(return 1);", 2, "'return'");
}

static void test_scanned(void)
{
    check_refused(CODE, NULL, "{", 1, "is not closed");
    check_refused(CODE, NULL, "x(); }", 1, "closes nothing");
    check_refused(CODE, NULL, "\"abc", 1, "does not end");
    check_refused(BEGIN, NULL, "static _Thread_local int i;", 1, "thread local");
}

static tj_status check_header(const char *header)
{
    tj_graph graph = {.name = "graph", .nheaders = 1, .headers = &header};
    tj_messages messages = {0};
    tj_error error;
    tj_error_init(&error);
    tj_status status = tj_graph_check(NULL, &graph, &messages, &error);
    CHECK(messages.count == 0);
    CHECK((error.text != NULL) == (status != TJ_OK));
    tj_error_clear(&error);
    tj_messages_clear(&messages);
    return status;
}

static void test_headers(void)
{
    CHECK(check_header("<math.h>") == TJ_OK);
    CHECK(check_header("\"a b/my.h\"") == TJ_OK);
    CHECK(check_header("math.h") == TJ_BAD_SPEC);
    CHECK(check_header("") == TJ_BAD_SPEC);
    CHECK(check_header("<>") == TJ_BAD_SPEC);
    CHECK(check_header("<a.h> int x;") == TJ_BAD_SPEC);
    CHECK(check_header("<a.h>\nint x;\n#include <b.h>") == TJ_BAD_SPEC);
    CHECK(check_header("\"a.h\" \"b.h\"") == TJ_BAD_SPEC);
}

static void test_size(void)
{
    enum {
        MANY = 50000
    };
    tj_graph_node node = {.name = "node_1", .label = "op", .code_block = 2};
    tj_graph_variable variable = {.name = "V1", .label = "x"};
    int *order = calloc(MANY + 1, sizeof *order);
    tj_graph_step step = {.nnodes = MANY + 1, .nodes = order};
    tj_graph graph = {.name = "graph",
                      .nvariables = 1,
                      .variables = &variable,
                      .nnodes = 1,
                      .nodes = &node,
                      .nsteps = 1,
                      .steps = &step};
    tj_messages messages = {0};
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_graph_check(NULL, &graph, &messages, &error) == TJ_BAD_SPEC);
    CHECK_HAS(error.text, "50001 values and operations");
    tj_error_clear(&error);
    step.nnodes = MANY;
    CHECK(tj_graph_check(NULL, &graph, &messages, &error) == TJ_OK);
    free(order);
    tj_error_clear(&error);
}

/* The check must end and reject the text, or run out of memory. */
static bool refuse(void *nothing)
{
    static const char text[] = "#define F {failure = 2; goto label_2;}\n"
                               "again: for (;;) { if (a) goto again; break; } if (b) F\n"
                               "double c[n]; return x;";
    tj_messages messages = {0};
    (void)nothing;
    tj_status status = check_text(CODE, "#define G(x) F x\n", text, &messages);
    CHECK(status == TJ_COMPILE_FAILED || status == TJ_NO_MEMORY);
    tj_messages_clear(&messages);
    return status == TJ_COMPILE_FAILED;
}

static void test_without_memory(void)
{
    CHECK(starve(refuse, NULL) > 10);
}

static void test_random_texts(void)
{
    static char words[] =
        "for|while|do|if|else|switch|case|goto|a|label_2|failure|=|2|;|:|(|)|{|}|[|]"
        "|,|*|\n#define A |\n|\n#else\n|A|break|continue|typedef|struct|int|V1_x"
        "|\n#if 0\n|\n#endif\n|__typeof__|__attribute__";
    const char *all[40];
    size_t count = 0;
    for (char *word = strtok(words, "|"); word; word = strtok(NULL, "|"))
        all[count++] = word;
    unsigned long seed = 12345;
    for (int round = 0; round < 5000; round++) {
        tj_text text = {0};
        tj_messages messages = {0};
        tj_declarations found;
        for (int i = 0; i < 14; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            tj_text_printf(&text, "%s ", all[(seed >> 33) % count]);
        }
        check_text((place)(round % 9), text.data, text.data, &messages);
        tj_piece whole = {"", text.data, text.length};
        tj_declarations_read(&whole, "V1_x", &found, &messages, NULL);
        tj_declarations_clear(&found);
        tj_messages_clear(&messages);
        tj_text_clear(&text);
    }
}

int main(void)
{
    RUN(test_declarations);
    RUN(test_not_declarations);
    RUN(test_ways_out);
    RUN(test_loops);
    RUN(test_labels);
    RUN(test_failing);
    RUN(test_macros);
    RUN(test_scanned);
    RUN(test_headers);
    RUN(test_size);
    RUN(test_without_memory);
    RUN(test_random_texts);
    return check_report();
}
