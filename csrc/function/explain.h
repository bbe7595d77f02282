/* explain.h: f.explain(). */
#pragma once

#include "base/state.h"

struct cwj_function_object;

/* An Explanation; None without a compiler; NULL with an exception set, RuntimeError or CompileError
 * where the compiler fails. */
PyObject *cwj_function_explain(struct cwj_function_object *function);
