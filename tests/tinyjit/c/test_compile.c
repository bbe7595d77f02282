/* test_compile.c: tests compiling, units, environments, and the compiler's messages. */
#define _GNU_SOURCE 1
#include "program.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

static const tj_message *first(const compiled *result)
{
    static const tj_message none = {.file = (char *)"", .text = (char *)""};
    return result->messages.count ? &result->messages.items[0] : &none;
}

static const char *what(const compiled *result)
{
    return result->error.text ? result->error.text : "";
}

static int call(const compiled *result, int argument)
{
    int (*function)(int) = NULL;
    FIND(result->unit, "f", function);
    CHECK(function != NULL);
    return function ? function(argument) : 0;
}

/* f(argument) of the text must be `wanted`, and there must be no message. */
static void expect_value(const char *text, int argument, int wanted)
{
    compiled r = compile(text);
    CHECK(r.status == TJ_OK && r.messages.count == 0);
    CHECK(call(&r, argument) == wanted);
    drop_compiled(&r);
}

/* ---- units ---------------------------------------------------------------- */

static void test_unit(void)
{
    compiled a = compile("int f(int x) { return x + 1; }");
    compiled b = compile("int f(int x) { return x + 2; }");
    CHECK(a.status == TJ_OK && b.status == TJ_OK);
    CHECK(call(&a, 5) == 6);
    CHECK(call(&b, 5) == 7);
    CHECK(tj_unit_symbol(a.unit, "g") == NULL);
    CHECK(!tj_unit_uses_host(a.unit));
    CHECK(a.messages.count == 0);
    drop_compiled(&a);
    CHECK(call(&b, 6) == 8);
    drop_compiled(&b);
    tj_unit_free(NULL);
}

static void test_values(void)
{
    expect_value("int f(int x) { return (int)(1000 * sin((double)x)) + (int)strlen(\"abc\"); }", 1,
                 841 + 3);
    /* A second attempt binds names that only macros make. */
    expect_value("int toupper(int);\n#define PASTE(a, b) a##b\n"
                 "int f(int x) { return PASTE(ab, s)(x) + PASTE(to, upper)('a'); }\n",
                 -7, 7 + 'A');
    expect_value(
        "volatile unsigned long big = 0xffffffffffffff00UL; volatile double d = 1e19;\n"
        "volatile float g = 1e19f; volatile long double l = 1e19L;\n"
        "int f(int x) { return (double)big == 18446744073709551360.0 && (float)big > 1e19f &&\n"
        "  (long double)big == 18446744073709551360.0L && (unsigned long)d == "
        "10000000000000000000UL\n"
        "  && (unsigned long)l == (unsigned long)d && (unsigned long)g > 9000000000000000000UL; }",
        0, 1);
    /* libtcc1.a has alloca and va_arg of structs. */
    expect_value("#include <stdarg.h>\nvoid *alloca(size_t);\n"
                 "static int sum(int n, ...) { va_list a; va_start(a, n); int s = 0;\n"
                 "  while (n--) s += va_arg(a, int); va_end(a); return s; }\n"
                 "int f(int x) { char *p = alloca(100); memset(p, x, 100);\n"
                 "  return sum(3, 1, 2, (int)p[99]); }\n",
                 4, 7);
    /* A unit's own function takes precedence over libc's. */
    expect_value("int time(int x) { return 3 * x; }\nint rand_calls;\n"
                 "int f(int x) { rand_calls++; return time(x); }",
                 4, 12);
}

static void test_undefined(void)
{
    compiled r = compile("int zork_b(int); extern int zork_a;\n"
                         "int f(int x) { return zork_b(x) + zork_a; }");
    CHECK(r.status == TJ_NO_SYMBOL);
    CHECK(r.unit == NULL);
    CHECK_HAS(what(&r), "'zork_a', 'zork_b'");
    drop_compiled(&r);
}

