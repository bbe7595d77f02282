/* ufunc.h: creates f.ufunc, a numpy.ufunc over the loops of a function. */
#pragma once

#include "function/spec.h"

struct cwj_function_object;

/* Returns the ufunc, created on first use: a new reference. NULL with AttributeError, which says why the function
 * cannot be a ufunc, or with another exception set. The ufunc holds the function. */
PyObject *cwj_function_ufunc(struct cwj_function_object *function);

/* Looks for a name by which the text reads whole arrays. *found: its prefix, or NULL; *operand: the operand that it
 * names; *hidden: macros may hide such a name. Returns 0, or -1 with MemoryError set. */
int cwj_find_full_geometry(const struct cwj_function_object *function, const char **found,
                           int *operand, bool *hidden);

/* Imports NumPy's ufunc API, when the extension module is created. Returns 0, or -1 with an exception set. */
int cwj_import_ufuncs(void);
