/* elementwise.c: broadcasts the operands of elementwise ops in each run of a graph, by NumPy's rules.
 *
 * Axes are sorted by the result's strides, and joined if all operands allow it, so contiguous arrays in C or Fortran
 * order need one call of the generated inner loop. Otherwise it is called for each run along the last axis.
 *
 * cwj_array_prepare() makes sure that the result shares no memory with an operand, so inner loops may rely on it. */
#include "graph/builtin/builtin.h"

#include "base/axes.h"

#include "base/errors.h"

enum {
    SMALL = 160 /* npy_intp on the C stack: enough for five operands of six dimensions */
};

/* Operand 0 is the result. */
typedef struct loops {
    int noperands, naxes;
    PyArrayObject *const *arrays; /* [noperands], borrowed */
    char **at; /* [noperands] */
    npy_intp *extents; /* [naxes] */
    npy_intp *steps; /* [naxes][noperands], bytes; the last row is for the inner loop */
    cwj_inner *inner;
    const void *const *scalars;
} loops;

/* ---- shapes -------------------------------------------------------------------- */

static PyObject *
shapes_text(int noperands, PyArrayObject *const *operands, const char *const *names)
{
    PyObject *text = PyUnicode_FromString("");
    for (int k = 0; k < noperands && text != NULL; k++) {
        PyObject *shape =
            PyArray_IntTupleFromIntp(PyArray_NDIM(operands[k]), PyArray_DIMS(operands[k]));
        PyObject *longer = shape == NULL ? NULL
                                         : PyUnicode_FromFormat("%U%s%R of %s", text,
                                                                k > 0 ? ", " : "", shape, names[k]);
        Py_XDECREF(shape);
        Py_SETREF(text, longer);
    }
    return text;
}

static int
refuse_shapes(const char *what, int noperands, PyArrayObject *const *operands,
              const char *const *names)
{
    PyObject *text = shapes_text(noperands, operands, names);
    if (text != NULL) {
        cwj_refuse(what, PyExc_ValueError, "shapes do not broadcast: %U", text);
        Py_DECREF(text);
    }
    return -1;
}

/* Stores the broadcast shape in dims. Returns its number of dims, or -1 with an exception set if a user's op has left
 * an operand without a value, or the shapes do not fit. */
static int
broadcast(const char *what, int noperands, PyArrayObject *const *operands, const char *const *names,
          npy_intp *dims)
{
    int ndim = 0;
    for (int k = 0; k < noperands; k++) {
        if (operands[k] == NULL) {
            return cwj_refuse(what, PyExc_ValueError, "%s has no value", names[k]);
        }
        ndim = Py_MAX(ndim, PyArray_NDIM(operands[k]));
    }
    for (int i = 0; i < ndim; i++) {
        dims[i] = 1;
    }
    for (int k = 0; k < noperands; k++) {
        int missing = ndim - PyArray_NDIM(operands[k]);
        for (int i = missing; i < ndim; i++) {
            npy_intp n = PyArray_DIM(operands[k], i - missing);
            if (n != 1 && dims[i] != 1 && n != dims[i]) {
                return refuse_shapes(what, noperands, operands, names);
            }
            dims[i] = n != 1 ? n : dims[i];
        }
    }
    return ndim;
}

/* Returns 1, for a result in Fortran order, if all operands of its shape have that order and there is one. */
static int
prefers_fortran(int noperands, PyArrayObject *const *operands, int ndim, const npy_intp *dims)
{
    int fortran = 0;
    for (int k = 0; k < noperands; k++) {
        PyArrayObject *array = operands[k];
        if (PyArray_NDIM(array) == ndim && PyArray_CompareLists(PyArray_DIMS(array), dims, ndim)) {
            if (PyArray_IS_C_CONTIGUOUS(array) || !PyArray_IS_F_CONTIGUOUS(array)) {
                return 0;
            }
            fortran = 1;
        }
    }
    return fortran;
}

