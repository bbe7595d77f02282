/* test_graph.c: tests the C text of graphs without Python: a few objects of this file replace Python's. */
#include "program.h"

/* ---- replacements for Python ---------------------------------------------------- */

typedef struct object {
    int references;
    double value;
} object;

typedef object PyObject;
#include "../../../cwrapjit/include/cwj_graph.h"

static object none = {1000, 0}, value_error = {1000, 0};
static object *exception_type = &value_error;
static const char *raised;
static int alive;
static char trace[512];

static object *new_object(double value)
{
    object *made = malloc(sizeof *made);
    *made = (object){1, value};
    alive++;
    return made;
}

static object *hold(object *this)
{
    if (this)
        this->references++;
    return this;
}

static void drop(object *this)
{
    if (this && --this->references == 0) {
        alive--;
        free(this);
    }
}

static double as_double(object *this)
{
    if (this == &none)
        raised = "not a number";
    return this == &none ? -1 : this->value;
}

static void raise_text(object *type, const char *text)
{
    (void)type;
    raised = text;
}

static object *occurred(void)
{
    return raised ? &value_error : NULL;
}

/* A storage is a cell; NULL means that it was emptied. */
static object *storage_get(object *storage)
{
    object **cell = (object **)(void *)storage;
    if (!*cell)
        raised = "an empty storage";
    return hold(*cell);
}

static int storage_put(object *storage, object *value)
{
    object **cell = (object **)(void *)storage;
    drop(*cell);
    *cell = hold(value ? value : &none);
    return 0;
}

static void say(const char *word)
{
    if (strlen(trace) + strlen(word) + 2 < sizeof trace) {
        strcat(trace, trace[0] ? " " : "");
        strcat(trace, word);
    }
}

static const void *address_of(void (*function)(void))
{
    const void *address;
    memcpy(&address, &function, sizeof address);
    return address;
}
#define FUNCTION(name, function) {name, address_of((void (*)(void))(function)), false}

static tj_environment *environment;

static void make_environment(void)
{
    static tj_symbol symbols[32];
    tj_symbol all[] = {FUNCTION("Py_XDECREF", drop),
                       FUNCTION("Py_DECREF", drop),
                       FUNCTION("Py_DecRef", drop),
                       FUNCTION("Py_XINCREF", hold),
                       FUNCTION("Py_INCREF", hold),
                       FUNCTION("Py_NewRef", hold),
                       FUNCTION("PyFloat_AsDouble", as_double),
                       FUNCTION("PyFloat_FromDouble", new_object),
                       FUNCTION("PyErr_SetString", raise_text),
                       FUNCTION("PyErr_Occurred", occurred),
                       FUNCTION("cwj_storage_get", storage_get),
                       FUNCTION("cwj_storage_put", storage_put),
                       FUNCTION("say", say),
                       {"_Py_NoneStruct", &none, false},
                       {"PyExc_ValueError", &exception_type, false}};
    memcpy(symbols, all, sizeof all);
    tj_environment_options options = {.symbols = symbols, .nsymbols = sizeof all / sizeof *all};
    environment = new_environment(&options);
}

/* ---- one graph -------------------------------------------------------------------- */

/* The seed's Add of nonnegative doubles: z = Add(x, y). */
typedef struct adder {
    tj_graph graph;
    tj_graph_variable variables[3];
    tj_graph_node nodes[1];
    tj_graph_use uses[3];
    int order[1];
    tj_graph_step steps[1];
    tj_piece supports[1];
} adder;

