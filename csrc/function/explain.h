/* explain.h: declares f.explain(). */
#pragma once

#include "base/state.h"

struct cwj_function_object;

/* Returns an Explanation; None without a compiler; NULL with an exception set: RuntimeError or
 * CompileError if the compiler fails. */
PyObject *cwj_function_explain(struct cwj_function_object *function);

/* count_copy(function, name) counts an argument that a kernel copied for a call of this function. */
PyObject *cwj_count_copy(PyObject *extension, PyObject *args);
extern const char cwj_count_copy_doc[];
