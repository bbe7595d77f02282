/* ready.h: the native half of the ready types and ops of graphs.
 *
 *     scalars.c      numbers: Python's to C's and back, where nothing is lost
 *     half.c         float16
 *     arrays.c       arrays: what is accepted, what may be overwritten
 *     capsule.c      C pointers that results own
 *     elementwise.c  broadcasting
 *     filters.c      what a call does to its arguments, as callables
 *     declared.c     the names in a type's declarations
 */
#ifndef CWJ_READY_H
#define CWJ_READY_H

#include "../state.h"

#include "../../cwrapjit/include/cwj_arrays.h"

/* The entry points of cwj_arrays.h and numpy/halffloat.h, for compiled code. */
extern const tj_symbol cwj_value_symbols[];
extern const size_t cwj_value_symbols_count;

float cwj_half_to_float(npy_half half);
double cwj_half_to_double(npy_half half);
npy_half cwj_float_to_half(float value);
npy_half cwj_double_to_half(double value);

/* How the type of a number is called in messages: "float64". */
const char *cwj_type_name(int type);

/* A numpy.ma.MaskedArray? */
bool cwj_is_masked(PyObject *array);

/* declared_names(who, text, name): a tuple of the variables that text declares, all of
 * them with name in their names. CompileError, ValueError. */
PyObject *cwj_declared_names(PyObject *extension, PyObject *args);

/* Adds the functions of filters.c and declared.c to the extension module. */
int cwj_add_filters(PyObject *extension);

#endif
