/* test_emit.c: tests the checks of a spec, its text, and all of tj_define() without memory at each allocation. */
#include "program.h"

#include <dlfcn.h>

typedef ptrdiff_t npy_intp;
#include "abi.h"

static const tj_dim n_dim[] = {{"n", 0}};
static const tj_operand operands[] = {
    {"a", TJ_IN, 1, n_dim}, {"b", TJ_IN, 1, n_dim}, {"output", TJ_OUT, 0, NULL}};
static const tj_type f8[] = {{12, 8, "double", "float64", NULL},
                             {12, 8, "double", "float64", NULL},
                             {12, 8, "double", "float64", NULL}};
static const char inner[] = "item__output() = 0;\n"
                            "for (int i = 0; i < dims_slice__a[0]; i++)\n"
                            "    item__output() += item__a(i) * item__b(i) * *scale;\n"
                            "return true;";
static const tj_extra extras[] = {{"double", "scale", {"<default of scale>", "1", 1}, 'd'},
                                  {"const char *", "text", {"<default of text>", "NULL", 4}, 's'},
                                  {"const int", "count", {"<default of count>", "2 + 1", 5}, 'i'}};

/* Returns a spec with one type set, whose body is `body`. */
static tj_spec make_spec(const char *body, tj_typeset *typeset)
{
    *typeset = (tj_typeset){f8, piece("<body>", body)};
    return (tj_spec){.module = "m",
                     .generated = "<cwrapjit m.inner generated>",
                     .name = "inner",
                     .noperands = 3,
                     .noutputs = 1,
                     .operands = operands,
                     .ntypesets = 1,
                     .typesets = typeset,
                     .nextras = 3,
                     .extras = extras,
                     .flags = CWJ_ONE_OUTPUT};
}

static void check_bad(const tj_spec *spec, const char *part)
{
    tj_messages messages = {0};
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_spec_check(spec, &messages, &error) == TJ_BAD_SPEC);
    CHECK_HAS(error.text, part);
    tj_error_clear(&error);
    tj_messages_clear(&messages);
}

static void check_bad_name(const char *name)
{
    tj_typeset typeset;
    tj_spec spec = make_spec(inner, &typeset);
    tj_operand changed[] = {operands[0], operands[1], operands[2]};
    changed[1].name = name;
    spec.operands = changed;
    check_bad(&spec, name);
}

static void check_bad_extra(tj_extra extra, const char *part)
{
    tj_typeset typeset;
    tj_spec spec = make_spec(inner, &typeset);
    spec.extras = &extra;
    spec.nextras = 1;
    check_bad(&spec, part);
}

static void test_spec(void)
{
    check_bad_name("out");
    check_bad_name("output");
    check_bad_name("output7");
    check_bad_name("cookie");
    check_bad_name("cwj_x");
    check_bad_name("a");
    check_bad_extra((tj_extra){"double", "for", {"", "1", 1}, 'd'}, "for");
    check_bad_extra((tj_extra){"double", "dims_slice__a", {"", "1", 1}, 'd'}, "dims_slice__a");
    check_bad_extra((tj_extra){"double; int x", "s", {"", "1", 1}, 'd'}, "double; int x");
    check_bad_extra((tj_extra){"int[3]", "s", {"", "1", 1}, 'd'}, "int[3]");
    check_bad_extra((tj_extra){"double", "s", {"", " ", 1}, 'd'}, "default");
}

static void check_misplaced(tj_spec *spec, const char *file, int line, int column, const char *part)
{
    tj_messages messages = {0};
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_spec_check(spec, &messages, &error) == TJ_COMPILE_FAILED);
    CHECK(messages.count == 1);
    if (messages.count) {
        CHECK_STR(messages.items[0].file, file);
        CHECK(messages.items[0].line == line && messages.items[0].column == column);
        CHECK_HAS(messages.items[0].text, part);
    }
    tj_error_clear(&error);
    tj_messages_clear(&messages);
}

