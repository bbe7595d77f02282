/* cwj_arrays.h: functions that the built-in types and ops of graphs call.
 *
 * They convert numbers and arrays and loop over broadcast arrays. They do not depend on the graph, so they are compiled
 * into the extension, and generated text mostly calls them. Users' ops may call them, too.
 *
 * `type` is a NumPy type number such as NPY_DOUBLE. Functions that return int return 0, or -1 with an exception set. */
#ifndef CWJ_ARRAYS_H
#define CWJ_ARRAYS_H

typedef struct tagPyArrayObject PyArrayObject;

/* Stores a Python number, a NumPy scalar or a 0-d array as a C number. Raises TypeError for another kind of number,
 * OverflowError for an int that is out of range. */
int cwj_scalar_read(PyObject *object, int type, void *value);
/* Returns a new reference to a float, int or bool for NPY_DOUBLE, NPY_LONG and NPY_BOOL, else to a NumPy scalar; or
 * NULL. */
PyObject *cwj_scalar_make(int type, const void *value);

/* Checks that the object is an aligned array of that type and rank, in native byte order. */
int cwj_array_check(PyObject *object, int type, int ndim);
/* Makes *array a writable array of that shape: keeps the present one if only this graph holds it, else makes a new one.
 * py is the variable's py_NAME. *array is NULL or an owned reference, as after c_init or c_extract_out. */
int cwj_array_prepare(PyArrayObject **array, PyObject *py, int type, int ndim, const npy_intp *dims,
                      int fortran);
/* Makes *array a copy of `from`, by the same rules. */
int cwj_array_copy(PyArrayObject **array, PyObject *py, PyArrayObject *from);
/* Stores in *array the shape of an array, or of any object with an attribute `shape`, by the same rules. */
int cwj_array_shape(PyArrayObject **array, PyObject *py, PyObject *from);

/* Returns a new capsule that calls free_pointer(pointer) when it is deallocated; free_pointer may be NULL. */
PyObject *cwj_capsule_new(void *pointer, void (*free_pointer)(void *));

/* The inner loop of an elementwise op over n elements. at[0] is the result, at[k] operand k; steps are in bytes. */
typedef void cwj_inner(npy_intp n, char *const *at, const npy_intp *steps,
                       const void *const *scalars);

/* Broadcasts the operands, prepares *result (as cwj_array_prepare) and calls inner along the longest runs. Raises
 * ValueError if the shapes do not broadcast: `what` names the op, names[k] operand k. The operands follow
 * operands[0], which is room for the result. */
int cwj_elementwise(const char *what, int noperands, PyArrayObject **operands,
                    const char *const *names, PyArrayObject **result, PyObject *py, int type,
                    cwj_inner *inner, const void *const *scalars);

#endif
