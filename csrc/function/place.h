/* place.h: finds the user's line of an instruction in a function's compiled code. */
#pragma once

#include "function/function.h"

/* Creates the lines of the function's unit and of its environment's sources (base/debug/fault.h); *lines stays NULL if
 * they are unknown. Compiles the text once more. Returns 0, or -1 with MemoryError. */
int cwj_function_lines(const cwj_function_object *function, tj_lines **lines);

/* Returns the function that maps generated lines to the user's, stored as `_place` by Python code; or NULL.
 * Borrowed. */
PyObject *cwj_function_as_user(const cwj_function_object *function);

/* The value of cwj_runtime.left. */
void cwj_function_left(cwj_runtime *runtime);
