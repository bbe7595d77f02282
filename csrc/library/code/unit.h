/* unit.h: declares the C side of a library and of the code compiled for it. */
#pragma once

#include "base/environment.h"
#include "library/tables/tables.h"

/* Made from the arguments of library(); Python holds it in a capsule. */
typedef struct cwj_library_unit {
    cwj_environment *environment; /* owned */
    PyObject *name;               /* owned str */
    int debug;                    /* a cwj_debug */
    PyObject *who;                /* owned str: "library('gsl')", for messages */
} cwj_library_unit;

/* For PyArg_ParseTuple(), "O&": the unit in a capsule. */
int cwj_to_unit(PyObject *capsule, void *unit);
/* The environment of a LibraryFunction's owner, code or (code, ...); NULL if it has none. Borrowed. */
cwj_environment *cwj_owner_environment(PyObject *owner);
/* guarded.c: makes a described function run its thunk under a guard, with debug=True. unit: the library's, in its
 * capsule. Returns 0, or -1 with an exception set. */
int cwj_library_guard_init(cwj_library_function *function, const cwj_module_state *state,
                           PyObject *unit);
/* Functions of the extension module that only cwrapjit.library calls. */
extern PyMethodDef cwj_unit_functions[], cwj_thunk_functions[];
