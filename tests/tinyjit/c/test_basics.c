/* test_basics.c: tests texts, errors, maps; compiler messages and their places. */
#include "program.h"

#include <stdint.h>

static void test_text(void)
{
    tj_text text = {0};
    tj_text_quote(&text, "a\"\\\n\t?\1z\xc3\xa9", 10);
    CHECK_STR(text.data, "\"a\\\"\\\\\\n\\t\\?\\001z\xc3\xa9\"");
    tj_text_clear(&text);
    for (int i = 0; i < 1000; i++)
        tj_text_printf(&text, "%d,", i);
    CHECK(text.length == 3890 && strlen(text.data) == 3890);
    tj_text_clear(&text);
    CHECK(text.data == NULL && text.length == 0);
    tj_text_clear(NULL);
}

static void test_error(void)
{
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_fail(&error, TJ_BAD_SPEC, "%s %d", "x", 3) == TJ_BAD_SPEC);
    CHECK_STR(error.text, "x 3");
    CHECK(error.brief != NULL);
    CHECK(tj_fail(&error, TJ_BAD_SPEC, "again %s", error.text) == TJ_BAD_SPEC);
    CHECK_STR(error.text, "again x 3");
    allow(0);
    CHECK(tj_fail(&error, TJ_BAD_SPEC, "x") == TJ_NO_MEMORY);
    tj_set_allocator(NULL);
    CHECK(error.status == TJ_NO_MEMORY && error.text == NULL);
    CHECK_STR(error.brief, "out of memory");
    CHECK(tj_fail(NULL, TJ_BAD_SPEC, "x") == TJ_BAD_SPEC);
    tj_error_clear(&error);
    tj_error_clear(NULL);
}

static void test_map(void)
{
    tj_map map = {0};
    char name[32];
    for (size_t i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "name%zu", i);
        CHECK(tj_map_set(&map, name, (const void *)(uintptr_t)i, i % 2));
    }
    CHECK(map.count == 1000);
    for (size_t i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "name%zu", i);
        const tj_map_item *item = tj_map_get(&map, name);
        CHECK(item && item->address == (const void *)(uintptr_t)i && item->neutral == i % 2);
    }
    CHECK(tj_map_get(&map, "name1000") == NULL);
    tj_map_clear(&map);
    CHECK(tj_map_get(&map, "name1") == NULL);
}

static void test_overflow(void)
{
    CHECK(tj_alloc_zeroed(SIZE_MAX / 2, 3) == NULL);
    void *block = tj_alloc_zeroed(0, 8);
    CHECK(block != NULL);
    tj_free(block);
    tj_free(NULL);
}

/* ---- messages ------------------------------------------------------------------ */

static void locate_one(const char *source, int line, const char *message, const char *wanted_source,
                       int column, int end_column)
{
    tj_messages messages = {0};
    tj_messages_add(&messages, true, "<x>", line, message);
    tj_piece pieces[] = {{"<absent>", NULL, 0}, {"<x>", source, strlen(source)}};
    for (size_t i = 0; i < 2; i++)
        tj_messages_locate(&messages, &pieces[i]);
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
    RUN(test_text);
    RUN(test_error);
    RUN(test_map);
    RUN(test_overflow);
    RUN(test_locate);
    RUN(test_diagnose);
    return check_report();
}
