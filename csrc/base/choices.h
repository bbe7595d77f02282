/* choices.h: parses values of options for cwrapjit.config and the front ends. */
#pragma once

#include "base/state.h"

#include "abi.h"

/* Returns true if an optional argument was passed; None counts as missing. */
static inline bool
cwj_given(PyObject *value)
{
    return value != NULL && value != Py_None;
}

/* For a list X(name, ...): the names and the format letters that PyArg_ParseTupleAndKeywords() takes. */
#define CWJ_NAME(name, ...) #name,
#define CWJ_LETTER(...) "O"

typedef enum cwj_optimize {
    CWJ_OPTIMIZE_AUTO,
    CWJ_OPTIMIZE_OFF,
    CWJ_OPTIMIZE_EAGER
} cwj_optimize;

typedef enum cwj_math {
    CWJ_MATH_OURS,
    CWJ_MATH_LIBM
} cwj_math;

typedef enum cwj_debug {
    CWJ_DEBUG_OFF,
    CWJ_DEBUG_ON,
    CWJ_DEBUG_LEFT /* copies of inputs start right after protected memory */
} cwj_debug;

enum {
    CWJ_MAX_THREADS = 1024,
    CWJ_MAX_PROCESSES = 64 /* compilers at the same time */
}; /* CWJ_THREADS_AUTO is in abi.h */

/* All of these start messages with `who`, and return the value, or -1 with TypeError or ValueError. */

/* Returns the index of value in choices[0..count-1]. */
int cwj_parse_choice(PyObject *value, const char *const *choices, int count, const char *who,
                     const char *option);
int cwj_parse_bool(PyObject *value, const char *who, const char *option);

/* Each option's values as a C number, and back as a Python value: a new reference. */
int cwj_parse_optimize(PyObject *value, const char *who); /* a cwj_optimize */
PyObject *cwj_optimize_value(int optimize);
int cwj_parse_cast(PyObject *value, const char *who);
PyObject *cwj_cast_value(int cast);
int cwj_parse_math(PyObject *value, const char *who); /* a cwj_math */
PyObject *cwj_math_value(int math);
int cwj_parse_copies(PyObject *value, const char *who); /* 1: warn */
PyObject *cwj_copies_value(int warns);
int cwj_parse_cookie(PyObject *value, const char *who); /* 1: readonly */
PyObject *cwj_cookie_value(int readonly);
int cwj_parse_debug(PyObject *value, const char *who); /* a cwj_debug */
PyObject *cwj_debug_value(int debug);
int cwj_parse_threads(PyObject *value, const char *who); /* or CWJ_THREADS_AUTO */
PyObject *cwj_threads_value(int threads);
int cwj_parse_processes(PyObject *value, const char *who);
int cwj_parse_compile_memory(PyObject *value, const char *who);
