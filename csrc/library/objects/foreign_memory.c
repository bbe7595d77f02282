/* foreign_memory.c: arrays over memory that C made, and who keeps it alive.
 *
 * Memory of the caller's is kept by the array's base, as NumPy keeps the owner of a view.
 * Memory that C gave away is ended by a capsule, which is the base then.
 */
#include "library/objects/foreign_memory.h"

#include "library/objects/instance.h"

#include <stdint.h>

/* ---- arrays over somebody's memory ------------------------------------------------ */

/* Steps of dense memory, in C's or in Fortran's order. NumPy would work them out itself,
 * but only in C's order. Returns -1 where the array would be larger than memory. */
static int
dense_strides(int nd, const npy_intp *dims, bool fortran, npy_intp itemsize, npy_intp *strides)
{
    npy_intp step = itemsize;
    for (int k = 0; k < nd; k++) {
        int axis = fortran ? k : nd - 1 - k;
        strides[axis] = step;
        if (dims[axis] > 1 && __builtin_mul_overflow(step, dims[axis], &step)) {
            PyErr_SetString(PyExc_ValueError, "the array would be larger than memory");
            return -1;
        }
    }
    return 0;
}

PyObject *
cwj_array_view(PyArray_Descr *descr, int nd, const npy_intp *dims, const npy_intp *strides,
               void *data, bool writeable, PyObject *base)
{
    Py_INCREF(descr); /* taken over by the call */
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, descr, nd, dims, strides, data,
                                           writeable ? NPY_ARRAY_WRITEABLE : 0, NULL);
    if (array == NULL) {
        return NULL;
    }
    PyArray_UpdateFlags((PyArrayObject *)array,
                        NPY_ARRAY_ALIGNED | NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS);
    if (base == NULL) {
        return array;
    }
    if (PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(base)) < 0) {
        Py_DECREF(array);
        return NULL;
    }
    return array;
}

PyObject *
cwj_array_over(PyArray_Descr *descr, int nd, const npy_intp *dims, bool fortran, void *data,
               bool writeable, PyObject *base)
{
    npy_intp strides[NPY_MAXDIMS];
    if (dense_strides(nd, dims, fortran, PyDataType_ELSIZE(descr), strides) < 0) {
        return NULL;
    }
    return cwj_array_view(descr, nd, dims, strides, data, writeable, base);
}

/* ---- arrays that own what C allocated --------------------------------------------- */

typedef struct gift {
    void (*free)(void *);
    PyObject *code; /* owned, or NULL */
} gift;

static const char GIFT[] = "cwrapjit.memory";

static void
end_gift(PyObject *capsule)
{
    gift *given = PyCapsule_GetContext(capsule);
    given->free(PyCapsule_GetPointer(capsule, GIFT));
    Py_XDECREF(given->code);
    PyMem_Free(given);
}

/* A capsule that ends `data`. On failure it has been ended. */
static PyObject *
wrap_gift(void *data, void (*free)(void *), PyObject *code)
{
    gift *given = PyMem_Malloc(sizeof(*given));
    PyObject *capsule = given == NULL ? PyErr_NoMemory() : PyCapsule_New(data, GIFT, NULL);
    if (capsule == NULL) {
        PyMem_Free(given);
        free(data);
        return NULL;
    }
    given->free = free;
    given->code = Py_XNewRef(code);
    PyCapsule_SetContext(capsule, given);          /* neither of these fails for a sound */
    PyCapsule_SetDestructor(capsule, end_gift); /* capsule */
    return capsule;
}

PyObject *
cwj_array_around(const cwj_library_type *type, int ndim, const npy_intp *shape, bool fortran,
                 void *data, void (*free)(void *), PyObject *base, bool writeable)
{
    PyArray_Descr *descr = PyArray_DescrFromType(type->typenum);
    PyObject *owner = free == NULL ? Py_XNewRef(base) : wrap_gift(data, free, base);
    PyObject *array = NULL;
    if (descr != NULL && (owner != NULL || free == NULL)) {
        array = cwj_array_over(descr, ndim, shape, fortran, data, writeable, owner);
    }
    Py_XDECREF(descr);
    Py_XDECREF(owner);
    return array;
}