static void test_without_names(void)
{
    compiled r = {0};
    tj_error_init(&r.error);
    r.status =
        tj_compile(NULL, "int f(int x) { return abs(x); }", NULL, &r.unit, &r.messages, &r.error);
    CHECK(r.status == TJ_OK);
    CHECK(r.error.status == TJ_OK && r.error.text == NULL);
    CHECK(call(&r, -3) == 3);
    drop_compiled(&r);
}

/* ---- messages --------------------------------------------------------------- */

static void expect(const char *text, tj_status status, bool is_error, int line, const char *part)
{
    tj_text whole = {0};
    tj_text_printf(&whole, "#line 1 \"<cwrapjit m.f float64>\"\n%s\n", text);
    compiled r = compile(whole.data);
    CHECK(r.status == status);
    CHECK((r.unit != NULL) == (status == TJ_OK));
    CHECK(r.messages.count >= 1);
    CHECK_STR(first(&r)->file, "<cwrapjit m.f float64>");
    CHECK(first(&r)->is_error == is_error);
    CHECK(first(&r)->line == line);
    CHECK_HAS(first(&r)->text, part);
    drop_compiled(&r);
    tj_text_clear(&whole);
}

static void test_errors(void)
{
    expect("int f(void) {\n  return x;\n}", TJ_COMPILE_FAILED, true, 2, "'x' undeclared");
    expect("int f(int x) {\n  return zork(x); }", TJ_COMPILE_FAILED, true, 2,
           "implicit declaration of function 'zork'");
    expect("int f(int x) { return x }", TJ_COMPILE_FAILED, true, 1, "';' expected (got '}')");
    expect("#include <nonexistent_folder/x.h>", TJ_COMPILE_FAILED, true, 1,
           "include file 'nonexistent_folder/x.h' not found");
    expect("#error one: error: 'two'", TJ_COMPILE_FAILED, true, 1, "#error one: error: 'two'");
    expect("double _Complex z;", TJ_COMPILE_FAILED, true, 1, "_Complex is not yet supported");
}

static void test_promoted_warnings(void)
{
    expect("\nint f(int x) { if (x) return 1; }", TJ_COMPILE_FAILED, true, 2, "no value");
    expect("int f(const int *p) { *p = 1; return 1; }", TJ_COMPILE_FAILED, true, 1, "read-only");
    expect("int f(float *p) { int *q = p; return *q; }", TJ_COMPILE_FAILED, true, 1,
           "incompatible pointer type");
    expect("int f(float *p) { long q = p; return q; }", TJ_COMPILE_FAILED, true, 1,
           "makes integer from pointer");
    expect("int f(long p) { char *q = p; return *q; }", TJ_COMPILE_FAILED, true, 1,
           "makes pointer from integer");
    expect("int cwj_f(int x) { if (x) return 1; }", TJ_COMPILE_FAILED, true, 1,
           "can end without a return");
}

static void test_plain_warnings(void)
{
    expect("int f(const char *p) { char *q = p; return *q; }", TJ_OK, false, 1, "qualifiers");
    compiled r = compile("static int f(int); int f(int x) { return x; }");
    CHECK(r.status == TJ_OK);
    CHECK(r.messages.count == 0);
    drop_compiled(&r);
}

static void test_host_hints(void)
{
    expect("int f(void *x) { return PyZork(x); }", TJ_COMPILE_FAILED, true, 1,
           "less than the real ones, which");
    expect("int f(void *x) { return PyZork_Type != x; }", TJ_COMPILE_FAILED, true, 1,
           "less than the real ones");
    expect("int f(struct PyZork *x) { return x->y; }", TJ_COMPILE_FAILED, true, 1,
           "less than the real ones");
    compiled r = compile("int f(int x) { return Zork; }");
    CHECK(strstr(first(&r)->text, "less than the real ones") == NULL);
    drop_compiled(&r);
}