static void make_adder(adder *this, bool struct_form)
{
    static const char *const names[] = {"V1_x", "V2_y", "V3_z"};
    static const char *const labels[] = {"x (Double)", "y (Double)", "z (Double)"};
    static const char *const declares[] = {"double V1_x;", "double V2_y;", "double V3_z;"};
    static const char *const declare_files[] = {"<cwrapjit Double.c_declare of x>",
                                                "<cwrapjit Double.c_declare of y>",
                                                "<cwrapjit Double.c_declare of z>"};
    static const char *const extracts[] = {"V1_x = PyFloat_AsDouble(py_V1_x);",
                                           "V2_y = PyFloat_AsDouble(py_V2_y);"};
    *this = (adder){0};
    for (int i = 0; i < 3; i++)
        this->variables[i] = (tj_graph_variable){
            .name = names[i], .label = labels[i], .declare = piece(declare_files[i], declares[i])};
    this->variables[0].extract = piece("<cwrapjit Double.c_extract of x>", extracts[0]);
    this->variables[1].extract = piece("<cwrapjit Double.c_extract of y>", extracts[1]);
    this->variables[2].init = piece("<cwrapjit Double.c_init of z>", "V3_z = 0.0;");
    this->variables[2].sync = piece("<cwrapjit Double.c_sync of z>",
                                    "Py_XDECREF(py_V3_z); py_V3_z = PyFloat_FromDouble(V3_z);");
    this->variables[2].kept = struct_form;
    this->nodes[0] = (tj_graph_node){
        .name = "node_1",
        .label = "z = Add(x, y)",
        .validate_block = 4,
        .code_block = 5,
        .validate = piece("<cwrapjit Add.c_validate_update of z>",
                          "if (V1_x < 0 || V2_y < 0) {failure = 4; goto label_4;}"),
        .code = piece("<cwrapjit Add.c_code of z>", "V3_z = V1_x + V2_y;"),
        .code_cleanup = piece("<cwrapjit Add.c_code_cleanup of z>", ""),
        .validate_cleanup = piece("<cwrapjit Add.c_validate_update_cleanup of z>", "")};
    this->uses[0] = (tj_graph_use){0, TJ_GRAPH_INPUT};
    this->uses[1] = (tj_graph_use){1, TJ_GRAPH_INPUT};
    this->uses[2] = (tj_graph_use){2, TJ_GRAPH_OUTPUT};
    this->steps[0] = (tj_graph_step){3, this->uses, 1, this->order};
    this->graph = (tj_graph){.name = "graph",
                             .struct_form = struct_form,
                             .nvariables = 3,
                             .variables = this->variables,
                             .nnodes = 1,
                             .nodes = this->nodes,
                             .nsteps = 1,
                             .steps = this->steps};
}

/* An adder whose support code declares say(), and whose cleanups report their names by it. */
static void make_speaker(adder *this, bool struct_form)
{
    make_adder(this, struct_form);
    this->supports[0] = piece("<support>", "void say(const char *);");
    this->graph.nsupports = 1;
    this->graph.supports = this->supports;
    this->variables[0].cleanup = piece("<x cleanup>", "say(\"x\");");
    this->variables[1].cleanup = piece("<y cleanup>", "int i; (void)i; say(\"y\");");
    this->variables[2].cleanup = piece("<z cleanup>", "say(\"z\");");
    this->nodes[0].code_cleanup = piece("<code cleanup>", "say(\"code\");");
    this->nodes[0].validate_cleanup = piece("<validate cleanup>", "say(\"validate\");");
}

typedef struct linked {
    tj_status status;
    tj_unit *unit;
    char *source;
    const cwj_graph_decl *decl;
    tj_messages messages;
    tj_error error;
} linked;

static linked link_graph(const tj_graph *graph)
{
    linked this = {0};
    tj_error_init(&this.error);
    this.status =
        tj_graph_define(environment, graph, &this.unit, &this.source, &this.messages, &this.error);
    if (this.unit)
        this.decl = tj_unit_symbol(this.unit, "cwj_graph");
    return this;
}

static linked link_well(const tj_graph *graph)
{
    linked this = link_graph(graph);
    for (size_t i = 0; i < this.messages.count; i++)
        fprintf(stderr, "%s:%d: %s\n", this.messages.items[i].file, this.messages.items[i].line,
                this.messages.items[i].text);
    CHECK(this.status == TJ_OK && this.decl != NULL && this.messages.count == 0);
    if (this.error.text)
        fprintf(stderr, "%s\n", this.error.text);
    if (this.decl)
        CHECK(!this.decl->load || this.decl->load() == 0);
    return this;
}

static void unlink_graph(linked *this)
{
    tj_unit_free(this->unit);
    tj_free(this->source);
    tj_messages_clear(&this->messages);
    tj_error_clear(&this->error);
}

/* Cells and their storages. */
typedef struct cells {
    object *values[8];
    object *storages[8];
} cells;

