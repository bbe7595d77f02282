/* ufunc.h: f.ufunc, a numpy.ufunc over the loops of a function. */
#pragma once

#include "function/spec.h"

struct cwj_function_object;

/* What a definition specifies for reductions by the ufunc. Zeroed: nothing. */
typedef struct cwj_reduction {
    PyObject *identity;  /* owned; NULL: there is none */
    int associative;     /* operands may be grouped and ordered in any way */
} cwj_reduction;

/* Reads the arguments identity and associative of a definition. Returns 0, or -1 with TypeError
 * or ValueError set. */
int cwj_reduction_take(cwj_reduction *reduction, const cwj_spec *spec,
                       const cwj_arguments *arguments);

/* Returns the ufunc, created on first use; a new reference. NULL with AttributeError, which says
 * why the function cannot be a ufunc, or another exception. The ufunc holds the function. */
PyObject *cwj_function_ufunc(struct cwj_function_object *function);

/* The name by which the text may read the whole arrays of the caller: *found is how that begins, or NULL, *operand
 * whose it is; *hidden: macros may hide another. Returns 0, or -1 with MemoryError. */
int cwj_find_full_geometry(const struct cwj_function_object *function, const char **found,
                           int *operand, bool *hidden);

/* When the extension module is made: NumPy's API of ufuncs. Returns 0, or -1 with an exception. */
int cwj_import_ufuncs(void);