static void test_names_of_other_snippets(void)
{
    tj_typeset typeset;
    tj_spec spec = make_spec("\n return data__a != 0;", &typeset);
    check_misplaced(&spec, "<body>", 2, 9, "data_slice__a");
    spec = make_spec(inner, &typeset);
    spec.validate = piece("<validate>", "/* item__a */ return item__b(0);");
    check_misplaced(&spec, "<validate>", 1, 22, "Ccode_validate has data__b");
    spec = make_spec(inner, &typeset);
    spec.cleanup = piece("<cleanup>", "x = dims_slice__a[0];");
    check_misplaced(&spec, "<cleanup>", 1, 5, "Ccode_cookie_cleanup");
    tj_type raw[] = {f8[0], f8[1], f8[2]};
    raw[2].ctype = NULL;
    spec = make_spec(inner, &typeset);
    typeset.types = raw;
    check_misplaced(&spec, "<body>", 1, 1, "data_slice__output");
}

static char *emit(const tj_spec *spec, int part, bool all_names)
{
    tj_text text = {0};
    CHECK(tj_emit_function(spec, part, all_names, &text) == TJ_OK);
    return text.data;
}

static void test_only_what_is_named(void)
{
    tj_typeset typeset;
    tj_spec spec = make_spec("return true; /* item__a */", &typeset);
    char *text = emit(&spec, TJ_ALL, false);
    CHECK(!strstr(text, "#define item__a"));
    tj_free(text);
    spec = make_spec("goto end; end: return true; /* item__a */", &typeset);
    text = emit(&spec, TJ_ALL, false);
    CHECK_HAS(text, "cwj_slice_0__inner(const cwj_call *cwj)\n");
    CHECK(!strstr(text, "#define"));
    tj_free(text);
    spec.header = piece("<header>", "#define FIRST item__a(0)");
    text = emit(&spec, TJ_ALL, false);
    CHECK_HAS(text, "const void *data_slice__a, const npy_intp *strides_slice__a)\n");
    CHECK(!strstr(text, "dims_slice__a)"));
    tj_free(text);
    text = emit(&spec, TJ_ALL, true);
    CHECK_HAS(text, "sizeof_element__output");
    CHECK_HAS(text, "#define CHECK_CONTIGUOUS_AND_SETERROR_ALL()");
    tj_free(text);
    spec.header = piece("<header>", "#define GLUE(x) x##a");
    text = emit(&spec, TJ_ALL, false);
    CHECK_HAS(text, "Ndims_full__b");
    tj_free(text);
}

/* A body that runs to its last `return true;` stands in the loop (direct); other bodies do not. */
static void check_direct(const char *body, bool direct)
{
    tj_typeset typeset;
    tj_spec spec = make_spec(body, &typeset);
    char *text = emit(&spec, TJ_ALL, false);
    CHECK((strstr(text, "cwj_next:") != NULL) == direct);
    CHECK((strstr(text, "cwj_slice_0__inner(const") != NULL) == !direct);
    if ((strstr(text, "cwj_next:") != NULL) != direct)
        fprintf(stderr, "body: %s\n", body);
    tj_free(text);
}

static void test_direct_bodies(void)
{
    static const char *const direct[] = {
        "return true;",
        "return 1; // end",
        "return(true);",
        " { } return\n((1)) ; /* return */",
        "if (item__a(0) < 0) return false; else item__output() = 1; return true;",
        "if (item__a(0) < 0) { return 0; } return true;",
        "const char *s = \"return x;\"; item__output() = *s; return true;",
    };
    static const char *const apart[] = {
        "",
        "item__output() = 1;",
        "return false;",
        "return item__a(0) > 0;",
        "if (item__a(0) > 0) return true;",
        "if (item__a(0) > 0) {} else return true;",
        "if (item__a(0) > 0) return true; return true;",
        "if (item__a(0) > 0) { return true; }",
        "return true; ;",
        "return !false;",
        "while (1) return true;",
        "end: return true;",
        "switch (1) case 1: return true;",
        "static int n; n++; return true;",
        "goto end; end: ; return true;",
        "asm(\"\"); return true;",
        "double *t = alloca(8); *t = 1; return true;",
        "if (__func__[0]) {} return true;",
        "#define X 1\nreturn true;",
        "return true;\n#if 0\n#endif",
        "({ return true; });",
        "return\\\n true; return (true;",
    };
    for (size_t i = 0; i < sizeof(direct) / sizeof(*direct); i++)
        check_direct(direct[i], true);
    for (size_t i = 0; i < sizeof(apart) / sizeof(*apart); i++)
        check_direct(apart[i], false);
}

