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

/* Defines the functions of an option whose values are names. */
#define CHOICES(option, ...)                                                 \
    static const char *const option##_names[] = {__VA_ARGS__};               \
    int cwj_parse_##option(PyObject *value, const char *who)                 \
    {                                                                        \
        int count = (int)(sizeof(option##_names) / sizeof(*option##_names)); \
        return cwj_parse_choice(value, option##_names, count, who, #option); \
    }                                                                        \
    PyObject *cwj_##option##_value(int value)                                \
    {                                                                        \
        return PyUnicode_FromString(option##_names[value]);                  \
    }
CHOICES(optimize, [CWJ_OPTIMIZE_AUTO] = "auto", [CWJ_OPTIMIZE_OFF] = "off",
        [CWJ_OPTIMIZE_EAGER] = "eager")
CHOICES(cast, "no", "safe", "same_kind")
CHOICES(math, [CWJ_MATH_OURS] = "cwrapjit", [CWJ_MATH_LIBM] = "libm")
CHOICES(copies, "allow", "warn")
CHOICES(cookie, "readwrite", "readonly")

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
cwj_threads_value(int threads)
{
    return threads == CWJ_THREADS_AUTO ? PyUnicode_FromString("auto") : PyLong_FromLong(threads);
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
