/* unit.h: the C side of a library and the code compiled for it. */
#ifndef CWJ_LIBRARY_CODE_UNIT_H
#define CWJ_LIBRARY_CODE_UNIT_H

#include "base/environment.h"

/* What library() makes of its arguments for C. */
typedef struct cwj_library_unit {
    PyObject_HEAD
    cwj_environment *environment; /* owned */
    PyObject *name;               /* owned str */
    PyObject *who;                /* owned str: "library('gsl')", for messages */
} cwj_library_unit;

/* The environment of what a LibraryFunction keeps alive, (LibraryCode, ...); NULL: none. Borrowed. */
cwj_environment *cwj_owner_environment(const cwj_module_state *state, PyObject *owner);
/* For library.c: types, and functions of the extension module, which cwrapjit.library alone calls. */
extern PyType_Spec cwj_library_unit_spec, cwj_library_code_spec;
extern PyMethodDef cwj_unit_functions[], cwj_thunk_functions[];

#endif