static void fill_cells(cells *this, double x, double y)
{
    *this = (cells){0};
    for (int i = 0; i < 8; i++)
        this->storages[i] = (object *)(void *)&this->values[i];
    this->values[0] = new_object(x);
    this->values[1] = new_object(y);
    this->values[2] = hold(&none);
    trace[0] = '\0';
    raised = NULL;
}

static void empty_cells(cells *this)
{
    for (int i = 0; i < 8; i++)
        drop(this->values[i]);
    *this = (cells){0};
    CHECK(alive == 0);
    CHECK(none.references == 1000);
}

/* A graph with nothing to begin or end has no functions for that. */
static int begin_state(const linked *this, void *state, const cells *at)
{
    return this->decl->begin ? this->decl->begin(state, at->storages) : 0;
}

static void end_state(const linked *this, void *state)
{
    if (this->decl->end)
        this->decl->end(state);
}

/* Begins a state, runs `times` times, and ends the state. Returns the last run's code, or -1 if it did not begin. */
static int run_graph(const linked *this, cells *at, int times)
{
    int code = 0;
    void *state = calloc(1, this->decl->state_size + 1);
    if (!begin_state(this, state, at)) {
        for (int i = 0; i < times; i++)
            code = this->decl->steps[0](state, at->storages);
        end_state(this, state);
    } else {
        code = -1;
    }
    free(state);
    return code;
}

/* ---- the seed's example ----------------------------------------------------------- */

/* Checks the last of `times` runs on x and y: its code, z if the code is 0, and the trace unless words is NULL. */
static void check_run(const linked *it, double x, double y, int times, int code, double z,
                      const char *words)
{
    cells at;
    fill_cells(&at, x, y);
    CHECK(run_graph(it, &at, times) == code);
    CHECK(code ? at.values[2] == &none : at.values[2]->value == z);
    if (words)
        CHECK_STR(trace, words);
    empty_cells(&at);
}

static void test_adds(void)
{
    for (int form = 0; form < 2; form++) {
        adder add;
        make_adder(&add, form);
        linked it = link_well(&add.graph);
        check_run(&it, 1, 2, 2, 0, 3, NULL);
        check_run(&it, -1, 2, 1, 4, 0, NULL);
        CHECK((it.decl->state_size > 0) == (form == 1));
        unlink_graph(&it);
    }
}

/* Cleanups run for the blocks that were entered, in reverse order, and for no others. */
static void test_order_of_cleanups(void)
{
    for (int form = 0; form < 2; form++) {
        adder add;
        cells at;
        make_speaker(&add, form);
        linked it = link_well(&add.graph);
        check_run(&it, 1, 2, 1, 0, 3, form ? "code validate y x z" : "code validate z y x");
        check_run(&it, -1, 2, 1, 4, 0, form ? "validate y x z" : "validate z y x");
        fill_cells(&at, 1, 2);
        drop(at.values[1]);
        at.values[1] = hold(&none); /* extracting raises, but does not fail */
        CHECK(run_graph(&it, &at, 1) == 2);
        CHECK_STR(trace, form ? "y x z" : "y x");
        empty_cells(&at);
        fill_cells(&at, 1, 2);
        drop(at.values[0]);
        at.values[0] = NULL; /* no block was entered */
        CHECK(run_graph(&it, &at, 1) == 1);
        CHECK_STR(trace, form ? "z" : "");
        empty_cells(&at);
        unlink_graph(&it);
    }
}

/* ---- which block fails ---------------------------------------------------------------- */

/* Runs the adder on 1 and 2 after a test has replaced a text. Returns the code, or -1 if it did not begin. Nothing
 * may leak. */
static int run_adder(adder *add, const char *trace_wanted)
{
    cells at;
    linked it = link_well(&add->graph);
    int code = -2;
    fill_cells(&at, 1, 2);
    if (it.decl)
        code = run_graph(&it, &at, 1);
    CHECK_STR(trace, trace_wanted);
    empty_cells(&at);
    unlink_graph(&it);
    return code;
}

static void test_failing_init(void)
{
    for (int form = 0; form < 2; form++) {
        adder add;
        make_speaker(&add, form);
        add.variables[2].init = piece("<init>", "if (1) {failure = 3; goto label_3;}");
        CHECK(run_adder(&add, form ? "z" : "z y x") == (form ? -1 : 3));
        make_speaker(&add, form);
        add.nodes[0].code = piece("<code>", "int n = 3; (void)n; {failure = 5; goto label_5;}");
        CHECK(run_adder(&add, form ? "code validate y x z" : "code validate z y x") == 5);
    }
}