/* ---- axes ---------------------------------------------------------------------- */

static npy_intp *
row(const loops *self, int axis)
{
    return self->steps + (ptrdiff_t)axis * self->noperands;
}

/* The step of an array along axis i of the result, which has ndim axes. */
static npy_intp
step_of(PyArrayObject *array, int i, int ndim)
{
    int own = i - (ndim - PyArray_NDIM(array));
    return own < 0 || PyArray_DIM(array, own) == 1 ? 0 : PyArray_STRIDE(array, own);
}

/* Adds axis i of the result, behind those with larger steps of the result. */
static void
add_axis(loops *self, int i)
{
    int ndim = PyArray_NDIM(self->arrays[0]), place = self->naxes++;
    size_t bytes = (size_t)self->noperands * sizeof *self->steps;
    for (; place > 0 && row(self, place - 1)[0] < step_of(self->arrays[0], i, ndim); place--) {
        self->extents[place] = self->extents[place - 1];
        memcpy(row(self, place), row(self, place - 1), bytes);
    }
    self->extents[place] = PyArray_DIM(self->arrays[0], i);
    for (int k = 0; k < self->noperands; k++) {
        row(self, place)[k] = step_of(self->arrays[k], i, ndim);
    }
}

/* Finds the axes of the result that need a loop, sorts and joins them. */
static void
find_axes(loops *self)
{
    for (int i = 0; i < PyArray_NDIM(self->arrays[0]); i++) {
        if (PyArray_DIM(self->arrays[0], i) != 1) {
            add_axis(self, i);
        }
    }
    if (self->naxes == 0) { /* a single element */
        self->extents[self->naxes++] = 1;
        memset(self->steps, 0, (size_t)self->noperands * sizeof *self->steps);
    }
    self->naxes = cwj_join_axes(self->naxes, self->noperands, self->extents, self->steps);
}

/* Loops over this axis and those behind it. */
static void
run(loops *self, int axis)
{
    const npy_intp *steps = row(self, axis);
    npy_intp extent = self->extents[axis];
    if (axis == self->naxes - 1) {
        self->inner(extent, self->at, steps, self->scalars);
        return;
    }
    for (npy_intp i = 0; i < extent; i++) {
        run(self, axis + 1);
        for (int k = 0; k < self->noperands; k++) {
            self->at[k] += i < extent - 1 ? steps[k] : -steps[k] * i;
        }
    }
}

/* ---- the op ---------------------------------------------------------------------- */

int
cwj_elementwise(const char *what, int noperands, PyArrayObject **operands, const char *const *names,
                PyArrayObject **result, PyObject *py, int type, cwj_inner *inner,
                const void *const *scalars)
{
    npy_intp dims[NPY_MAXDIMS];
    int ndim = broadcast(what, noperands, operands + 1, names, dims);
    if (ndim < 0 || cwj_array_prepare(result, py, type, ndim, dims,
                                      prefers_fortran(noperands, operands + 1, ndim, dims)) < 0) {
        return -1;
    }
    if (PyArray_SIZE(*result) == 0) {
        return 0;
    }
    operands[0] = *result;
    size_t count = (size_t)noperands + 1, axes = (size_t)Py_MAX(ndim, 1);
    size_t words = count + axes * (1 + count);
    npy_intp small[SMALL], *memory = words <= SMALL ? small : PyMem_Calloc(words, sizeof *memory);
    if (memory == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    loops self = {.noperands = noperands + 1,
                  .arrays = operands,
                  .at = (char **)memory,
                  .extents = memory + count,
                  .steps = memory + count + axes,
                  .inner = inner,
                  .scalars = scalars};
    for (int k = 0; k <= noperands; k++) {
        self.at[k] = PyArray_BYTES(operands[k]);
    }
    find_axes(&self);
    run(&self, 0);
    PyMem_Free(memory == small ? NULL : memory);
    return 0;
}
