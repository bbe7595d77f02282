/* spec.h: converts the Python arguments of function() to a tj_spec. */
#pragma once

#include "base/arena.h"
#include "function/options.h"

#include "abi.h"

/* The arguments of function() after its name. */
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

/* The same for docstrings, with the options. */
#define CWJ_POSITIONAL_DOC                                                          \
    "docstring='', args_input=(), prototype_input=(), prototype_output=...,\n"      \
    "         Ccode_slice_eval=..., Ccode_validate=None, Ccode_cookie_struct='',\n" \
    "         Ccode_cookie_cleanup='', extra_args=()"
#define CWJ_BY_KEYWORD_DOC                                                           \
    "signature=None, args_inout=(), args_shared=(), output_dims=None,\n"             \
    "         windows=None, border=None, cval=None, axes=None, window_steps=None,\n" \
    "         " CWJ_OPTIONS_DOC ",\n"                                                \
    "         identity=None, associative=None, c_function=None"

/* All arguments, borrowed; NULL: missing. */
typedef struct cwj_arguments {
    PyObject *name;
#define CWJ_MEMBER(name) PyObject *name;
    CWJ_POSITIONAL(CWJ_MEMBER)
    CWJ_BY_KEYWORD(CWJ_MEMBER)
#undef CWJ_MEMBER
    cwj_option_values options;
} cwj_arguments;

/* A checked description and all that it points to. It lives as long as its function: m.write() and tiers read it. */
typedef struct cwj_spec {
    tj_spec tj;             /* points into the other members */
    cwj_arena arena;        /* arrays, file names */
    PyObject *texts;        /* owned list of the str objects whose UTF-8 is borrowed */
    PyObject *read;         /* owned: what cwrapjit/_arguments.py returned */
    PyObject *sets;         /* its type sets, borrowed */
    PyObject *windows;      /* its windows, borrowed */
    PyObject *identity;     /* of reductions: a number, or None; borrowed */
    int associative;        /* operands of reductions may be grouped and ordered in any way */
    PyObject *c_function;   /* None, or a function's name and its types: borrowed */
    const char *qualname;   /* "innerlib.inner" */
    const char *who;        /* "innerlib.inner()", the start of messages */
} cwj_spec;

/* module: NULL for a function without a module. Returns NULL with an exception set on failure. */
cwj_spec *cwj_spec_new(PyObject *module, PyObject *header, const cwj_arguments *arguments);
void cwj_spec_free(cwj_spec *spec); /* accepts NULL */

/* Call after compiling: checks that the parse codes of extra arguments fit their C types. Returns
 * 0, or -1 with ValueError set. */
int cwj_check_extras(const cwj_spec *spec, const cwj_function_decl *decl);