/* Each #line back to the generated text must give its true line. */
static void test_line_numbers(void)
{
    static const char back[] = " \"<cwrapjit m.inner generated>\"";
    tj_typeset typeset;
    tj_spec spec = make_spec(inner, &typeset);
    spec.header = piece("<header>", "\n\nstatic int x;\n");
    spec.cookie = piece("<cookie>", "int seen;");
    char *text = emit(&spec, TJ_ALL, false);
    int line = 1, found = 0;
    for (char *at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL, line++) {
        char *end;
        if (strncmp(at, "#line ", 6))
            continue;
        long said = strtol(at + 6, &end, 10);
        if (strncmp(end, back, strlen(back)))
            continue;
        found++;
        CHECK(said == line + 1);
    }
    CHECK(found == 7); /* start, header, cookie, three defaults, body */
    tj_free(text);
}

static tj_environment *environment;

static tj_status define(const tj_spec *spec, tj_function *function, tj_messages *messages)
{
    tj_error error;
    tj_error_init(&error);
    tj_status status = tj_define(environment, spec, function, messages, &error);
    tj_error_clear(&error);
    return status;
}

static void test_calling(void)
{
    double a[] = {1, 2, 3}, b[] = {4, 5, 6}, scale = 2, output = 0;
    npy_intp dim = 3, stride = 8, one = 1, steps[3] = {0, 0, 0};
    char *data[] = {(char *)a, (char *)b, (char *)&output};
    cwj_operand live[3] = {{.dims_slice = &dim, .strides_slice = &stride},
                           {.dims_slice = &dim, .strides_slice = &stride},
                           {.dims_slice = NULL}};
    tj_typeset typeset;
    tj_spec spec = make_spec(inner, &typeset);
    tj_messages messages = {0};
    tj_function function;
    CHECK(define(&spec, &function, &messages) == TJ_OK && messages.count == 0);
    const cwj_function_decl *decl = function.decl;
    if (decl) {
        char *memory = calloc(1, decl->extras_size);
        cwj_call call = {.operands = live, .extras = memory};
        decl->defaults(memory);
        memcpy(memory + decl->extras[0].offset, &scale, sizeof(scale));
        CHECK(decl->typesets[0].loop(data, &one, steps, &call) == 1 && output == 64);
        CHECK_STR(decl->qualname, "m.inner");
        CHECK_STR(decl->signature, "a(n), b(n) -> output()");
        CHECK_STR(decl->typesets[0].name, "float64, float64 -> float64");
        CHECK(decl->flags == CWJ_ONE_OUTPUT && decl->ninputs == 2 && decl->noutputs == 1);
        CHECK(decl->nnamed == 1 && decl->operands[1].core[0] == -1);
        CHECK(decl->extras[0].kind == 'f' && decl->extras[1].kind == 's');
        CHECK(decl->extras[2].kind == 'i' && decl->extras[2].size == sizeof(int));
        CHECK(*(int *)(memory + decl->extras[2].offset) == 3);
        free(memory);
    }
    tj_function_clear(&function);
    tj_messages_clear(&messages);
}

static void check_orderless(const tj_spec *spec, bool orderless)
{
    tj_messages messages = {0};
    tj_function function;
    CHECK(define(spec, &function, &messages) == TJ_OK);
    CHECK(function.orderless == orderless && !function.all_names);
    tj_function_clear(&function);
    tj_messages_clear(&messages);
}

