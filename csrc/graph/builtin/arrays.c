/* arrays.c: checks arrays that are values of graphs, and makes arrays for results.
 *
 * An array is accepted as it is or refused, never copied. The next run reuses a result's array only if its reference
 * count shows that only the graph holds it: its variable holds a temporary; its variable, its py_ and its storage hold
 * an output. */
#include "graph/builtin/builtin.h"

#include "base/masked.h"
#include "graph/run/storage.h"

/* what: why the array is refused; NULL: the object is no array. */
static int
refuse(PyObject *error, PyObject *object, int type, const char *what)
{
    PyArray_Descr *wanted = PyArray_DescrFromType(type);
    if (wanted != NULL && what == NULL) {
        PyErr_Format(error, "expected an array of %S, got %s", (PyObject *)wanted,
                     object == Py_None ? "None" : Py_TYPE(object)->tp_name);
    } else if (wanted != NULL) {
        PyErr_Format(error, "expected an array of %S: this one, of %S, %s", (PyObject *)wanted,
                     (PyObject *)PyArray_DESCR((PyArrayObject *)object), what);
    }
    Py_XDECREF(wanted);
    return -1;
}

int
cwj_array_check(PyObject *object, int type, int ndim)
{
    if (!PyArray_Check(object)) {
        return refuse(PyExc_ValueError, object, type, NULL);
    }
    PyArrayObject *array = (PyArrayObject *)object;
    int masked = cwj_is_masked(object);
    if (masked != 0) {
        return masked < 0 ? -1
                          : refuse(PyExc_TypeError, object, type,
                                   "has masked elements, which would be lost");
    }
    if (PyArray_TYPE(array) != type && !PyArray_EquivTypenums(PyArray_TYPE(array), type)) {
        return refuse(PyExc_TypeError, object, type, "has another type");
    }
    if (PyArray_ISBYTESWAPPED(array)) {
        return refuse(PyExc_TypeError, object, type, "has the other byte order");
    }
    if (!PyArray_ISALIGNED(array)) {
        return refuse(PyExc_NotImplementedError, object, type, "is not aligned");
    }
    if (PyArray_NDIM(array) != ndim) {
        PyErr_Format(PyExc_TypeError, "expected an array of %d dimensions, got one of %d", ndim,
                     PyArray_NDIM(array));
        return -1;
    }
    return 0;
}

/* ---- results ----------------------------------------------------------------- */

/* True if the graph may write to the array because only the graph holds it. py: the variable's py_ object. */
static bool
is_ours(PyArrayObject *array, PyObject *py)
{
    const int flags = NPY_ARRAY_BEHAVED | NPY_ARRAY_OWNDATA;
    Py_ssize_t holders = (PyObject *)array == py ? 3 : 1;
    return PyArray_CheckExact(array) && Py_REFCNT(array) == holders &&
           !cwj_has_weak_references((PyObject *)array) && PyArray_CHKFLAGS(array, flags) &&
           PyArray_ISNOTSWAPPED(array) && PyArray_BASE(array) == NULL;
}

static bool
fits(PyArrayObject *array, int type, int ndim, const npy_intp *dims, int fortran)
{
    return PyArray_TYPE(array) == type && PyArray_NDIM(array) == ndim &&
           PyArray_CompareLists(PyArray_DIMS(array), dims, ndim) &&
           (fortran ? PyArray_IS_F_CONTIGUOUS(array) : PyArray_IS_C_CONTIGUOUS(array));
}

int
cwj_array_prepare(PyArrayObject **array, PyObject *py, int type, int ndim, const npy_intp *dims,
                  int fortran)
{
    if (*array != NULL && is_ours(*array, py) && fits(*array, type, ndim, dims, fortran)) {
        return 0;
    }
    Py_CLEAR(*array);
    *array = (PyArrayObject *)PyArray_EMPTY(ndim, (npy_intp *)dims, type, fortran);
    return *array != NULL ? 0 : -1;
}

int
cwj_array_copy(PyArrayObject **array, PyObject *py, PyArrayObject *from)
{
    int fortran = PyArray_IS_F_CONTIGUOUS(from) && !PyArray_IS_C_CONTIGUOUS(from);
    int status = cwj_array_prepare(array, py, PyArray_TYPE(from), PyArray_NDIM(from),
                                   PyArray_DIMS(from), fortran);
    return status < 0 ? -1 : PyArray_CopyInto(*array, from);
}

/* ---- shapes -------------------------------------------------------------------- */

static int
store_shape(PyArrayObject **array, PyObject *py, npy_intp ndim, const npy_intp *dims)
{
    if (cwj_array_prepare(array, py, NPY_INT64, 1, &ndim, 0) < 0) {
        return -1;
    }
    if (ndim > 0) {
        memcpy(PyArray_DATA(*array), dims, (size_t)ndim * sizeof *dims);
    }
    return 0;
}

int
cwj_array_shape(PyArrayObject **array, PyObject *py, PyObject *from)
{
    if (PyArray_Check(from)) {
        PyArrayObject *a = (PyArrayObject *)from;
        return store_shape(array, py, PyArray_NDIM(a), PyArray_DIMS(a));
    }
    npy_intp dims[NPY_MAXDIMS];
    PyObject *shape = PyObject_GetAttrString(from, "shape");
    int ndim = shape == NULL ? -1 : PyArray_IntpFromSequence(shape, dims, NPY_MAXDIMS);
    Py_XDECREF(shape);
    return ndim < 0 ? -1 : store_shape(array, py, ndim, dims);
}
