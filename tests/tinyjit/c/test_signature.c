/* test_signature.c: signature strings, read and written, and lengths that are computed. */
#include "check.h"
#include "tinyjit.h"

static char *read_back(const char *text)
{
    tj_signature signature;
    tj_error error;
    char *again = NULL;
    tj_error_init(&error);
    tj_status status = tj_signature_parse(text, strlen(text), &signature, &error);
    CHECK_STR(error.text, NULL);
    if (status == TJ_OK) {
        tj_spec spec = {.name = "f",
                        .noperands = signature.noperands,
                        .noutputs = signature.noutputs,
                        .operands = signature.operands,
                        .flags = signature.one_output ? 1 : 0};
        again = tj_spec_signature(&spec);
    }
    tj_signature_clear(&signature);
    tj_error_clear(&error);
    return again;
}

static void check_reads(const char *text, const char *wanted)
{
    char *again = read_back(text);
    CHECK_STR(again, wanted);
    tj_free(again);
}

static void test_reading(void)
{
    check_reads("a(n), b(n) -> output()", "a(n), b(n) -> output()");
    check_reads("inout a(n, 3), b(n) -> out(3)", "inout a(n, 3), b(n) -> out(3)");
    check_reads("  a(n),\n\tb ( 0 ,m)->o( )  ", "a(n), b(0, m) -> o()");
    check_reads("a() -> ()", "a() -> output()");
    check_reads("a(n) -> (n)", "a(n) -> output(n)");
    check_reads("a() -> (), (3)", "a() -> output0(), output1(3)");
    check_reads("a() -> (z(3),)", "a() -> (z(3),)");
    check_reads("a() -> (z(3), y())", "a() -> z(3), y()");
    check_reads("-> eye(3, 3)", "-> eye(3, 3)");
    check_reads("inout(n) -> o()", "inout(n) -> o()");
    check_reads("inout inout(n) -> o()", "inout inout(n) -> o()");
    check_reads("inout a(n) ->", "inout a(n) ->");
    check_reads("gr\xc3\xb6\xc3\x9f"
                "e(l\xc3\xa4nge) -> o()",
                "gr\xc3\xb6\xc3\x9f"
                "e(l\xc3\xa4nge) -> o()");
}

static void check_fault(const char *text, ptrdiff_t position)
{
    tj_signature signature;
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_signature_parse(text, strlen(text), &signature, &error) == TJ_BAD_SIGNATURE);
    CHECK(error.position == position);
    CHECK(error.text && !signature.operands && !signature.noperands);
    if (error.position != position)
        fprintf(stderr, "    %s: got %td, wanted %td\n", text, error.position, position);
    tj_error_clear(&error);
}

static void test_faults(void)
{
    check_fault("", 0);
    check_fault("a(n), b(n)", 10);
    check_fault("a(n) b(n) -> out()", 5);
    check_fault("a(n), b(n -> out()", 10);
    check_fault("a(n), -> out()", 6);
    check_fault("a(n,) -> out()", 4);
    check_fault("a(n, 3x) -> out()", 6);
    check_fault("a(-3) -> out()", 2);
    check_fault("a(99999999999999999999) -> out()", 2);
    check_fault("a(n) -> out() junk", 14);
    check_fault("a(n) ->", 7);
    check_fault("a(n), a(n) -> out()", 6);
    check_fault("a(n) -> a(n)", 8);
    check_fault("a() -> (z(3)", 12);
    check_fault("a() -> (z(3) y())", 13);
}

static int allowed;

static void *stingy(void *block, size_t old_size, size_t new_size)
{
    tj_set_allocator(NULL);
    void *result = new_size && allowed-- <= 0 ? NULL : tj_realloc(block, old_size, new_size);
    tj_set_allocator(stingy);
    return result;
}

static void test_memory(void)
{
    static const char text[] = "inout a(n, 3), b(n) -> (), o(m)";
    tj_status status = TJ_NO_MEMORY;
    int k;
    for (k = 0; status == TJ_NO_MEMORY && k < 100; k++) {
        tj_signature signature;
        tj_error error;
        tj_error_init(&error);
        allowed = k;
        tj_set_allocator(stingy);
        status = tj_signature_parse(text, strlen(text), &signature, &error);
        tj_set_allocator(NULL);
        tj_signature_clear(&signature);
        tj_error_clear(&error);
    }
    CHECK(status == TJ_OK);
    CHECK(k > 8);
}

static void test_memory_of_lengths(void)
{
    static const char text[] =
        "n > 1 && n < 1000 || n == 5 ? min(n * (n - 1) / 2, 0x7fff) : !n + 1";
    tj_dim n = {"n", 0};
    tj_operand operand = {"a", TJ_IN, 1, &n};
    tj_spec spec = {.noperands = 1, .operands = &operand};
    tj_status status = TJ_NO_MEMORY;
    int k;
    for (k = 0; status == TJ_NO_MEMORY && k < 100; k++) {
        tj_output_dim dim = {.name = "m", .text = text};
        tj_error error;
        tj_error_init(&error);
        allowed = k;
        tj_set_allocator(stingy);
        status = tj_output_dim_parse(&spec, text, strlen(text), &dim, &error);
        tj_set_allocator(NULL);
        CHECK((dim.steps != NULL) == (status == TJ_OK));
        tj_output_dim_clear(&dim);
        tj_error_clear(&error);
    }
    CHECK(status == TJ_OK);
    CHECK(k > 2);
}

int main(void)
{
    RUN(test_reading);
    RUN(test_faults);
    RUN(test_memory);
    RUN(test_memory_of_lengths);
    return check_report();
}
