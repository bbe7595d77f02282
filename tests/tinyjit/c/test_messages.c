/* test_messages.c: taking the compiler's lines apart (diagnose.c) and finding the
 * place in the text (messages.c).
 */
#include "internal.h"
#include "check.h"

static void locate_one(const char *source, int line, const char *message, const char *wanted_source,
                       int column, int end_column)
{
    tj_messages messages = {0};
    tj_messages_add(&messages, true, "<x>", line, message);
    tj_piece pieces[] = {{"<absent>", NULL, 0}, {"<x>", source, strlen(source)}};
    tj_messages_locate(&messages, pieces, 2);
    CHECK_STR(messages.items[0].source, wanted_source);
    CHECK(messages.items[0].column == column);
    CHECK(messages.items[0].end_column == end_column);
    tj_messages_clear(&messages);
}

static void test_locate(void)
{
    locate_one("a;\n foo(bar);\n", 2, "'bar' undeclared", " foo(bar);", 6, 9);
    locate_one("xx + \"x\" /* x */ + x; // x", 1, "'x' undeclared", "xx + \"x\" /* x */ + x; // x",
               20, 21);
    locate_one("int a; int a;", 1, "redeclaration of 'a'", "int a; int a;", 12, 13);
    locate_one("return x }", 1, "';' expected (got '}')", "return x }", 10, 11);
    locate_one("f((x)", 1, "expression expected before '('", "f((x)", 0, 0);
    locate_one("one\n two\n\n", 7, "function might return no value: 'f'", " two", 0, 0);
    locate_one("one", 0, "nothing", NULL, 0, 0);
    locate_one("", 1, "empty", "", 0, 0);
    locate_one("#error 'one'", 1, "#error 'one'", "#error 'one'", 0, 0);
    locate_one("\"abc", 1, "missing terminating ' character", "\"abc", 0, 0);
}

static void test_unsupported_hint(void)
{
    const char *source = "__int128 x;";
    tj_messages messages = {0};
    tj_messages_add(&messages, true, "<x>", 1, "';' expected (got 'x')");
    tj_messages_locate(&messages, &(tj_piece){"<x>", source, strlen(source)}, 1);
    CHECK_HAS(messages.items[0].text, "libtcc does not support __int128");
    tj_messages_clear(&messages);
}

static void diagnose_one(const char *line, bool is_error, const char *file, int number,
                         const char *text)
{
    tj_diagnosis diagnosis = {0};
    tj_diagnose(&diagnosis, line);
    CHECK(diagnosis.messages.count == 1);
    if (diagnosis.messages.count == 1) {
        const tj_message *message = &diagnosis.messages.items[0];
        CHECK(message->is_error == is_error);
        CHECK_STR(message->file, file);
        CHECK(message->line == number);
        CHECK_STR(message->text, text);
    }
    tj_diagnosis_clear(&diagnosis);
}

static void test_diagnose(void)
{
    diagnose_one("a b:12: warning: hm", false, "a b", 12, "hm");
    diagnose_one("a: 3: error: x:2: error: 'y'", true, "a: 3: error: x", 2, "'y'");
    diagnose_one("C:/x.c:7: error: y:8: error: z", true, "C:/x.c", 7, "y:8: error: z");
    diagnose_one("tcc: error: file 'x' not found", true, "", 0, "file 'x' not found");
    diagnose_one("In file included from <a>:3:\nIn file included from b:4:\nc.h:5: error: e", true,
                 "c.h", 5, "e (in a file included from b:4)");
    diagnose_one("no such form", true, "", 0, "no such form");
    diagnose_one("x:99999999999: error: e", true, "x", 2147483647, "e");
    diagnose_one("", true, "", 0, "");
}

int main(void)
{
    RUN(test_locate);
    RUN(test_unsupported_hint);
    RUN(test_diagnose);
    return check_report();
}