static void test_orderless(void)
{
    tj_typeset typeset;
    tj_spec spec = make_spec(inner, &typeset);
    check_orderless(&spec, true);
    spec.cookie = piece("<cookie>", "int seen;");
    check_orderless(&spec, false);
    spec.cookie_readonly = true;
    check_orderless(&spec, true);
    spec = make_spec("if (item__a(0) < 0) return false; return true;", &typeset);
    check_orderless(&spec, false);
    spec = make_spec("MAYBE return true;", &typeset);
    spec.header = piece("<header>", "#define MAYBE if (item__a(0) < 0) { return false; }");
    check_orderless(&spec, false);
    spec = make_spec("static int n; item__output() = n++; return true;", &typeset);
    check_orderless(&spec, false);
}

static void test_all_faults_are_told(void)
{
    tj_typeset sets[] = {{f8, piece("<one>", "return x1;")},
                         {f8, piece("<two>", "\n\nreturn x2;")}};
    tj_spec spec = make_spec(inner, &(tj_typeset){0});
    tj_messages messages = {0};
    tj_function function;
    spec.typesets = sets;
    spec.ntypesets = 2;
    spec.validate = piece("<validate>", "return x3;");
    CHECK(define(&spec, &function, &messages) == TJ_COMPILE_FAILED);
    CHECK(messages.count == 3 && !function.unit && !function.source);
    for (size_t i = 0; i < messages.count; i++) {
        CHECK(messages.items[i].column > 0 && messages.items[i].source);
        CHECK(messages.items[i].line == (strcmp(messages.items[i].file, "<two>") ? 1 : 3));
    }
    tj_messages_clear(&messages);
    spec.header = piece("<header>", "int wrong wrong;");
    CHECK(define(&spec, &function, &messages) == TJ_COMPILE_FAILED && messages.count == 1);
    CHECK_STR(messages.count ? messages.items[0].file : NULL, "<header>");
    tj_messages_clear(&messages);
}

/* ---- the text for the system's compiler ------------------------------------- */

