/* spec.h: the Python arguments of function() as a tj_spec. */
#ifndef CWJ_SPEC_H
#define CWJ_SPEC_H

#include "arena.h"
#include "options.h"

/* The arguments of function(), borrowed; NULL: not given. */
typedef struct cwj_arguments {
    PyObject *name;
    PyObject *docstring;
    PyObject *args_input;
    PyObject *prototype_input;
    PyObject *prototype_output;
    PyObject *slice_eval;
    PyObject *validate;
    PyObject *cookie_struct;
    PyObject *cookie_cleanup;
    PyObject *extra_args;
    PyObject *signature;
    PyObject *args_inout;
    cwj_option_values options;
} cwj_arguments;

/* A checked description and everything that it points to. Lives as long as
 * its function: m.write() and other tiers read it again. */
typedef struct cwj_spec {
    tj_spec tj;             /* points into the others */
    cwj_arena arena;        /* arrays, file names */
    PyObject *texts;        /* owned list of the str objects whose UTF-8 is borrowed */
    tj_signature signature; /* names and dims, when a signature string gave them */
    const char *qualname;   /* "innerlib.inner" */
    const char *who;        /* "innerlib.inner()", how messages begin */
} cwj_spec;

/* module is NULL for a function without module. Returns NULL with TypeError,
 * ValueError, NotImplementedError or CompileError set. */
cwj_spec *cwj_spec_new(const cwj_module_state *state, PyObject *module, PyObject *header,
                       const cwj_arguments *arguments, const cwj_options *options);
void cwj_spec_free(cwj_spec *spec); /* accepts NULL */

/* True when text is an identifier that Python code may use as a name. */
int cwj_is_name(PyObject *text);

#endif
