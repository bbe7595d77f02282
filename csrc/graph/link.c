/* link.c: the arguments of link(). */
#include "linked.h"

#include "../config.h"
#include "../errors.h"
#include "reference.h"

const char cwj_link_doc[] =
    "link(inputs, outputs, *, mode='struct', per_op=False, validate=True, check=False,\n"
    "     name='graph', python=False, updates=None, optimize=None, fastmath=None)\n"
    "--\n\n"
    "Compile a graph of types and ops to one function, a Graph.\n\n"
    ">>> x, y = cwrapjit.float64('x'), cwrapjit.float64('y')\n"
    ">>> cwrapjit.link([x, y], x * y + 1)(2.0, 3.0)\n"
    "7.0\n\n"
    "inputs is a sequence of variables; outputs is a variable, or a sequence of them. A call\n"
    "returns the value of a single output, and a tuple of several.\n\n"
    "mode='struct' keeps outputs and temporaries from run to run, 'function' nothing. per_op=True\n"
    "goes through Python's objects behind each op. validate=False leaves c_validate_update out.\n"
    "check=True compares each op with its perform(). python=True runs ops without C code by their\n"
    "perform(). updates maps inputs to the variables whose values they take after a run. name\n"
    "is what messages call the graph. optimize and fastmath are those of function().\n\n"
    "Raises CompileError for C that does not compile, NotImplementedError for ops and types\n"
    "without C, TypeError and ValueError for graphs that are none.";

/* ---- options --------------------------------------------------------------------- */

/* What link() takes by keyword; borrowed. */
typedef struct {
    PyObject *mode, *per_op, *validate, *check, *name, *python, *updates, *optimize, *fastmath;
} keywords;

static int
parse_flag(PyObject *value, const char *option, bool *flag)
{
    if (value == NULL) {
        return 0;
    }
    if (!PyBool_Check(value)) {
        return cwj_refuse("link()", PyExc_TypeError, "%s must be True or False, not %R", option,
                          value);
    }
    *flag = value == Py_True;
    return 0;
}

static int
parse_mode(PyObject *mode, bool *struct_form)
{
    *struct_form = true;
    if (mode == NULL ||
        (PyUnicode_Check(mode) && PyUnicode_CompareWithASCIIString(mode, "struct") == 0)) {
        return 0;
    }
    *struct_form = false;
    if (PyUnicode_Check(mode) && PyUnicode_CompareWithASCIIString(mode, "function") == 0) {
        return 0;
    }
    return cwj_refuse("link()", PyUnicode_Check(mode) ? PyExc_ValueError : PyExc_TypeError,
                      "mode must be 'struct' or 'function', not %R", mode);
}

static int
check_name(PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        return cwj_refuse("link()", PyExc_TypeError, "name must be a str, not %s",
                          Py_TYPE(name)->tp_name);
    }
    return 0;
}

static int
parse_optimize(cwj_module_state *state, const keywords *given, cwj_link_options *options)
{
    int optimize = given->optimize == NULL || given->optimize == Py_None
                       ? cwj_config_optimize(state->config)
                       : cwj_parse_optimize(given->optimize, "link()");
    options->optimize = optimize != CWJ_OPTIMIZE_OFF;
    options->eager = optimize == CWJ_OPTIMIZE_EAGER;
    return optimize < 0 || parse_flag(given->fastmath == Py_None ? NULL : given->fastmath,
                                      "fastmath", &options->fastmath) < 0
               ? -1
               : 0;
}

static int
parse_options(cwj_module_state *state, const keywords *given, cwj_link_options *options)
{
    options->validate = true;
    options->updates = given->updates == Py_None ? NULL : given->updates;
    if (options->updates != NULL && !PyDict_Check(options->updates)) {
        return cwj_refuse("link()", PyExc_TypeError, "updates must be a dict, not %s",
                          Py_TYPE(options->updates)->tp_name);
    }
    return parse_mode(given->mode, &options->struct_form) < 0 ||
                   parse_flag(given->per_op, "per_op", &options->per_op) < 0 ||
                   parse_flag(given->validate, "validate", &options->validate) < 0 ||
                   parse_flag(given->check, "check", &options->check) < 0 ||
                   parse_flag(given->python, "python", &options->python) < 0 ||
                   check_name(options->name) < 0 || parse_optimize(state, given, options) < 0
               ? -1
               : 0;
}

/* ---- link() ------------------------------------------------------------------------- */

/* check=True needs a reference of each op. */
static int
check_references(const cwj_plan *plan)
{
    for (int i = 0; plan->check && i < plan->nnodes; i++) {
        if (cwj_reference_exists(plan, i) < 0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *
link_graph(cwj_module_state *state, const cwj_link_options *options)
{
    cwj_plan *plan = cwj_plan_new(state, options);
    if (plan == NULL) {
        return NULL;
    }
    if (check_references(plan) < 0) {
        cwj_plan_unref(plan);
        return NULL;
    }
    return cwj_graph_new(state, plan);
}

PyObject *
cwj_link(PyObject *extension, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"inputs", "outputs", "mode",    "per_op",   "validate", "check",
                            "name",   "python",  "updates", "optimize", "fastmath", NULL};
    cwj_module_state *state = PyModule_GetState(extension);
    PyObject *graph = NULL, *name = NULL;
    keywords given = {0};
    cwj_link_options options = {0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$OOOOOOOOO:link", names, &options.inputs,
                                     &options.outputs, &given.mode, &given.per_op, &given.validate,
                                     &given.check, &given.name, &given.python, &given.updates,
                                     &given.optimize, &given.fastmath)) {
        return NULL;
    }
    name = given.name != NULL ? Py_NewRef(given.name) : PyUnicode_FromString("graph");
    options.name = name;
    if (name != NULL && parse_options(state, &given, &options) == 0) {
        graph = link_graph(state, &options);
    }
    Py_XDECREF(name);
    return graph;
}
