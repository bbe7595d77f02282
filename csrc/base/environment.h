/* environment.h: the C environment that the functions of a module share. */
#pragma once

#include "base/state.h"

/* The arguments of module() that concern C: a header, and these lists. */
#define CWJ_BUILD_LISTS(X) \
    X(sources)             \
    X(include_dirs)        \
    X(define_macros)       \
    X(libraries)           \
    X(library_dirs)

/* Owned references; lists hold the str or PathLike objects as passed. NULL, None: missing. */
typedef struct cwj_build {
    PyObject *header;
    PyObject *text; /* a library's source=: C text instead of sources; borrowed str */
    const char *text_file; /* the file name of text in messages; borrowed */
    PyObject *math; /* the option, for sources and text; borrowed */
    int interruptible; /* a library's: the libraries' code may be left (leave.h) */
#define CWJ_MEMBER(name) PyObject *name;
    CWJ_BUILD_LISTS(CWJ_MEMBER)
#undef CWJ_MEMBER
} cwj_build;

/* Moves these arguments out of a dict of keywords. Returns 0, or -1 with an exception set. */
int cwj_build_pop(cwj_build *build, PyObject *kwargs);
void cwj_build_clear(cwj_build *build);

/* Libraries and compiled sources, shared by a module and its functions. The GIL guards the reference count. */
typedef struct cwj_environment {
    Py_ssize_t references;
    tj_environment *tj;   /* owned */
    PyObject *header;     /* owned str: C text that functions see */
    PyObject *build_args; /* owned: CWJ_BUILD_LISTS as tuples of str, for m.write()'s comment */
    PyObject *described;  /* owned: (header, build_args), for pickles; NULL: not needed yet */
    PyObject *header_file; /* owned str: file name of a library's header in messages; NULL: a
                              module (its functions name it) */
    tj_job **checks;       /* owned: nchecks of them; see diagnosis.h */
    int nchecks;
    bool checks_begun, checks_told;
} cwj_environment;

/* Compiles the sources without the GIL. Messages start with `who`. Returns NULL with an exception set on error. */
cwj_environment *cwj_environment_new(cwj_module_state *state, const cwj_build *build,
                                     const char *who);
cwj_environment *cwj_environment_ref(cwj_environment *environment);
void cwj_environment_unref(cwj_environment *environment); /* accepts NULL */

/* Finds libraries, for tj_environment_options. Returns a new tuple of bytes, or NULL with an
 * exception set. Names and folders are iterables of str. */
PyObject *cwj_find_libraries(const char *who, PyObject *names, PyObject *dirs);
/* Returns a NULL-terminated array of the texts in a tuple of bytes, which owns them; free it with
 * PyMem_Free. NULL with an exception set on error. */
const char **cwj_texts_in(PyObject *tuple);

/* Loads libtcc unless it is loaded. Returns 0, or -1 with an exception set. */
int cwj_backend_open(cwj_module_state *state);
