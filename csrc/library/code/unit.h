/* unit.h: the C side of a library and the code compiled for it. */
#pragma once

#include "base/environment.h"

/* What library() makes of its arguments for C; Python has it in a capsule. */
typedef struct cwj_library_unit {
    cwj_environment *environment; /* owned */
    PyObject *name;               /* owned str */
    int debug;                    /* a cwj_debug */
    PyObject *who;                /* owned str: "library('gsl')", for messages */
} cwj_library_unit;

/* For PyArg_ParseTuple(), "O&": the unit in a capsule. */
int cwj_to_unit(PyObject *capsule, void *unit);
/* The environment of what a LibraryFunction keeps alive, (code, ...); NULL: none. Borrowed. */
cwj_environment *cwj_owner_environment(PyObject *owner);
/* For library.c: functions of the extension module, which cwrapjit.library alone calls. */
extern PyMethodDef cwj_unit_functions[], cwj_thunk_functions[];
