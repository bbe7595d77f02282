/* options.h: the options that module() and function() share.
 *
 * A function's own value takes precedence over its module's, and that over the process' default
 * (cwrapjit.config and the environment variables).
 */
#pragma once

#include "base/choices.h"

/* X(name, member, parse, show): the option's name, its member of cwj_options, and what converts values both ways. */
#define CWJ_OPTIONS(X)                                                                  \
    X(optimize, optimize, cwj_parse_optimize, cwj_optimize_value) /* a cwj_optimize */  \
    X(threads, threads, cwj_parse_threads, cwj_threads_value) /* or CWJ_THREADS_AUTO */ \
    X(cast, cast, cwj_parse_cast, cwj_cast_value)                                       \
    X(copies, warns, cwj_parse_copies, cwj_copies_value)                                \
    X(cookie, cookie_readonly, cwj_parse_cookie, cwj_cookie_value)                      \
    X(fastmath, fastmath, parse_fastmath, PyBool_FromLong)                              \
    X(math, math, cwj_parse_math, cwj_math_value)                                       \
    X(debug, debug, cwj_parse_debug, cwj_debug_value)                                   \
    X(unordered, unordered, parse_unordered, PyBool_FromLong)                           \
    X(inplace, inplace, parse_inplace, PyBool_FromLong)                                 \
    X(gil, gil, parse_gil, PyBool_FromLong) /* unset: kept where a snippet needs it */

/* The same for docstrings. */
#define CWJ_OPTIONS_DOC                                                    \
    "optimize=None, fastmath=None, math=None, debug=None, threads=None,\n" \
    "         unordered=None, inplace=None, gil=None, cast=None, copies=None, cookie=None"

/* Each member is CWJ_UNSET until it is set. */
enum {
    CWJ_UNSET = -1
};

typedef struct cwj_options {
#define CWJ_MEMBER(name, member, ...) int member;
    CWJ_OPTIONS(CWJ_MEMBER)
#undef CWJ_MEMBER
    int threads_by_default; /* threads= is the process' default */
    int checks; /* debug: the system's compiler only checks the text */
} cwj_options;

/* The options that a call passes, borrowed; NULL or None: missing. */
typedef struct cwj_option_values {
#define CWJ_MEMBER(name, ...) PyObject *name;
    CWJ_OPTIONS(CWJ_MEMBER)
#undef CWJ_MEMBER
} cwj_option_values;

void cwj_options_init(cwj_options *options);
/* Parses the passed values into options. Messages start with `who`. Returns 0, or -1 with TypeError or ValueError. */
int cwj_options_update(cwj_options *options, const cwj_option_values *values, const char *who);
/* After a failed parse: if kwargs have a name that `names`, which end with NULL, lack, raises the TypeError of all front
 * ends for that. Returns -1. */
int cwj_options_refuse(const char *who, PyObject *kwargs, char *const *names);
/* Returns the options that were set, as function() takes them: a new dict, or NULL with an exception set. */
PyObject *cwj_options_describe(const cwj_options *options);
/* Fills in the process' defaults, which are checked like other values, and turns off options that debug excludes. */
int cwj_options_finish(cwj_options *options, cwj_module_state *state);