/* Compiles the loops with the system's compiler. Returns NULL on failure. */
static void *build_loops(const tj_spec *spec, const tj_profile *profile, const char *name)
{
    tj_text text = {0}, loops = {0};
    char command[16384];
    CHECK(tj_emit_loops(spec, profile, NULL, false, &loops) == TJ_OK);
    tj_text_printf(&text, "%s%s", tj_prelude(), loops.data);
    const char *path = write_file(name, text.data);
    snprintf(command, sizeof command,
             "cc -std=gnu11 -O2 -fPIC -shared -fno-strict-aliasing -fwrapv -w -o %s.so %s", path,
             path);
    CHECK(system(command) == 0);
    snprintf(command, sizeof command, "%s.so", path);
    void *library = dlopen(command, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    tj_text_clear(&text);
    tj_text_clear(&loops);
    return library;
}

enum {
    ROWS = 5,
    LONGEST = 7
};

/* Checks the inner products of ROWS slices of `dim` numbers with a stride of `stride` bytes. */
static void check_inner(cwj_loop *loop, npy_intp dim, npy_intp stride, npy_intp b_step)
{
    double a[2 * ROWS * LONGEST], b[2 * ROWS * LONGEST], output[ROWS + 1] = {0}, scale = 2;
    void *extra[3] = {0};
    npy_intp rows = ROWS, steps[] = {dim * stride, b_step ? dim * stride : 0, 8};
    char *data[] = {(char *)a, (char *)b, (char *)output};
    cwj_operand live[3] = {{.dims_slice = &dim, .strides_slice = &stride},
                           {.dims_slice = &dim, .strides_slice = &stride},
                           {.dims_slice = NULL}};
    cwj_call call = {.operands = live, .extras = extra};
    memcpy(extra, &scale, sizeof(scale));
    for (int i = 0; i < 2 * ROWS * LONGEST; i++) {
        a[i] = i % 13;
        b[i] = i % 7 - 3;
    }
    output[ROWS] = -1;
    CHECK(loop(data, &rows, steps, &call) == 1);
    for (npy_intp row = 0; row < ROWS; row++) {
        double sum = 0;
        for (npy_intp i = 0; i < dim; i++)
            sum += a[(row * dim + i) * stride / 8] *
                   b[((b_step ? row * dim : 0) + i) * stride / 8] * scale;
        CHECK(output[row] == sum);
    }
    CHECK(output[ROWS] == -1);
}

static void test_loops(void)
{
    static const ptrdiff_t named[] = {3};
    static const ptrdiff_t every_other[] = {48, 0, 8, 16, 8}; /* three steps, two strides */
    const tj_profile profiles[] = {{.known = false},
                                   {true, true, named, NULL},
                                   {true, false, named, NULL},
                                   {true, false, named, every_other}};
    tj_typeset typeset;
    tj_spec spec = make_spec(inner, &typeset);
    for (int i = -1; i < 4; i++) {
        char name[] = {(char)('b' + i), '.', 'c', '\0'};
        void *library = build_loops(&spec, i < 0 ? NULL : &profiles[i], name);
        cwj_loop **loops = library ? dlsym(library, "cwj_loops__inner") : NULL;
        CHECK(loops != NULL);
        for (npy_intp dim = 0; loops && dim <= LONGEST; dim++)
            for (npy_intp stride = 8; stride <= 16; stride += 8)
                for (int moves = 0; moves < 2; moves++)
                    check_inner(loops[0], dim, stride, moves);
        if (library)
            dlclose(library);
    }
}

/* If only a macro of an included file has the name, the slice gets all parameters. */
static void test_hidden_name(void)
{
    char header[5000];
    tj_typeset typeset;
    tj_spec spec = make_spec("return FIRST == 0;", &typeset);
    tj_messages messages = {0};
    tj_function function;
    snprintf(header, sizeof header, "#include \"%s\"\n",
             write_file("hidden.h", "#define FIRST item__a(0)\n"));
    spec.header = piece("<header>", header);
    CHECK(define(&spec, &function, &messages) == TJ_OK && messages.count == 0);
    tj_function_clear(&function);
    tj_messages_clear(&messages);
}

static tj_status last_status;

static bool try_to_define(void *spec)
{
    tj_messages messages = {0};
    tj_function function;
    last_status = define(spec, &function, &messages);
    tj_function_clear(&function);
    tj_messages_clear(&messages);
    return last_status != TJ_NO_MEMORY;
}

static void test_memory(void)
{
    tj_typeset typeset;
    tj_spec spec = make_spec(inner, &typeset);
    spec.header = piece("<header>", "#define TWICE(x) ((x) + (x))\n#if TWICE(1)\n#endif\n");
    spec.cookie = piece("<cookie>", "int seen;");
    spec.validate = piece("<validate>", "return CHECK_CONTIGUOUS__a() || TWICE(1);");
    spec.cleanup = piece("<cleanup>", "cookie->seen = 0;");
    CHECK(try_to_define(&spec)); /* allocates what stays forever */
    /* The entry points that validate needs do not exist. */
    CHECK(starve(try_to_define, &spec) > 20 && last_status == TJ_NO_SYMBOL);
    spec.validate = piece("<validate>", "return dims_slice__a[0] > TWICE(1);");
    CHECK(starve(try_to_define, &spec) > 20 && last_status == TJ_OK);
}

int main(void)
{
    open_backend();
    environment = new_environment(&(tj_environment_options){0});
    RUN(test_spec);
    RUN(test_names_of_other_snippets);
    RUN(test_only_what_is_named);
    RUN(test_direct_bodies);
    RUN(test_line_numbers);
    RUN(test_calling);
    RUN(test_orderless);
    RUN(test_all_faults_are_told);
    RUN(test_loops);
    RUN(test_hidden_name);
    RUN(test_memory);
    tj_environment_free(environment);
    return check_report();
}
