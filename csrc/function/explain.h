/* explain.h: declares f.explain(). */
#pragma once

#include "base/state.h"

struct cwj_function_object;

/* Returns an Explanation; None without a compiler; NULL with an exception set: RuntimeError or
 * CompileError if the compiler fails. */
PyObject *cwj_function_explain(struct cwj_function_object *function);