/* libtcc truncates file names; tj_messages_locate() restores them. */
static void test_long_file_name(void)
{
    tj_text file = {0}, text = {0};
    tj_text_puts(&file, "<cwrapjit ");
    for (int i = 0; i < 3000; i++)
        tj_text_puts(&file, "a");
    tj_text_puts(&file, ".f float64>");
    tj_text_printf(&text, "#line 1 \"%s\"\nint f(void) {\n return q; }", file.data);
    compiled r = compile(text.data);
    CHECK(r.status == TJ_COMPILE_FAILED);
    tj_piece piece = {file.data, "int f(void) {\n return q; }", 27};
    tj_messages_locate(&r.messages, &piece);
    CHECK_STR(first(&r)->file, file.data);
    CHECK_STR(first(&r)->source, " return q; }");
    CHECK(first(&r)->column == 9 && first(&r)->end_column == 10);
    drop_compiled(&r);
    tj_text_clear(&file);
    tj_text_clear(&text);
}

/* ---- environments ----------------------------------------------------------- */

static int host_calls;
static int PyHost_Count(int x)
{
    return host_calls += x;
}
static int PyNeutral(int x)
{
    return x + 100;
}

static int PyData_Ten = 10;

static const tj_symbol table[] = {
    {"PyData_Ten", (const void *)&PyData_Ten, false},
    {"PyHost_Count", (const void *)PyHost_Count, false},
    {"PyNeutral", (const void *)PyNeutral, true},
};
static const char *const prefixes[] = {"Py", "_Py", NULL};

static void test_host_symbols(void)
{
    tj_environment_options options = {
        .symbols = table, .nsymbols = 3, .host_prefixes = prefixes, .host_data = "PyData_"};
    tj_environment *environment = new_environment(&options);
    compiled r =
        compile_in(environment, "int PyHost_Count(int); int f(int x) { return PyHost_Count(x); }");
    CHECK(r.status == TJ_OK);
    CHECK(tj_unit_uses_host(r.unit));
    host_calls = 0;
    CHECK(call(&r, 5) == 5 && host_calls == 5);
    drop_compiled(&r);
    r = compile_in(environment, "int PyNeutral(int); int f(int x) { return PyNeutral(x); }");
    CHECK(!tj_unit_uses_host(r.unit));
    CHECK(call(&r, 5) == 105);
    drop_compiled(&r);
    r = compile_in(environment, "extern int PyData_Ten; int f(int x) { return PyData_Ten + x; }");
    CHECK(!tj_unit_uses_host(r.unit));
    CHECK(call(&r, 5) == 15);
    drop_compiled(&r);
    /* Only ## makes the name: the second attempt binds it. */
    r = compile_in(environment, "int PyHost_Count(int);\n#define P(a) Py##a\n"
                                "int f(int x) { return P(Host_Count)(x); }");
    CHECK(r.status == TJ_OK);
    CHECK(tj_unit_uses_host(r.unit));
    drop_compiled(&r);
    tj_environment_free(environment);
}

static void test_sources(void)
{
    write_file("sources/own.h", "#define OWN 7\n");
    char *one =
        write_file("sources/one.c", "#include <stdlib.h>\n#include <string.h>\n"
                                    "#include \"own.h\"\nint counter;\n"
                                    "static int hidden(void) { return OWN; }\n"
                                    "int count(int by) { counter += by; return hidden(); }\n");
    char *two = write_file("sources/two.text",
                           "#include <stdatomic.h>\nextern int counter; atomic_int unused;\n"
                           "#ifdef __STDC_NO_ATOMICS__\n#error atomics\n#endif\n"
                           "int get(int x) { return counter + x + EXTRA; }\n");
    const char *sources[] = {one, two, NULL}, *macros[] = {"EXTRA=40", "FLAG", NULL};
    tj_environment_options options = {.sources = sources, .define_macros = macros};
    tj_environment *environment = new_environment(&options);
    compiled a = compile_in(environment, "int count(int); int f(int x) { return count(x); }");
    compiled b =
        compile_in(environment, "#ifndef FLAG\n#error flag\n#endif\nextern int counter;\n"
                                "int get(int); int f(int x) { return get(x) + 1000 * counter; }");
    CHECK(a.status == TJ_OK && b.status == TJ_OK);
    CHECK(call(&a, 3) == 7);
    CHECK(call(&b, 100) == 3143);
    compiled c = compile_in(environment, "int hidden(void); int f(int x) { return hidden(); }");
    CHECK(c.status == TJ_NO_SYMBOL);
    CHECK_HAS(what(&c), "'hidden'");
    drop_compiled(&a);
    drop_compiled(&b);
    drop_compiled(&c);
    tj_environment_free(environment);
}

