/* link.c: the function link() and its arguments. */
#include "graph/link/link.h"

#include "base/choices.h"
#include "base/config.h"
#include "base/errors.h"
#include "base/tuples.h"
#include "graph/objects/graph_object.h"

static const char who[] = "link()";

PyDoc_STRVAR(
    link_doc,
    "link(inputs, outputs, *, mode='struct', per_op=False, validate=True, check=False,\n"
    "     name='graph', python=False, updates=None, optimize=None, fastmath=None, debug=None)\n"
    "--\n\n"
    "Compile a graph of types and ops to one function, a Graph.\n\n"
    ">>> import cwrapjit.graph as cg\n"
    ">>> x, y = cg.float64('x'), cg.float64('y')\n"
    ">>> cwrapjit.link([x, y], x * y + 1)(2.0, 3.0)\n"
    "7.0\n\n"
    "inputs is a sequence of variables, or of cwrapjit.graph.In(variable, mutable=True) for those\n"
    "that runs may overwrite; outputs is a variable, or a sequence of them. A call returns the\n"
    "value of a single output, and a tuple of several.\n\n"
    "mode='struct' keeps outputs and temporaries from run to run, 'function' nothing. per_op=True\n"
    "goes through Python's objects behind each op. validate=False leaves c_validate_update out.\n"
    "check=True compares each op with its perform(). python=True runs ops without C code by their\n"
    "perform(). updates maps inputs to the variables whose values they take after a run. name\n"
    "is what messages call the graph. optimize, fastmath and debug are those of\n"
    "function().\n\n"
    "Raises CompileError for C that does not compile, NotImplementedError for ops and types\n"
    "without C, TypeError and ValueError for graphs that are none.");

/* ---- options --------------------------------------------------------------------- */

/* What link() takes by keyword: True or False, and all of it. */
#define FLAGS(KEYWORD) KEYWORD(per_op) KEYWORD(validate) KEYWORD(check) KEYWORD(python)
#define KEYWORDS(KEYWORD) \
    KEYWORD(mode)         \
    FLAGS(KEYWORD) KEYWORD(name) KEYWORD(updates) KEYWORD(optimize) KEYWORD(fastmath) KEYWORD(debug)

/* Borrowed. */
typedef struct {
#define MEMBER(name) PyObject *name;
    KEYWORDS(MEMBER)
#undef MEMBER
} keywords;

static int
parse_flag(PyObject *value, const char *option, bool *flag)
{
    int given = value == NULL ? *flag : cwj_parse_bool(value, who, option);
    *flag = given > 0;
    return given < 0 ? -1 : 0;
}

static int
parse_mode(PyObject *mode, bool *struct_form)
{
    static const char *const choices[] = {"struct", "function"};
    int chosen = mode == NULL ? 0 : cwj_parse_choice(mode, choices, 2, who, "mode");
    *struct_form = chosen == 0;
    return chosen < 0 ? -1 : 0;
}

static int
parse_optimize(cwj_module_state *state, const keywords *given, cwj_link_options *options)
{
    int optimize = cwj_given(given->optimize)
                       ? cwj_parse_optimize(given->optimize, who)
                       : cwj_config_number(state->config, CWJ_SETTING_OPTIMIZE);
    int debug = cwj_given(given->debug) ? cwj_parse_debug(given->debug, who)
                                        : cwj_config_number(state->config, CWJ_SETTING_DEBUG);
    PyObject *fastmath = cwj_given(given->fastmath) ? given->fastmath : NULL;
    options->debug = debug > CWJ_DEBUG_OFF;
    options->optimize = optimize != CWJ_OPTIMIZE_OFF && !options->debug;
    options->checks = optimize != CWJ_OPTIMIZE_OFF && options->debug;
    options->eager = optimize == CWJ_OPTIMIZE_EAGER && !options->debug;
    return optimize < 0 || debug < 0 || parse_flag(fastmath, "fastmath", &options->fastmath) < 0
               ? -1
               : 0;
}

static int
parse_options(cwj_module_state *state, const keywords *given, cwj_link_options *options)
{
    options->validate = true;
    options->updates = cwj_given(given->updates) ? given->updates : NULL;
    if (options->updates != NULL && !PyDict_Check(options->updates)) {
        return cwj_refuse_type(who, "updates", "a dict", options->updates);
    }
#define PARSE(name)                                           \
    if (parse_flag(given->name, #name, &options->name) < 0) { \
        return -1;                                            \
    }
    FLAGS(PARSE)
#undef PARSE
    if (parse_mode(given->mode, &options->struct_form) < 0) {
        return -1;
    }
    return PyUnicode_Check(options->name) ? parse_optimize(state, given, options)
                                          : cwj_refuse_type(who, "name", "a str", options->name);
}

/* ---- link() ------------------------------------------------------------------------- */

/* A sequence as a tuple, which nobody can change; anything else as it is. New reference. */
static PyObject *
copy_sequence(PyObject *value)
{
    return PyList_Check(value) ? PyList_AsTuple(value) : Py_NewRef(value);
}

/* (inputs, outputs, keywords) for another process. */
static PyObject *
copy_arguments(const cwj_link_options *options, const keywords *given)
{
#define ROW(name) {#name, given->name},
    const struct {
        const char *name;
        PyObject *value;
    } rows[] = {KEYWORDS(ROW)};
#undef ROW
    PyObject *inputs = copy_sequence(options->inputs), *outputs = copy_sequence(options->outputs);
    PyObject *named = PyDict_New();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        PyObject *value = rows[i].value;
        if (value != NULL) {
            cwj_dict_put(&named, rows[i].name,
                         PyDict_CheckExact(value) ? PyDict_Copy(value) : Py_NewRef(value));
        }
    }
    return Py_BuildValue("(NNN)", inputs, outputs, named);
}

static PyObject *
link_graph(cwj_module_state *state, const cwj_link_options *options, const keywords *given)
{
    cwj_graph_plan *plan = cwj_make_plan(state, options);
    PyObject *graph = NULL, *made_by = NULL;
    if (plan != NULL) {
        made_by = copy_arguments(options, given);
    }
    if (made_by != NULL) {
        graph = cwj_graph_new(state, plan, made_by);
    } else {
        cwj_graph_plan_free(plan);
    }
    Py_XDECREF(made_by);
    return graph;
}

static PyObject *
link_function(PyObject *extension, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"inputs", "outputs", KEYWORDS(CWJ_NAME) NULL};
    cwj_module_state *state = PyModule_GetState(extension);
    PyObject *graph = NULL, *name = NULL;
    keywords given = {0};
    cwj_link_options options = {0};
#define TARGET(name) , &given.name
    int parsed =
        PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$" KEYWORDS(CWJ_LETTER) ":link", names,
                                    &options.inputs, &options.outputs KEYWORDS(TARGET));
#undef TARGET
    if (!parsed) {
        return NULL;
    }
    name = given.name != NULL ? Py_NewRef(given.name) : PyUnicode_FromString("graph");
    options.name = name;
    if (name != NULL && parse_options(state, &given, &options) == 0) {
        graph = link_graph(state, &options, &given);
    }
    Py_XDECREF(name);
    return graph;
}

int
cwj_add_link(PyObject *extension)
{
    static PyMethodDef functions[] = {
        {"link", (PyCFunction)(void (*)(void))link_function, METH_VARARGS | METH_KEYWORDS,
         link_doc},
        {NULL, NULL, 0, NULL},
    };
    return PyModule_AddFunctions(extension, functions);
}
