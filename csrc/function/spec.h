/* spec.h: the Python arguments of function() as a tj_spec. */
#pragma once

#include "base/arena.h"
#include "function/options.h"

#include "abi.h"

/* The arguments of function() behind its name. */
#define CWJ_POSITIONAL(X)   \
    X(docstring)            \
    X(args_input)           \
    X(prototype_input)      \
    X(prototype_output)     \
    X(Ccode_slice_eval)     \
    X(Ccode_validate)       \
    X(Ccode_cookie_struct)  \
    X(Ccode_cookie_cleanup) \
    X(extra_args)
#define CWJ_BY_KEYWORD(X) \
    X(signature)          \
    X(args_inout)         \
    X(output_dims)        \
    X(args_shared)        \
    X(windows)            \
    X(border)             \
    X(cval)               \
    X(axes)               \
    X(window_steps)       \
    X(identity)           \
    X(associative)        \
    X(c_function)

/* All of them, borrowed; NULL: not given. */
typedef struct cwj_arguments {
    PyObject *name;
#define CWJ_MEMBER(name) PyObject *name;
    CWJ_POSITIONAL(CWJ_MEMBER)
    CWJ_BY_KEYWORD(CWJ_MEMBER)
#undef CWJ_MEMBER
    cwj_option_values options;
} cwj_arguments;

/* A checked description and everything that it points to. Lives as long as
 * its function: m.write() and other tiers read it again. */
typedef struct cwj_spec {
    tj_spec tj;             /* points into the others */
    cwj_arena arena;        /* arrays, file names */
    PyObject *texts;        /* owned list of the str objects whose UTF-8 is borrowed */
    PyObject *tuples;       /* owned list of tuples that are being read; NULL: all is read */
    PyObject *records;      /* owned: the structs of dtypes while they are read; NULL: none */
    tj_signature signature; /* names and dims, when a signature string gave them */
    const char *qualname;   /* "innerlib.inner" */
    const char *who;        /* "innerlib.inner()", how messages begin */
} cwj_spec;

/* module is NULL for a function without module. Returns NULL with TypeError,
 * ValueError, NotImplementedError or CompileError set. */
cwj_spec *cwj_spec_new(PyObject *module, PyObject *header, const cwj_arguments *arguments);
void cwj_spec_free(cwj_spec *spec); /* accepts NULL */

/* After compiling: do the parse codes of extra arguments fit their C types? Returns 0, or -1
 * with ValueError set. */
int cwj_check_extras(const cwj_spec *spec, const cwj_function_decl *decl);