static void fail_environment(const tj_environment_options *options, tj_status wanted,
                             const char *part, const char *message)
{
    tj_environment *environment = NULL;
    tj_messages messages = {0};
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_environment_new(options, &environment, &messages, &error) == wanted);
    CHECK(environment == NULL);
    CHECK_HAS(error.text, part);
    if (message) {
        CHECK(messages.count == 1);
        CHECK_HAS(messages.count ? messages.items[0].text : "", message);
        CHECK(messages.count && messages.items[0].source != NULL);
    }
    tj_messages_clear(&messages);
    tj_error_clear(&error);
}

static void test_bad_environments(void)
{
    const char *absent[] = {"/nonexistent/x.c", NULL}, *folder[] = {"/", NULL};
    char *broken = write_file("broken.c", "int a;\nint f(void) { return zork; }\n");
    const char *faulty[] = {broken, NULL};
    const char *no_name[] = {"1x=3", NULL}, *two_lines[] = {"X=1\n2", NULL};
    const char *colon[] = {"/one:/two", NULL}, *library[] = {"zork_nowhere", NULL};
    const char *not_elf[] = {broken, NULL};
    fail_environment(&(tj_environment_options){.sources = absent}, TJ_NO_LIBRARY,
                     "/nonexistent/x.c", NULL);
    fail_environment(&(tj_environment_options){.sources = folder}, TJ_NO_LIBRARY, "'/'", NULL);
    fail_environment(&(tj_environment_options){.sources = faulty}, TJ_COMPILE_FAILED, "compile",
                     "'zork' undeclared");
    fail_environment(&(tj_environment_options){.define_macros = no_name}, TJ_BAD_SPEC, "1x=3",
                     NULL);
    fail_environment(&(tj_environment_options){.define_macros = two_lines}, TJ_BAD_SPEC, "X", NULL);
    fail_environment(&(tj_environment_options){.include_dirs = colon}, TJ_BAD_SPEC, "/one:/two",
                     NULL);
    fail_environment(&(tj_environment_options){.libraries = library}, TJ_NO_LIBRARY, "zork_nowhere",
                     NULL);
    fail_environment(&(tj_environment_options){.libraries = not_elf}, TJ_NO_LIBRARY, "broken.c",
                     NULL);
}

static void test_include_dirs_and_libraries(void)
{
    write_file("include/own_header.h", "#define OWN 11\nstatic int unused(int *p)\n"
                                       "{ float *q = p; return *q; }\n");
    const char *dirs[] = {path_of("include"), NULL},
               *libraries[] = {"libm.so.6", "libc.so.6", NULL};
    tj_environment_options options = {.include_dirs = dirs, .libraries = libraries};
    tj_environment *environment = new_environment(&options);
    compiled r =
        compile_in(environment, "#include <own_header.h>\nint f(int x) { return OWN + x; }");
    CHECK(r.status == TJ_OK); /* doubtful pointers in a file are only a warning */
    CHECK(r.messages.count == 1 && !first(&r)->is_error);
    CHECK(call(&r, 1) == 12);
    drop_compiled(&r);
    tj_environment_free(environment);
}

/* ---- threads, forks, lack of memory ----------------------------------------- */

static void *compile_many(void *failures)
{
    for (int i = 0; i < 100; i++) {
        compiled r =
            compile(i % 3 ? "int f(int x) { return x + 1; }" : "int f(int x) { return y; }");
        if (i % 3 ? (r.status != TJ_OK || call(&r, 1) != 2) : r.status != TJ_COMPILE_FAILED)
            ++*(int *)failures;
        drop_compiled(&r);
    }
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[4];
    int failures[4] = {0};
    for (int i = 0; i < 4; i++)
        CHECK(!pthread_create(&threads[i], NULL, compile_many, &failures[i]));
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(failures[i] == 0);
    }
}