static void test_syncs_that_fail(void)
{
    for (int form = 0; form < 2; form++) {
        adder add;
        make_speaker(&add, form);
        add.variables[2].sync_fails = true;
        add.variables[2].sync = piece("<sync>", "{failure = 3; goto label_3_cleanup;}");
        CHECK(run_adder(&add, form ? "code validate y x z" : "code validate z y x") == 3);
        make_speaker(&add, form);
        add.variables[2].sync = piece("<sync>", "PyErr_SetString(PyExc_ValueError, \"no\");");
        CHECK(run_adder(&add, form ? "code validate y x z" : "code validate z y x") == 3);
        make_speaker(&add, form); /* NULL becomes None */
        add.variables[2].sync = piece("<sync>", "Py_XDECREF(py_V3_z); py_V3_z = NULL;");
        CHECK(run_adder(&add, form ? "code validate y x z" : "code validate z y x") == 0);
    }
}

/* An exception that the block's text does not name: the outputs are not synced. */
static void test_raising_without_a_word(void)
{
    adder add;
    make_speaker(&add, false);
    add.supports[0] = piece("<support>", "void say(const char *);\n"
                                         "static void quiet(void)\n"
                                         "{ PyErr_SetString(PyExc_ValueError, \"hm\"); }");
    add.nodes[0].code = piece("<code>", "quiet();");
    CHECK(run_adder(&add, "code validate z y x") == 5);
    make_speaker(&add, false);
    add.nodes[0].code_cleanup =
        piece("<code cleanup>", "PyErr_SetString(PyExc_ValueError, \"c\");");
    CHECK(run_adder(&add, "validate z y x") == 3);
}

/* ---- legal and illegal texts ------------------------------------------------------------- */

static const char *const legal_codes[] = {
    "",
    "  \n /* nothing */ // at all",
    "V3_z = 4; again: if (V3_z++ < 2) goto again;",
    "#define FAIL {failure = 5; goto label_5;}\n#define IN V1_x\nif (IN < 0) { FAIL }\n"
    "V3_z = IN;\n#undef FAIL\n#undef IN",
    "void *p = NULL; if (V1_x > 5) {failure = 5; goto label_5;} p = &V3_z; (void)p;",
    "double t[3]; if (V1_x > 5) {failure = 5; goto label_5;} t[0] = 1; V3_z = t[0];",
    "if (V1_x > 5) {failure = 5; goto label_5;} enum { N = 4 }; double t[N]; t[0] = 0; V3_z = "
    "t[0];",
    "int n = 3; double t[n]; t[0] = 1; if (V1_x > 5) {failure = 5; goto label_5;} V3_z = t[0];",
    "if (V1_x > 5) {failure = 5; goto label_5;} { int n = 3; double t[n]; t[n - 1] = V3_z; }",
    "if (V1_x > 5) {failure = 5; goto label_5;} int i = 0; double t[3]; t[i] = i; V3_z = t[i];",
    "for (int i = 0; i < 3; i++) { if (i == 1) continue; if (i == 2) break; V3_z += i; }",
    "const char *text = \"return; \\\n   goto\"; (void)text;",
    "int printf_ = 0; V3_z = printf_;\n\n\n",
    "switch ((int)V1_x) { case 1: V3_z = 1; break; default: V3_z = 2; }",
    "if (V1_x) goto out; V3_z = 1; out:",
    "#define SET V3_z = 3;\nSET",
};

static const char *const legal_cleanups[] = {"", "int i = 3; (void)i;", "again:;",
                                             "{ double *p = NULL; (void)p; }", "// word"};

static void test_legal_texts(void)
{
    for (size_t i = 0; i < sizeof legal_codes / sizeof *legal_codes; i++) {
        adder add;
        make_adder(&add, i % 2);
        add.nodes[0].code = piece("<code>", legal_codes[i]);
        add.nodes[0].code_cleanup = piece("<code cleanup>", legal_cleanups[i % 5]);
        add.nodes[0].validate_cleanup = piece("<validate cleanup>", legal_cleanups[(i + 1) % 5]);
        add.variables[0].cleanup = piece("<x cleanup>", legal_cleanups[(i + 2) % 5]);
        CHECK(run_adder(&add, "") == 0);
    }
}

