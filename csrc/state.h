/* state.h: what the extension module knows, one per interpreter. */
#ifndef CWJ_STATE_H
#define CWJ_STATE_H

#include "api.h"

typedef struct cwj_module_state {
    PyTypeObject *module_type;   /* cwrapjit.module */
    PyTypeObject *function_type; /* cwrapjit.Function */
    PyTypeObject *graph_type;    /* cwrapjit.Graph */
    PyTypeObject *bound_type;    /* cwrapjit.BoundGraph */
    PyTypeObject *library_unit_type;     /* what library() makes of its arguments for C */
    PyTypeObject *library_code_type;     /* compiled thunks */
    PyTypeObject *library_function_type; /* cwrapjit.LibraryFunction */
    PyTypeObject *instance_type;         /* cwrapjit.Instance */
    PyTypeObject *config_type;   /* cwrapjit.Config */
    PyObject *config;            /* cwrapjit.config, the one instance */
    PyObject *compile_error;     /* cwrapjit.CompileError */
    PyObject *compile_warning;   /* cwrapjit.CompileWarning */
    bool backend_open;           /* libtcc is loaded */
    tj_compiler compiler;        /* owned: see compiler.h; no words: there is none */
    PyObject *compiler_key;      /* what it was chosen by; NULL: not looked yet */
    PyObject *compiler_problem;  /* str: why there is none, or NULL */
    PyObject *filter_names;      /* ("strict", "allow_downcast") */
    PyObject *graph_cache;       /* dict: see graph/cache.c; NULL: nothing kept yet */
    unsigned long long compiled_graphs; /* units of graphs compiled so far */
} cwj_module_state;

/* The state behind an instance of one of our types, none of which has
 * subclasses. */
static inline cwj_module_state *
cwj_state_of(PyObject *instance)
{
    return PyType_GetModuleState(Py_TYPE(instance));
}

/* Each returns 0 after adding its type to the extension module, or -1 with an
 * exception set. */
int cwj_add_module_type(PyObject *extension, cwj_module_state *state);
int cwj_add_function_type(PyObject *extension, cwj_module_state *state);
int cwj_add_graph_types(PyObject *extension, cwj_module_state *state);
int cwj_add_library_types(PyObject *extension, cwj_module_state *state);
int cwj_add_instance_types(PyObject *extension, cwj_module_state *state);
int cwj_add_config(PyObject *extension, cwj_module_state *state);
int cwj_add_errors(PyObject *extension, cwj_module_state *state);

#endif
