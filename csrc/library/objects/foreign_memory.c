/* foreign_memory.c: makes arrays over C's memory, which keep it alive. The base of an array keeps memory that has an
 * owner, as in NumPy's views. If C gave the memory away, the base is a capsule that frees it. */
#include "library/objects/foreign_memory.h"

#include "library/objects/instance.h"

PyObject *
cwj_array_over(PyArray_Descr *descr, int nd, const npy_intp *dims, const npy_intp *strides,
               bool fortran, void *data, bool writeable, PyObject *base)
{
    int flags = (writeable ? NPY_ARRAY_WRITEABLE : 0) |
                (fortran ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS);
    Py_INCREF(descr); /* stolen by the call */
    PyObject *array =
        PyArray_NewFromDescr(&PyArray_Type, descr, nd, dims, strides, data, flags, NULL);
    if (array == NULL) {
        return NULL;
    }
    PyArray_UpdateFlags((PyArrayObject *)array,
                        NPY_ARRAY_ALIGNED | NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS);
    if (base != NULL && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(base)) < 0) {
        Py_CLEAR(array);
    }
    return array;
}