/* An incomplete statement must not absorb the text after its block. */
static void test_open_ends(void)
{
    adder add;
    make_speaker(&add, false);
    add.nodes[0].validate = piece("<validate>", "if (V1_x > 5)");
    CHECK(run_adder(&add, "code validate z y x") == 0);
    make_speaker(&add, false);
    add.nodes[0].validate = piece("<validate>", "for (int i = 0; i < 3; i++)");
    CHECK(run_adder(&add, "code validate z y x") == 0);
}

/* Labels of two operations of one kind do not clash, and a cleanup sees the declarations of its code. */
static void test_scopes(void)
{
    adder add;
    make_speaker(&add, true);
    add.nodes[0].validate = piece("<validate>", "int n = 1; again: if (n++ < 3) goto again;");
    add.nodes[0].validate_cleanup = piece("<validate cleanup>", "if (n == 4) say(\"four\");");
    add.nodes[0].code = piece("<code>", "int n = 7; again: if (n++ < 9) goto again;");
    add.nodes[0].code_cleanup = piece("<code cleanup>", "if (n == 10) say(\"ten\");");
    CHECK(run_adder(&add, "ten four y x z") == 0);
}

static void check_bad_code(const char *text, const char *cleanup, int line, const char *part)
{
    adder add;
    make_speaker(&add, true);
    add.nodes[0].code = piece("<code>", text);
    if (cleanup)
        add.variables[0].cleanup = piece("<x cleanup>", cleanup);
    linked it = link_graph(&add.graph);
    CHECK(it.status == TJ_COMPILE_FAILED);
    CHECK(it.unit == NULL && it.source == NULL);
    CHECK(it.messages.count > 0);
    if (it.messages.count > 0) {
        CHECK_HAS(it.messages.items[0].text, part);
        CHECK(it.messages.items[0].line == line);
        CHECK(it.messages.items[0].source != NULL);
    }
    unlink_graph(&it);
}

static void test_bad_codes(void)
{
    check_bad_code("\nV3_z = undeclared;", NULL, 2, "undeclared");
    check_bad_code("V3_z = ;\n\n", NULL, 1, "");
    check_bad_code("\n    x();\n  Py_RETURN_NONE;", NULL, 2, "");
    check_bad_code("Py_RETURN_NONE;", NULL, 1, "skip the cleanup");
    check_bad_code("int n = 3;\nif (n) {failure = 5; goto label_5;}\ndouble t[2][n]; t[0][0] = 1;",
                   NULL, 3, "variable length");
    check_bad_code("if (V1_x) {failure = 5; goto label_5;}\ndouble a, t[(int)V1_x];", NULL, 2,
                   "variable length");
    check_bad_code("V3_z = 1;", "\nif (local) x();", 2, "local");
    check_bad_code("break;", NULL, 1, "'break'");
    check_bad_code("\nV3_z = 4\n\n", NULL, 2, "';' expected");
    check_bad_code("V3_z = 4;", "say(\"x\")\n", 1, "';' expected");
}

static void test_foreign(void)
{
    static const char *const texts[] = {"std::vector<int> v;",      "auto p = new double;",
                                        "x = static_cast<int>(y);", "template <class T> void f(T);",
                                        "#include <iostream>\n",    "using namespace std;",
                                        "double *p = nullptr;"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        adder add;
        bool found = false;
        make_adder(&add, false);
        add.nodes[0].code = piece("<code>", texts[i]);
        linked it = link_graph(&add.graph);
        CHECK(it.status == TJ_COMPILE_FAILED);
        for (size_t m = 0; m < it.messages.count; m++)
            found |= strstr(it.messages.items[m].text, "this is C++") != NULL &&
                     !strcmp(it.messages.items[m].file, "<code>");
        CHECK(found);
        unlink_graph(&it);
    }
}

/* ---- state between runs -------------------------------------------------------------------- */

