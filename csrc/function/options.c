/* options.c: see options.h. */
#include "function/options.h"

#include "base/config.h"
#include "base/raised.h"
#include "base/tuples.h"

void
cwj_options_init(cwj_options *options)
{
#define UNSET(name, member, parse) options->member = CWJ_UNSET;
    CWJ_OPTIONS(UNSET)
#undef UNSET
    options->threads_by_default = options->checks = 0;
}

/* ---- values that are passed ---------------------------------------------- */

static const char *const cookie_names[] = {"readwrite", "readonly"};

static int
parse_cookie(PyObject *value, const char *who)
{
    return cwj_parse_choice(value, cookie_names, 2, who, "cookie");
}

int
cwj_options_update(cwj_options *options, const cwj_option_values *values, const char *who)
{
#define UPDATE(name, member, parse)                                                    \
    if (cwj_given(values->name) && (options->member = parse(values->name, who)) < 0) { \
        return -1;                                                                     \
    }
#define parse_fastmath(value, who) cwj_parse_bool(value, who, "fastmath")
#define parse_unordered(value, who) cwj_parse_bool(value, who, "unordered")
#define parse_inplace(value, who) cwj_parse_bool(value, who, "inplace")
#define parse_gil(value, who) cwj_parse_bool(value, who, "gil")
    CWJ_OPTIONS(UPDATE)
#undef UPDATE
    return 0;
}

static PyObject *
describe(const cwj_options *options, const int *member)
{
    return member == &options->optimize          ? PyUnicode_FromString(cwj_optimize_name(*member))
           : member == &options->cast            ? PyUnicode_FromString(cwj_cast_name(*member))
           : member == &options->warns           ? PyUnicode_FromString(cwj_copies_name(*member))
           : member == &options->cookie_readonly ? PyUnicode_FromString(cookie_names[*member])
           : member == &options->debug           ? cwj_debug_value(*member)
           : member == &options->math            ? PyUnicode_FromString(cwj_math_name(*member))
           : member != &options->threads         ? PyBool_FromLong(*member)
           : *member == CWJ_THREADS_AUTO         ? PyUnicode_FromString("auto")
                                                 : PyLong_FromLong(*member);
}

PyObject *
cwj_options_describe(const cwj_options *options)
{
#define ROW(name, member, parse) {#name, &options->member},
    const struct {
        const char *name;
        const int *member;
    } rows[] = {CWJ_OPTIONS(ROW)};
#undef ROW
    PyObject *dict = PyDict_New();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && dict != NULL; i++) {
        if (*rows[i].member != CWJ_UNSET) {
            cwj_dict_put(&dict, rows[i].name, describe(options, rows[i].member));
        }
    }
    return dict;
}

/* ---- defaults of the process ----------------------------------------------- */

static int
by_default(int *member, cwj_module_state *state, cwj_setting setting)
{
    if (*member == CWJ_UNSET) {
        *member = cwj_config_number(state->config, setting);
    }
    return *member < 0 ? -1 : 0;
}

int
cwj_options_finish(cwj_options *options, cwj_module_state *state)
{
    options->threads_by_default = options->threads == CWJ_UNSET;
    if (by_default(&options->optimize, state, CWJ_SETTING_OPTIMIZE) < 0 ||
        by_default(&options->threads, state, CWJ_SETTING_THREADS) < 0 ||
        by_default(&options->math, state, CWJ_SETTING_MATH) < 0 ||
        by_default(&options->debug, state, CWJ_SETTING_DEBUG) < 0) {
        return -1;
    }
    if (options->debug != CWJ_DEBUG_OFF) { /* checked code is always libtcc's */
        options->checks = options->optimize != CWJ_OPTIMIZE_OFF;
        options->optimize = CWJ_OPTIMIZE_OFF;
    }
    return 0;
}

int
cwj_options_refuse(const char *who, PyObject *kwargs, char *const *names)
{
    if (kwargs == NULL || !PyErr_ExceptionMatches(PyExc_TypeError)) {
        return -1;
    }
    PyObject *raised = cwj_raised_take(), *known = PyList_New(0), *done = NULL;
    for (int i = 0; names[i] != NULL && known != NULL; i++) {
        cwj_list_add(&known, PyUnicode_FromString(names[i]));
    }
    if (known != NULL) {
        done = cwj_ask_python("cwrapjit._options", "check", "(sON)", who, kwargs, known);
    }
    if (done != NULL) { /* another fault */
        cwj_raised_set(raised);
        raised = NULL;
    }
    Py_XDECREF(raised);
    Py_XDECREF(done);
    return -1;
}
