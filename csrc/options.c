/* options.c: see options.h. What is accepted by name but not built yet raises
 * NotImplementedError: an option that did nothing would be a lie. */
#include "options.h"

#include "config.h"
#include "errors.h"

void
cwj_options_init(cwj_options *options)
{
    options->optimize = options->threads = options->fastmath = options->debug = CWJ_UNSET;
    options->unordered = options->inplace = options->gil = CWJ_UNSET;
    options->cast_safe = options->cookie_readonly = CWJ_UNSET;
}

/* ---- kinds of values --------------------------------------------------- */

/* The index of value among choices[0..count-1], or -1 with an exception. */
static int
parse_choice(PyObject *value, const char *const *choices, int count, const char *who,
             const char *option)
{
    PyObject *wanted = NULL;
    if (PyUnicode_Check(value)) {
        for (int i = 0; i < count; i++) {
            if (PyUnicode_CompareWithASCIIString(value, choices[i]) == 0) {
                return i;
            }
        }
    }
    wanted = PyUnicode_FromFormat("'%s'", choices[0]);
    for (int i = 1; i < count && wanted != NULL; i++) {
        Py_SETREF(wanted, PyUnicode_FromFormat("%U or '%s'", wanted, choices[i]));
    }
    if (wanted != NULL) {
        cwj_refuse(who, PyUnicode_Check(value) ? PyExc_ValueError : PyExc_TypeError,
                   "%s must be %U, not %R", option, wanted, value);
        Py_DECREF(wanted);
    }
    return -1;
}

static int
parse_bool(PyObject *value, const char *who, const char *option)
{
    if (!PyBool_Check(value)) {
        return cwj_refuse(who, PyExc_TypeError, "%s must be True or False, not %R", option, value);
    }
    return value == Py_True;
}

int
cwj_parse_optimize(PyObject *value, const char *who)
{
    static const char *const choices[] = {"auto", "off", "eager"}; /* as cwj_optimize */
    return parse_choice(value, choices, 3, who, "optimize");
}

int
cwj_parse_threads(PyObject *value, const char *who)
{
    static const char *const choices[] = {"auto"};
    if (PyUnicode_Check(value)) {
        return parse_choice(value, choices, 1, who, "threads, where it is text,");
    }
    if (PyBool_Check(value) || !PyIndex_Check(value)) {
        return cwj_refuse(who, PyExc_TypeError, "threads must be an int or 'auto', not %R", value);
    }
    Py_ssize_t threads = PyNumber_AsSsize_t(value, NULL); /* clipped when huge */
    if (threads == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (threads < 1 || threads > CWJ_MAX_THREADS) {
        return cwj_refuse(who, PyExc_ValueError, "threads must be 1 to %d or 'auto', not %R",
                          CWJ_MAX_THREADS, value);
    }
    return (int)threads;
}

/* ---- all options ------------------------------------------------------- */

static int
given(PyObject *value)
{
    return value != NULL && value != Py_None;
}

static int
update_bool(int *member, PyObject *value, const char *who, const char *option)
{
    if (given(value)) {
        *member = parse_bool(value, who, option);
    }
    return given(value) && *member < 0 ? -1 : 0;
}

static int
refuse_later(const char *who, const char *option)
{
    return cwj_refuse(who, PyExc_NotImplementedError, "%s does not work in this version yet",
                      option);
}

static int
refuse_what_comes_later(const cwj_options *options, const char *who)
{
    if (options->optimize == CWJ_OPTIMIZE_EAGER) {
        return refuse_later(who, "optimize='eager'");
    }
    if (options->fastmath == 1) {
        return refuse_later(who, "fastmath=True");
    }
    if (options->debug == 1) {
        return refuse_later(who, "debug=True");
    }
    if (options->threads == CWJ_THREADS_AUTO) {
        return refuse_later(who, "threads='auto'");
    }
    if (options->threads > 1) {
        char option[40];
        PyOS_snprintf(option, sizeof(option), "threads=%d", options->threads);
        return refuse_later(who, option);
    }
    return 0;
}

int
cwj_options_update(cwj_options *options, const cwj_option_values *values, const char *who)
{
    static const char *const casts[] = {"no", "safe"};
    static const char *const cookies[] = {"readwrite", "readonly"};
    if (given(values->optimize) &&
        (options->optimize = cwj_parse_optimize(values->optimize, who)) < 0) {
        return -1;
    }
    if (given(values->threads) &&
        (options->threads = cwj_parse_threads(values->threads, who)) < 0) {
        return -1;
    }
    if (given(values->cast) &&
        (options->cast_safe = parse_choice(values->cast, casts, 2, who, "cast")) < 0) {
        return -1;
    }
    if (given(values->cookie) &&
        (options->cookie_readonly = parse_choice(values->cookie, cookies, 2, who, "cookie")) < 0) {
        return -1;
    }
    if (update_bool(&options->fastmath, values->fastmath, who, "fastmath") < 0 ||
        update_bool(&options->debug, values->debug, who, "debug") < 0 ||
        update_bool(&options->unordered, values->unordered, who, "unordered") < 0 ||
        update_bool(&options->inplace, values->inplace, who, "inplace") < 0 ||
        update_bool(&options->gil, values->gil, who, "gil") < 0) {
        return -1;
    }
    return refuse_what_comes_later(options, who);
}

int
cwj_options_finish(cwj_options *options, cwj_module_state *state, const char *who)
{
    if (options->optimize == CWJ_UNSET &&
        (options->optimize = cwj_config_optimize(state->config)) < 0) {
        return -1;
    }
    if (options->threads == CWJ_UNSET &&
        (options->threads = cwj_config_threads(state->config)) < 0) {
        return -1;
    }
    return refuse_what_comes_later(options, who);
}
