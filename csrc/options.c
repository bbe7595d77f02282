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
    options->threads_by_default = 0;
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

/* A number from 1 to most; `also` names what else the option may be. */
static int
parse_count(PyObject *value, int most, const char *who, const char *option, const char *also)
{
    if (PyBool_Check(value) || !PyIndex_Check(value)) {
        return cwj_refuse(who, PyExc_TypeError, "%s must be an int%s, not %R", option, also, value);
    }
    Py_ssize_t count = PyNumber_AsSsize_t(value, NULL); /* clipped when huge */
    if (count == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (count < 1 || count > most) {
        return cwj_refuse(who, PyExc_ValueError, "%s must be 1 to %d%s, not %R", option, most, also,
                          value);
    }
    return (int)count;
}

int
cwj_parse_threads(PyObject *value, const char *who)
{
    static const char *const choices[] = {"auto"};
    if (PyUnicode_Check(value)) {
        return parse_choice(value, choices, 1, who, "threads, where it is text,");
    }
    return parse_count(value, CWJ_MAX_THREADS, who, "threads", " or 'auto'");
}

int
cwj_parse_processes(PyObject *value, const char *who)
{
    return parse_count(value, CWJ_MAX_PROCESSES, who, "processes", "");
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
    if (options->debug == 1) {
        return refuse_later(who, "debug=True");
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
    if (options->threads == CWJ_UNSET) {
        options->threads = cwj_config_threads(state->config);
        options->threads_by_default = 1;
        if (options->threads < 0) {
            return -1;
        }
    }
    return refuse_what_comes_later(options, who);
}
