/* choices.c: parses values of options (choices.h). */
#include "base/choices.h"

#include "base/errors.h"

int
cwj_parse_choice(PyObject *value, const char *const *choices, int count, const char *who,
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

int
cwj_parse_bool(PyObject *value, const char *who, const char *option)
{
    if (!PyBool_Check(value)) {
        return cwj_refuse(who, PyExc_TypeError, "%s must be True or False, not %R", option, value);
    }
    return value == Py_True;
}

static const char *const optimize_names[] = {
    [CWJ_OPTIMIZE_AUTO] = "auto", [CWJ_OPTIMIZE_OFF] = "off", [CWJ_OPTIMIZE_EAGER] = "eager"};

int
cwj_parse_optimize(PyObject *value, const char *who)
{
    return cwj_parse_choice(value, optimize_names, 3, who, "optimize");
}

const char *
cwj_optimize_name(int optimize)
{
    return optimize_names[optimize];
}

static const char *const cast_names[] = {"no", "safe", "same_kind"};

int
cwj_parse_cast(PyObject *value, const char *who)
{
    return cwj_parse_choice(value, cast_names, 3, who, "cast");
}

const char *
cwj_cast_name(int cast)
{
    return cast_names[cast];
}

static const char *const math_names[] = {[CWJ_MATH_OURS] = "cwrapjit", [CWJ_MATH_LIBM] = "libm"};

int
cwj_parse_math(PyObject *value, const char *who)
{
    return cwj_parse_choice(value, math_names, 2, who, "math");
}

const char *
cwj_math_name(int math)
{
    return math_names[math];
}

static const char *const copies_names[] = {"allow", "warn"};

int
cwj_parse_copies(PyObject *value, const char *who)
{
    return cwj_parse_choice(value, copies_names, 2, who, "copies");
}

const char *
cwj_copies_name(int warns)
{
    return copies_names[warns];
}

/* Parses a number from least to most; `also` names the other values of the option for messages. */
static int
parse_count(PyObject *value, int least, int most, const char *who, const char *option,
            const char *also)
{
    if (PyBool_Check(value) || !PyIndex_Check(value)) {
        return cwj_refuse(who, PyExc_TypeError, "%s must be an int%s, not %R", option, also, value);
    }
    Py_ssize_t count = PyNumber_AsSsize_t(value, NULL); /* clipped when huge */
    if (count == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (count < least || count > most) {
        return cwj_refuse(who, PyExc_ValueError, "%s must be %d to %d%s, not %R", option, least,
                          most, also, value);
    }
    return (int)count;
}

int
cwj_parse_debug(PyObject *value, const char *who)
{
    if (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, "left") == 0) {
        return CWJ_DEBUG_LEFT;
    }
    if (!PyBool_Check(value)) {
        return cwj_refuse(who, PyUnicode_Check(value) ? PyExc_ValueError : PyExc_TypeError,
                          "debug must be True, False or 'left', not %R", value);
    }
    return value == Py_True ? CWJ_DEBUG_ON : CWJ_DEBUG_OFF;
}

PyObject *
cwj_debug_value(int debug)
{
    return debug == CWJ_DEBUG_LEFT ? PyUnicode_FromString("left") : PyBool_FromLong(debug);
}

int
cwj_parse_threads(PyObject *value, const char *who)
{
    static const char *const choices[] = {"auto"};
    if (PyUnicode_Check(value)) {
        return cwj_parse_choice(value, choices, 1, who, "threads, where it is text,");
    }
    return parse_count(value, 1, CWJ_MAX_THREADS, who, "threads", " or 'auto'");
}

int
cwj_parse_processes(PyObject *value, const char *who)
{
    return parse_count(value, 1, CWJ_MAX_PROCESSES, who, "processes", "");
}

int
cwj_parse_compile_memory(PyObject *value, const char *who)
{
    return parse_count(value, (int)TJ_LEAST_COMPILE_MEMORY, (int)TJ_MOST_COMPILE_MEMORY, who,
                       "compile_memory, in bytes,", "");
}