static void test_kept(void)
{
    adder add;
    cells at;
    make_speaker(&add, true);
    add.variables[2].declare =
        piece("<declare>", "typedef double V3_z_t; V3_z_t V3_z;\nint V3_z_n, *n_V3_z;");
    add.variables[2].init = piece("<init>", "say(\"init\"); V3_z = 0; V3_z_n = 0;");
    add.nodes[0].code = piece("<code>", "V3_z += V1_x + V2_y; V3_z_n++; n_V3_z = &V3_z_n;");
    add.nodes[0].code_cleanup = add.nodes[0].validate_cleanup = (tj_piece){0};
    add.variables[0].cleanup = add.variables[1].cleanup = (tj_piece){0};
    linked it = link_well(&add.graph);
    fill_cells(&at, 1, 2);
    void *state = calloc(1, it.decl->state_size);
    CHECK(begin_state(&it, state, &at) == 0);
    CHECK(it.decl->steps[0](state, NULL) == 0 && at.values[2]->value == 3);
    CHECK(it.decl->steps[0](state, NULL) == 0 && at.values[2]->value == 6);
    CHECK(it.decl->renew(state, 0) == 0);
    CHECK_STR(trace, "init");
    CHECK(it.decl->renew(state, 2) == 0);
    CHECK_STR(trace, "init z init");
    CHECK(it.decl->steps[0](state, NULL) == 0 && at.values[2]->value == 3);
    end_state(&it, state);
    CHECK_STR(trace, "init z init z");
    free(state);
    empty_cells(&at);
    unlink_graph(&it);
}

/* Two operations whose state members have equal names; they begin in order and end in reverse. */
static void make_counters(adder *this, tj_graph_node *nodes, int *order)
{
    make_speaker(this, true);
    this->variables[2].init = piece("<init>", "say(\"init\"); V3_z = 0;");
    for (int i = 0; i < 2; i++) {
        nodes[i] = (tj_graph_node){.name = i ? "node_2" : "node_1",
                                   .label = "a counter",
                                   .code_block = 4 + i,
                                   .struct_declare = piece("<members>", "int count, step;"),
                                   .struct_cleanup = piece("<struct cleanup>", "say(\"end\");"),
                                   .code = piece("<code>", "V3_z = 10 * V3_z + (count += step);")};
        order[i] = i;
    }
    nodes[0].struct_init = piece("<struct init>", "say(\"one\"); step = 1;");
    nodes[1].struct_init = piece("<struct init>", "say(\"two\"); step = 2;");
    this->graph.nodes = nodes;
    this->graph.nnodes = 2;
    this->steps[0].nnodes = 2;
    this->steps[0].nodes = order;
}

static void test_members(void)
{
    for (int form = 0; form < 2; form++) {
        adder add;
        tj_graph_node nodes[2];
        int order[2];
        make_counters(&add, nodes, order);
        add.graph.struct_form = form;
        linked it = link_well(&add.graph);
        CHECK(it.decl->state_size > 0);
        check_run(&it, 1, 2, 1, 0, 12,
                  form ? "init one two y x end end z" : "one two init z y x end end");
        check_run(&it, 1, 2, 2, 0, form ? 1224 : 24, NULL);
        unlink_graph(&it);
        make_counters(&add, nodes, order);
        nodes[1].struct_init = piece("<struct init>", "{failure = 5; goto label_5;}");
        CHECK(run_adder(&add, "init one end end z") == -1);
    }
}

static bool emit(void *graph)
{
    tj_text text = {0};
    tj_status status = tj_emit_graph(graph, &text);
    tj_text_clear(&text);
    return status == TJ_OK;
}

static void test_without_memory(void)
{
    adder add;
    tj_graph_node nodes[2];
    int order[2];
    make_counters(&add, nodes, order);
    CHECK(starve(emit, &add.graph) > 20);
}

int main(void)
{
    open_backend();
    make_environment();
    RUN(test_adds);
    RUN(test_order_of_cleanups);
    RUN(test_failing_init);
    RUN(test_syncs_that_fail);
    RUN(test_raising_without_a_word);
    RUN(test_legal_texts);
    RUN(test_open_ends);
    RUN(test_scopes);
    RUN(test_bad_codes);
    RUN(test_foreign);
    RUN(test_kept);
    RUN(test_members);
    RUN(test_without_memory);
    tj_environment_free(environment);
    return check_report();
}