/* Waits at most five minutes for a child. Returns its exit status, or -1. */
static int wait_for(pid_t child)
{
    int status = 0;
    for (int i = 0; i < 30000; i++) {
        pid_t done = waitpid(child, &status, WNOHANG);
        if (done == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        usleep(10000);
    }
    return -1; /* the test's process group ends it later */
}

static void test_fork(void)
{
    pthread_t thread;
    int failures = 0;
    CHECK(!pthread_create(&thread, NULL, compile_many, &failures));
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(200);
            compiled r = compile("int f(int x) { return x + 5; }");
            _exit(r.status == TJ_OK && call(&r, 1) == 6 ? 0 : 1);
        }
        CHECK(wait_for(child) == 0);
    }
    pthread_join(thread, NULL);
    CHECK(failures == 0);
}

static bool try_task(void *text)
{
    const char *dirs[] = {"/usr/include", NULL}, *macros[] = {"A=1", NULL},
               *libraries[] = {"libm.so.6", NULL};
    tj_environment_options options = {.include_dirs = dirs,
                                      .define_macros = macros,
                                      .libraries = libraries,
                                      .symbols = table,
                                      .nsymbols = 2};
    tj_environment *environment = NULL;
    compiled r = {0};
    tj_error_init(&r.error);
    r.status = tj_environment_new(&options, &environment, &r.messages, &r.error);
    if (r.status == TJ_OK) {
        drop_compiled(&r);
        r = compile_in(environment, text);
    }
    tj_piece whole = piece("<x>", text);
    tj_messages_locate(&r.messages, &whole);
    bool complete = r.status != TJ_NO_MEMORY && !r.messages.failed;
    drop_compiled(&r);
    tj_environment_free(environment);
    return complete;
}

static void test_out_of_memory(void)
{
    static char texts[][80] = {
        "int f(int x) { return abs(x) + A; }\n",
        "#line 1 \"<x>\"\nint f(int x) { return y; }\n",
        "int zork(int); int f(int x) { return zork(x); }\n",
    };
    for (int i = 0; i < 3; i++) {
        CHECK(try_task(texts[i])); /* allocates what stays forever */
        CHECK(starve(try_task, texts[i]) > 10);
    }
}

static void test_no_backend(void)
{
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_backend_version() == NULL);
    CHECK(tj_backend_open("/nonexistent/libtcc.so", "/nonexistent", "/nonexistent", &error) ==
          TJ_NO_BACKEND);
    CHECK_HAS(error.text, "/nonexistent/libtcc.so");
    CHECK(tj_backend_open("libc.so.6", "/nonexistent", "/nonexistent", &error) == TJ_NO_BACKEND);
    CHECK_HAS(error.text, "not libtcc");
    compiled r = compile("int f(int x) { return x; }");
    CHECK(r.status == TJ_NO_BACKEND);
    drop_compiled(&r);
    open_backend();
    CHECK(tj_backend_open("/nonexistent", "", "", &error) == TJ_OK); /* the first call counts */
    CHECK_HAS(tj_backend_version(), "0.9.");
    CHECK(tj_backend_version() == tj_backend_version());
    tj_error_clear(&error);
}

int main(void)
{
    RUN(test_no_backend); /* opens it */
    RUN(test_unit);
    RUN(test_values);
    RUN(test_undefined);
    RUN(test_without_names);
    RUN(test_errors);
    RUN(test_promoted_warnings);
    RUN(test_plain_warnings);
    RUN(test_host_hints);
    RUN(test_long_file_name);
    RUN(test_host_symbols);
    RUN(test_sources);
    RUN(test_bad_environments);
    RUN(test_include_dirs_and_libraries);
    RUN(test_threads);
    RUN(test_fork);
    RUN(test_out_of_memory);
    return check_report();
}
