/* options.h: the options that module() and function() share.
 *
 * A function's own value goes before its module's, the module's before the
 * process' (cwrapjit.config and the environment variables).
 */
#ifndef CWJ_OPTIONS_H
#define CWJ_OPTIONS_H

#include "state.h"

#include "call.h"

/* Each member is CWJ_UNSET until somebody chooses. */
enum {
    CWJ_UNSET = -1
};

typedef struct cwj_options {
    int optimize; /* a cwj_optimize */
    int threads;  /* a number, or CWJ_THREADS_AUTO */
    int threads_by_default; /* nobody chose them for this function or its module */
    int fastmath;
    int debug;
    int unordered;
    int inplace;
    int gil; /* unset: kept where a snippet needs it */
    int cast_safe;
    int cookie_readonly;
} cwj_options;

typedef enum cwj_optimize {
    CWJ_OPTIMIZE_AUTO,
    CWJ_OPTIMIZE_OFF,
    CWJ_OPTIMIZE_EAGER
} cwj_optimize;

enum {
    CWJ_MAX_THREADS = 1024,
    CWJ_MAX_PROCESSES = 64 /* compilers at a time */
}; /* CWJ_THREADS_AUTO is in abi.h */

/* The options as a call gives them, borrowed; NULL or None: not given. In the
 * order of CWJ_OPTION_NAMES. */
typedef struct cwj_option_values {
    PyObject *optimize, *fastmath, *debug, *threads, *unordered, *inplace, *gil, *cast, *cookie;
} cwj_option_values;

#define CWJ_OPTION_NAMES \
    "optimize", "fastmath", "debug", "threads", "unordered", "inplace", "gil", "cast", "cookie"
#define CWJ_OPTION_FORMAT "OOOOOOOOO"
#define CWJ_OPTION_TARGETS(v)                                                             \
    &(v).optimize, &(v).fastmath, &(v).debug, &(v).threads, &(v).unordered, &(v).inplace, \
        &(v).gil, &(v).cast, &(v).cookie

void cwj_options_init(cwj_options *options);
/* Takes what is given over into options. `who` begins messages. Returns 0,
 * or -1 with TypeError or ValueError, or NotImplementedError for what comes
 * later. */
int cwj_options_update(cwj_options *options, const cwj_option_values *values, const char *who);
/* Fills in the process' defaults, which are refused like any other value. */
int cwj_options_finish(cwj_options *options, cwj_module_state *state, const char *who);

/* One value each; the result, or -1 with an exception set. */
int cwj_parse_optimize(PyObject *value, const char *who);
int cwj_parse_threads(PyObject *value, const char *who);
int cwj_parse_processes(PyObject *value, const char *who);

#endif
