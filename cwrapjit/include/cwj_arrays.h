/* cwj_arrays.h: what the built-in types and ops of graphs call.
 *
 * Conversions of numbers and arrays, and the walk over broadcast arrays, do not
 * depend on the graph: they are ordinary code in the extension, and generated
 * text holds little more than calls. An op of your own may use them too.
 *
 * `type` is a NumPy type number, NPY_DOUBLE. Functions that return int return 0,
 * or -1 with an exception.
 */
#ifndef CWJ_ARRAYS_H
#define CWJ_ARRAYS_H

typedef struct tagPyArrayObject PyArrayObject;

/* Stores a Python number, a NumPy scalar or a 0-d array as a C number. TypeError
 * where it is of another kind, OverflowError for an int that the type does not have. */
int cwj_scalar_read(PyObject *object, int type, void *value);
/* float, int and bool for NPY_DOUBLE, NPY_LONG and NPY_BOOL; NumPy scalars else.
 * A new reference, or NULL. */
PyObject *cwj_scalar_make(int type, const void *value);

/* Is it an aligned array of that type and rank, in native byte order? */
int cwj_array_check(PyObject *object, int type, int ndim);
/* Makes *array an array that may be written, with that shape: the one that is
 * there when nobody but this graph holds it, else a new one. py is the py_NAME of
 * the variable. *array is NULL or owned, as after c_init or c_extract_out. */
int cwj_array_prepare(PyArrayObject **array, PyObject *py, int type, int ndim, const npy_intp *dims,
                      int fortran);
/* Makes *array a copy of from, under the same rules. */
int cwj_array_copy(PyArrayObject **array, PyObject *py, PyArrayObject *from);
/* Makes *array the shape of an array, or of any object with an attribute `shape`. */
int cwj_array_shape(PyArrayObject **array, PyObject *py, PyObject *from);

/* A capsule that calls free_pointer(pointer) at its end; free_pointer may be NULL. */
PyObject *cwj_capsule_new(void *pointer, void (*free_pointer)(void *));

/* The inner loop of an elementwise op: n elements, at[0] is the result, at[k]
 * operand k, steps in bytes. */
typedef void cwj_inner(npy_intp n, char *const *at, const npy_intp *steps,
                       const void *const *scalars);

/* Broadcasts the operands, prepares *result (as cwj_array_prepare) and calls inner
 * along the longest runs. ValueError when the shapes do not fit: `what` names the
 * op, names[k] operand k. */
int cwj_elementwise(const char *what, int noperands, PyArrayObject *const *operands,
                    const char *const *names, PyArrayObject **result, PyObject *py, int type,
                    cwj_inner *inner, const void *const *scalars);

#endif
