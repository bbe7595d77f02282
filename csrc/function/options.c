/* options.c: see options.h. */
#include "function/options.h"

#include "base/config.h"
#include "base/raised.h"
#include "base/tuples.h"

void
cwj_options_init(cwj_options *options)
{
#define UNSET(name, member, ...) options->member = CWJ_UNSET;
    CWJ_OPTIONS(UNSET)
#undef UNSET
    options->threads_by_default = options->checks = 0;
}

/* ---- values that are passed ---------------------------------------------- */

int
cwj_options_update(cwj_options *options, const cwj_option_values *values, const char *who)
{
#define UPDATE(name, member, parse, show)                                              \
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

PyObject *
cwj_options_describe(const cwj_options *options)
{
    PyObject *dict = PyDict_New();
#define SHOW(name, member, parse, show)                    \
    if (options->member != CWJ_UNSET) {                    \
        cwj_dict_put(&dict, #name, show(options->member)); \
    }
    CWJ_OPTIONS(SHOW)
#undef SHOW
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
