/* guarded.h: guards the functions of library(debug=True), with base/debug/fault.h. */
#pragma once

#include "library/tables/tables.h"

/* Makes a described function run its thunk under a guard. unit: the library's, in its capsule. Returns 0, or -1 with an
 * exception set. */
int cwj_library_guard_init(cwj_library_function *function, const cwj_module_state *state,
                           PyObject *unit);
