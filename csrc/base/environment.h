/* environment.h: what the functions of a module share on the C side. */
#pragma once

#include "base/state.h"

/* The arguments of module() that concern C: a header, and these lists. */
#define CWJ_BUILD_LISTS(X) \
    X(sources)             \
    X(include_dirs)        \
    X(define_macros)       \
    X(libraries)           \
    X(library_dirs)

/* Owned references; lists hold str or PathLike objects as they were given. NULL, None: not given. */
typedef struct cwj_build {
    PyObject *header;
    PyObject *text; /* a library's source=: C text in the place of sources; borrowed str */
    const char *text_file; /* what messages call it; borrowed */
#define CWJ_MEMBER(name) PyObject *name;
    CWJ_BUILD_LISTS(CWJ_MEMBER)
#undef CWJ_MEMBER
} cwj_build;

/* Moves those arguments out of a dict of keywords. Returns 0, or -1. */
int cwj_build_pop(cwj_build *build, PyObject *kwargs);
void cwj_build_clear(cwj_build *build);

/* Libraries and compiled sources. Shared by a module and its functions, which
 * may outlive it; the count is guarded by the GIL. */
typedef struct cwj_environment {
    Py_ssize_t references;
    tj_environment *tj;   /* owned */
    PyObject *header;     /* owned str: C text that functions see */
    PyObject *build_args; /* owned: CWJ_BUILD_LISTS as tuples of str, for m.write()'s comment */
    PyObject *described;  /* owned: (header, build_args), for pickles; NULL: nobody asked */
    PyObject *header_file; /* owned str: what messages call a library's header; NULL: a module's,
                              which its functions see to */
    tj_job **checks;       /* owned: nchecks of them; see diagnosis.h */
    int nchecks;
    bool checks_begun, checks_told;
} cwj_environment;

/* Compiles the sources without the GIL. `who` begins messages. Returns NULL
 * with an exception set. */
cwj_environment *cwj_environment_new(cwj_module_state *state, const cwj_build *build,
                                     const char *who);
cwj_environment *cwj_environment_ref(cwj_environment *environment);
void cwj_environment_unref(cwj_environment *environment); /* accepts NULL */

/* Where libraries are, for tj_environment_options: a new tuple of bytes, or NULL with an
 * exception set. Names and folders are iterables of str. */
PyObject *cwj_find_libraries(const char *who, PyObject *names, PyObject *dirs);
/* A NULL-terminated array of the texts in a tuple of bytes, which keeps them; owned (PyMem_Free),
 * or NULL with an exception set. */
const char **cwj_texts_in(PyObject *tuple);

/* Loads libtcc unless it is loaded. Returns 0, or -1 with an exception set. */
int cwj_backend_open(cwj_module_state *state);
