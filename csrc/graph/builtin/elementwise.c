/* elementwise.c: broadcasts the operands of elementwise ops in each run of a graph, by NumPy's rules.
 *
 * Axes are sorted by the result's strides, and joined if all operands allow it, so contiguous arrays in C or Fortran
 * order need one call of the generated inner loop. Otherwise it is called for each run along the last axis; counters
 * over the other axes find the next run.
 *
 * cwj_array_prepare() makes sure that the result shares no memory with an operand, so inner loops may rely on it. */
#include "graph/builtin/builtin.h"

#include "base/axes.h"

#include "base/errors.h"

enum {
    SMALL = 160
}; /* npy_intp on the C stack: enough for five operands of six dimensions */

/* Operand 0 is the result. `steps` has a row per axis; the last one is for the inner loop. */
typedef struct loops {
    int noperands, naxes;
    PyArrayObject **arrays; /* [noperands], borrowed */
    char **at; /* [noperands] */
    npy_intp *row; /* [noperands], scratch */
    npy_intp *extents; /* [naxes] */
    npy_intp *counters; /* [naxes] */
    npy_intp *steps; /* [naxes][noperands], bytes */
    npy_intp small[SMALL];
    void *large; /* owned */
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

/* The operand that a user's op has left without a value, or -1. */
static int
find_missing(int noperands, PyArrayObject *const *operands)
{
    for (int k = 0; k < noperands; k++) {
        if (operands[k] == NULL) {
            return k;
        }
    }
    return -1;
}

/* Stores the broadcast shape in dims. Returns its number of dims, or -1 if the shapes do not fit. */
static int
broadcast(int noperands, PyArrayObject *const *operands, npy_intp *dims)
{
    int ndim = 0;
    for (int k = 0; k < noperands; k++) {
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
                return -1;
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

static int
loops_open(loops *self, int noperands, int ndim)
{
    size_t operands = (size_t)noperands, axes = (size_t)Py_MAX(ndim, 1);
    size_t words = axes * (2 + operands) + 3 * operands;
    npy_intp *block = self->small;
    self->large = NULL;
    if (words > SMALL) {
        block = self->large = PyMem_Malloc(words * sizeof *block);
        if (block == NULL) {
            PyErr_NoMemory();
            return -1;
        }
    }
    self->noperands = noperands;
    self->naxes = 0;
    self->arrays = (PyArrayObject **)block;
    self->at = (char **)(block + operands);
    self->row = block + 2 * operands;
    self->extents = block + 3 * operands;
    self->counters = self->extents + axes;
    self->steps = self->counters + axes;
    return 0;
}

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

/* Inserts an axis after those with larger steps of the result. */
static void
add_axis(loops *self, npy_intp extent, const npy_intp *steps)
{
    int place = self->naxes++;
    size_t bytes = (size_t)self->noperands * sizeof *steps;
    for (; place > 0 && row(self, place - 1)[0] < steps[0]; place--) {
        self->extents[place] = self->extents[place - 1];
        memcpy(row(self, place), row(self, place - 1), bytes);
    }
    self->extents[place] = extent;
    memcpy(row(self, place), steps, bytes);
}

/* Finds the axes of the result that need a loop, sorts and joins them. */
static void
find_axes(loops *self)
{
    int ndim = PyArray_NDIM(self->arrays[0]);
    for (int i = 0; i < ndim; i++) {
        npy_intp extent = PyArray_DIM(self->arrays[0], i);
        for (int k = 0; k < self->noperands && extent != 1; k++) {
            self->row[k] = step_of(self->arrays[k], i, ndim);
        }
        if (extent != 1) {
            add_axis(self, extent, self->row);
        }
    }
    if (self->naxes == 0) { /* a single element */
        memset(self->row, 0, (size_t)self->noperands * sizeof *self->row);
        add_axis(self, 1, self->row);
    }
    self->naxes = cwj_join_axes(self->naxes, self->noperands, self->extents, self->steps);
}

/* Moves to the next run; returns false after the last one. */
static bool
next_run(loops *self)
{
    for (int i = self->naxes - 2; i >= 0; i--) {
        const npy_intp *steps = row(self, i);
        bool more = ++self->counters[i] < self->extents[i];
        npy_intp by = more ? 1 : 1 - self->extents[i];
        for (int k = 0; k < self->noperands; k++) {
            self->at[k] += by * steps[k];
        }
        if (more) {
            return true;
        }
        self->counters[i] = 0;
    }
    return false;
}

static void
run(loops *self, cwj_inner *inner, const void *const *scalars)
{
    int last = self->naxes - 1;
    for (int k = 0; k < self->noperands; k++) {
        self->at[k] = PyArray_BYTES(self->arrays[k]);
    }
    memset(self->counters, 0, (size_t)self->naxes * sizeof *self->counters);
    do {
        inner(self->extents[last], self->at, row(self, last), scalars);
    } while (next_run(self));
}

/* ---- the op ---------------------------------------------------------------------- */

int
cwj_elementwise(const char *what, int noperands, PyArrayObject *const *operands,
                const char *const *names, PyArrayObject **result, PyObject *py, int type,
                cwj_inner *inner, const void *const *scalars)
{
    loops self;
    npy_intp dims[NPY_MAXDIMS];
    int missing = find_missing(noperands, operands);
    if (missing >= 0) {
        return cwj_refuse(what, PyExc_ValueError, "%s has no value", names[missing]);
    }
    int ndim = broadcast(noperands, operands, dims);
    if (ndim < 0) {
        return refuse_shapes(what, noperands, operands, names);
    }
    if (cwj_array_prepare(result, py, type, ndim, dims,
                          prefers_fortran(noperands, operands, ndim, dims)) < 0) {
        return -1;
    }
    if (PyArray_SIZE(*result) == 0) {
        return 0;
    }
    if (loops_open(&self, noperands + 1, ndim) < 0) {
        return -1;
    }
    self.arrays[0] = *result;
    memcpy(self.arrays + 1, operands, (size_t)noperands * sizeof *operands);
    find_axes(&self);
    run(&self, inner, scalars);
    PyMem_Free(self.large);
    return 0;
}
