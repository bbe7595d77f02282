/* test_state.c: tests what a unit keeps between slices, and which of its effects are observable. */
#include "program.h"

static const tj_symbol offered[] = {
    {"cwj_contiguous", (const void *)abort, true},
    {"printf", (const void *)printf, true},
    {"PyThing_Do", (const void *)abort, false},
};
static const char *const host[] = {"Py", NULL};

static tj_environment *make(const char *const *sources, const char *const *libraries)
{
    tj_environment_options options = {.sources = sources,
                                      .libraries = libraries,
                                      .symbols = offered,
                                      .nsymbols = sizeof offered / sizeof *offered,
                                      .host_prefixes = host};
    return new_environment(&options);
}

/* Returns bit 0: the unit has state; bit 1: it speaks (tj_unit_speaks). */
static int look(tj_environment *environment, const char *text)
{
    compiled r = compile_in(environment, text);
    CHECK(r.status == TJ_OK);
    CHECK_STR(r.error.text, NULL);
    int found = r.unit ? tj_unit_has_state(r.unit) + 2 * tj_unit_speaks(r.unit) : -1;
    drop_compiled(&r);
    return found;
}

static void test_no_state(void)
{
    CHECK(look(NULL, "") == 0);
    CHECK(look(NULL, "const char *f(void) { return \"text\"; }") == 0);
    CHECK(look(NULL, "const char *const words[] = {\"a\", \"b\"}; const int zeros[4];") == 0);
    CHECK(look(NULL,
               "int g(int x) { return x; }\n"
               "const struct { int (*f)(int); const char *name; } table[] = {{g, \"g\"}};") == 0);
    CHECK(look(NULL,
               "double f(int i) { static const double t[] = {1.5, 2}; return t[i] * 3.25; }") == 0);
    CHECK(look(NULL,
               "int f(int i) { int t[] = {1, 2, 3}; char s[] = \"abc\"; return t[i] + s[i]; }") ==
          0);
    CHECK(look(NULL, "double f(double x) { return -x + sin(x) + (double)(unsigned long)x; }") == 0);
}

static void test_state(void)
{
    CHECK(look(NULL, "int x;") == 1);
    CHECK(look(NULL, "int x = 4;") == 1);
    CHECK(look(NULL, "char x; ") == 1);
    CHECK(look(NULL, "static char x = 1; char f(void) { return x++; }") == 1);
    CHECK(look(NULL, "int f(void) { static int n; return ++n; }") == 1);
    CHECK(look(NULL, "int f(void) { static int n = 4; return ++n; }") == 1);
    CHECK(look(NULL, "const char *words[] = {\"a\"};") == 1);
    CHECK(look(NULL, "int *p(void) { static int t[3]; return t; }") == 1);
    CHECK(look(NULL, "int x __attribute__((section(\".mine\"))) = 4;") == 1);
}

static void test_speaks(void)
{
    tj_environment *environment = make(NULL, NULL);
    CHECK(look(environment, "double f(double x) { return exp(x) + floor(x); }") == 0);
    CHECK(look(environment, "_Bool g(void) { return cwj_contiguous(0, 1); }") == 0);
    CHECK(look(environment, "int f(int x) { return printf(\"%d\", x); }") == 2);
    CHECK(look(environment, "void PyThing_Do(void); void f(void) { PyThing_Do(); }") == 2);
    CHECK(look(environment, "int f(void) { return rand(); }") == 2);
    tj_environment_free(environment);
}

/* Functions of libm do not count as a library's, even if libm was named. */
static void test_libraries(void)
{
    const char *const libraries[] = {"libm.so.6", "libz.so.1", NULL};
    tj_environment *environment = make(NULL, libraries);
    CHECK(look(environment, "double f(double x) { return exp(x); }") == 0);
    CHECK(look(environment, "const char *zlibVersion(void);\n"
                            "const char *f(void) { return zlibVersion(); }") == 2);
    tj_environment_free(environment);
}

/* State of the sources counts for every unit. */
static void test_sources(void)
{
    static const struct {
        const char *text;
        int wanted;
    } cases[] = {
        {"int helper(int x) { return x + 1; } const int table[] = {1, 2};", 0},
        {"static int n; int helper(int x) { return n += x; }", 1},
        {"int printf(const char *, ...); int helper(int x) { return printf(\"%d\", x); }", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = write_file("source.c", cases[i].text);
        tj_environment *environment = make((const char *const[]){path, NULL}, NULL);
        CHECK(look(environment, "int helper(int); int f(int x) { return helper(x); }") ==
              cases[i].wanted);
        CHECK(tj_environment_ref(environment) == environment);
        tj_environment_free(environment);
        CHECK(look(environment, "int helper(int); int f(int x) { return helper(x); }") ==
              cases[i].wanted);
        tj_environment_free(environment);
    }
}

int main(void)
{
    open_backend();
    RUN(test_no_state);
    RUN(test_state);
    RUN(test_speaks);
    RUN(test_libraries);
    RUN(test_sources);
    return check_report();
}
