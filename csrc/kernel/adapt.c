/* adapt.c: type cwrapjit._cwrapjit.Adapted, which turns a call of an elementwise kernel into a call of its function.
 *
 * A kernel's function takes all arguments by position, and has neither size= nor the index of an element. An Adapted is
 * made for one combination of types (dispatch.c), so the place of each argument is known before the call:
 *
 *     inputs   sources of the function's arguments, in order
 *     given    sources of the kernel's outputs
 *
 * A source is the index of an argument of the call, positional ones first, then keywords. INDEX stands for the index
 * operand, and OUTPUT - j for output j of the kernel if all slices of the function share it.
 *
 * The index operand has no memory: it consists of bytes in C order, one per element, at addresses that user code never
 * has. Nothing reads them: the address of a slice's byte gives the index, in whatever order slices run. Its shape is
 * size=, or the broadcast shape of the arguments.
 */
#include "kernel/kernel.h"

#include "base/errors.h"

#include <structmember.h>

enum {
    MOST_ARGUMENTS = 64, /* of a function or a call */
    MOST_DIMS = 64, /* of an array, in NumPy 2 */
    INDEX = -1,
    OUTPUT = -2 /* - j: output j of the kernel */
};

/* On x86-64 and arm64, all of Linux's user addresses are below this. */
#define FIRST_BYTE ((uintptr_t)0xFFFF800000000000u)

typedef enum {
    RETURNS_NONE,
    RETURNS_ONE,
    RETURNS_TUPLE
} returned;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *target; /* owned */
    PyObject *name; /* owned str: "kernel()", starts messages */
    PyObject *dtypes; /* owned tuple, one per output of the kernel */
    PyObject *outword; /* owned: ("out",) */
    int nargs; /* of a call, with keywords */
    int ninputs, noutputs, nspread;
    int nown; /* number of outputs that are not shared */
    int inputs[MOST_ARGUMENTS];
    int weak[MOST_ARGUMENTS]; /* 1: the input is a scalar of NumPy's that becomes a Python number */
    int given[MOST_ARGUMENTS]; /* sources of the kernel's outputs; -1: the call makes the output */
    int shared[MOST_ARGUMENTS]; /* 1: the output is an argument of the function */
    int spread[MOST_ARGUMENTS]; /* arguments that take part in broadcasting */
    int size; /* source of size=, or -1 */
    int tuple_out; /* the function's outputs are a tuple */
    int passes; /* the last argument is out=, the others are the function's */
    returned form;
    PyArrayObject *index; /* owned: the index operand of the previous call, or NULL */
} adapted_object;

/* The references that one call owns. */
typedef struct {
    PyObject *items[MOST_ARGUMENTS + 1]; /* the function's arguments */
    PyObject *made[MOST_ARGUMENTS]; /* new outputs that are arguments, or NULL */
    PyObject *out;
} call_parts;

/* ---- the index ------------------------------------------------------------ */

static int
same_shape(const PyArrayObject *array, int ndim, const npy_intp *dims)
{
    return PyArray_NDIM(array) == ndim &&
           (ndim == 0 || memcmp(PyArray_DIMS(array), dims, (size_t)ndim * sizeof(npy_intp)) == 0);
}

/* Returns an index operand: a new reference. */
static PyObject *
index_of_shape(adapted_object *self, int ndim, npy_intp *dims)
{
    if (self->index != NULL && same_shape(self->index, ndim, dims)) {
        return Py_NewRef((PyObject *)self->index);
    }
    PyArray_Descr *bytes = PyArray_DescrFromType(NPY_INT8); /* stolen below */
    PyObject *index =
        PyArray_NewFromDescr(&PyArray_Type, bytes, ndim, dims, NULL, (void *)FIRST_BYTE, 0, NULL);
    if (index != NULL) {
        PyArrayObject *before = self->index;
        self->index = (PyArrayObject *)Py_NewRef(index);
        Py_XDECREF((PyObject *)before);
    }
    return index;
}

/* Broadcasts an array into the ndim dims at the end of `shape`. Returns 0 if it does not fit. */
static int
spread_into(npy_intp *shape, int *ndim, const PyArrayObject *array)
{
    int count = PyArray_NDIM(array);
    for (; *ndim < count; ++*ndim) {
        shape[MOST_DIMS - 1 - *ndim] = 1;
    }
    for (int i = 0; i < count; i++) {
        npy_intp *at = &shape[MOST_DIMS - 1 - i], dim = PyArray_DIM(array, count - 1 - i);
        if (*at == 1) {
            *at = dim;
        } else if (dim != 1 && dim != *at) {
            return 0;
        }
    }
    return 1;
}

/* Returns the number of elements in size=, or -1 with an exception set. */
static npy_intp
read_size(const adapted_object *self, PyObject *object)
{
    if (PyBool_Check(object) || !PyIndex_Check(object) || PyArray_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%U: size must be an int, not %s", self->name,
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    Py_ssize_t size = PyNumber_AsSsize_t(object, NULL); /* clips */
    if (size >= 0 && size < PY_SSIZE_T_MAX) {
        return size;
    }
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "%U: size must be 0 to %zd, not %R", self->name,
                     PY_SSIZE_T_MAX - 1, object);
    }
    return -1;
}

/* Returns the index operand of this call: a new reference. If the arguments do not broadcast, it has any shape: the
 * function will raise. */
static PyObject *
index_of_call(adapted_object *self, PyObject *const *args, npy_intp size)
{
    npy_intp shape[MOST_DIMS];
    int ndim = 0;
    if (self->size >= 0) {
        return index_of_shape(self, 1, &size);
    }
    for (int i = 0; i < self->nspread; i++) {
        PyObject *array = PyArray_FROM_O(args[self->spread[i]]); /* the same, or a Series' */
        if (array == NULL) {
            return NULL;
        }
        int fits = spread_into(shape, &ndim, (PyArrayObject *)array);
        Py_DECREF(array);
        if (!fits) {
            ndim = 0;
            break;
        }
    }
    return index_of_shape(self, ndim, shape + MOST_DIMS - ndim);
}

/* ---- arguments of the function --------------------------------------------- */

/* Makes the outputs that the function takes as arguments, with `size` elements. Returns 0 or -1. */
static int
make_outputs(const adapted_object *self, call_parts *parts, npy_intp size)
{
    for (int j = 0; j < self->noutputs; j++) {
        if (!self->shared[j] || self->given[j] >= 0) {
            continue;
        }
        PyObject *descr = PyTuple_GET_ITEM(self->dtypes, j);
        Py_INCREF(descr); /* stolen */
        parts->made[j] = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)descr, 1, &size, NULL,
                                              NULL, 0, NULL);
        if (parts->made[j] == NULL) {
            return -1;
        }
    }
    return 0;
}

static int
fill_inputs(adapted_object *self, call_parts *parts, PyObject *const *args, npy_intp size)
{
    for (int k = 0; k < self->ninputs; k++) {
        int from = self->inputs[k];
        if (from == INDEX) {
            parts->items[k] = index_of_call(self, args, size);
        } else if (from <= OUTPUT) {
            int j = OUTPUT - from;
            parts->items[k] =
                Py_NewRef(self->given[j] >= 0 ? args[self->given[j]] : parts->made[j]);
        } else {
            parts->items[k] = self->weak[k] ? PyObject_CallMethod(args[from], "item", NULL)
                                            : Py_NewRef(args[from]);
        }
        if (parts->items[k] == NULL) {
            return -1;
        }
    }
    return 0;
}

/* Sets out= of the function if outputs are given; None stands for those that are not. */
static int
fill_out(const adapted_object *self, call_parts *parts, PyObject *const *args)
{
    int count = 0, first = -1;
    for (int j = 0; j < self->noutputs; j++) {
        if (!self->shared[j] && self->given[j] >= 0) {
            first = first < 0 ? self->given[j] : first;
            count++;
        }
    }
    if (count == 0) {
        return 0;
    }
    if (!self->tuple_out) {
        parts->out = Py_NewRef(args[first]);
        return 0;
    }
    parts->out = PyTuple_New(self->nown);
    for (int j = 0, at = 0; j < self->noutputs && parts->out != NULL; j++) {
        if (!self->shared[j]) {
            PyObject *one = self->given[j] >= 0 ? args[self->given[j]] : Py_None;
            PyTuple_SET_ITEM(parts->out, at++, Py_NewRef(one));
        }
    }
    return parts->out == NULL ? -1 : 0;
}

/* ---- the result ------------------------------------------------------------- */

/* Returns output j of the kernel: a new reference. *at counts the function's outputs. */
static PyObject *
output_of(const adapted_object *self, const call_parts *parts, PyObject *const *args,
          PyObject *result, int j, int *at)
{
    if (self->shared[j]) {
        return Py_NewRef(self->given[j] >= 0 ? args[self->given[j]] : parts->made[j]);
    }
    return Py_NewRef(self->tuple_out ? PyTuple_GET_ITEM(result, (*at)++) : result);
}

static PyObject *
take_result(const adapted_object *self, const call_parts *parts, PyObject *const *args,
            PyObject *result)
{
    int at = 0;
    if (self->form == RETURNS_NONE) {
        Py_RETURN_NONE;
    }
    if (self->tuple_out && self->nown > 0 &&
        (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != self->nown)) {
        PyErr_Format(PyExc_TypeError, "%U: the function did not return %d outputs", self->name,
                     self->nown);
        return NULL;
    }
    if (self->form == RETURNS_ONE) {
        return output_of(self, parts, args, result, 0, &at);
    }
    PyObject *tuple = PyTuple_New(self->noutputs);
    for (int j = 0; j < self->noutputs && tuple != NULL; j++) {
        PyTuple_SET_ITEM(tuple, j, output_of(self, parts, args, result, j, &at));
    }
    return tuple;
}

/* ---- the call ---------------------------------------------------------------- */

static PyObject *
adapted_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    adapted_object *self = (adapted_object *)op;
    PyObject *found = NULL, *result = NULL;
    npy_intp size = -1;
    call_parts parts;
    memset(parts.items, 0, (size_t)(self->ninputs + 1) * sizeof(PyObject *));
    memset(parts.made, 0, (size_t)self->noutputs * sizeof(PyObject *));
    parts.out = NULL;
    if (PyVectorcall_NARGS(nargsf) + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames)) !=
        self->nargs) { /* not called by the Dispatch that it was made for */
        PyErr_Format(PyExc_TypeError, "%U: wanted %d arguments", self->name, self->nargs);
        return NULL;
    }
    if (self->passes) {
        return PyObject_Vectorcall(self->target, args, (size_t)self->ninputs, self->outword);
    }
    Py_INCREF(op); /* Python code of scalars may drop the caller's last reference */
    if (self->size >= 0 && (size = read_size(self, args[self->size])) < 0) {
        goto done;
    }
    if (make_outputs(self, &parts, size) < 0 || fill_inputs(self, &parts, args, size) < 0 ||
        fill_out(self, &parts, args) < 0) {
        goto done;
    }
    parts.items[self->ninputs] = parts.out;
    found = PyObject_Vectorcall(self->target, parts.items, (size_t)self->ninputs,
                                parts.out != NULL ? self->outword : NULL);
    if (found != NULL) {
        result = take_result(self, &parts, args, found);
    }
done:
    Py_XDECREF(found);
    for (int k = 0; k < self->ninputs; k++) {
        Py_XDECREF(parts.items[k]);
    }
    for (int j = 0; j < self->noutputs; j++) {
        Py_XDECREF(parts.made[j]);
    }
    Py_XDECREF(parts.out);
    Py_DECREF(op);
    return result;
}

/* ---- creation ------------------------------------------------------------------ */

/* Reads a tuple of ints from `least` to below `below`. Returns their number, or -1 with an exception set. */
static int
read_numbers(PyObject *tuple, int *numbers, int least, int below)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    if (count > MOST_ARGUMENTS) {
        PyErr_Format(PyExc_ValueError, "a kernel has at most %d arguments", MOST_ARGUMENTS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t number = PyNumber_AsSsize_t(PyTuple_GET_ITEM(tuple, i), PyExc_ValueError);
        if (number < least || number >= below) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_ValueError, "Adapted(): %zd is no source", number);
            }
            return -1;
        }
        numbers[i] = (int)number;
    }
    return (int)count;
}

static int
check_types(const adapted_object *self)
{
    for (int j = 0; j < self->noutputs; j++) {
        if (!PyArray_DescrCheck(PyTuple_GET_ITEM(self->dtypes, j))) {
            return cwj_refuse_type("Adapted()", "an item of dtypes", "a dtype",
                                   PyTuple_GET_ITEM(self->dtypes, j));
        }
    }
    return 0;
}

/* Refuses sources that contradict each other, which would lead to reads outside of arrays. */
static int
check_sources(adapted_object *self)
{
    int nown = 0, wrong = 0;
    for (int j = 0; j < self->noutputs; j++) {
        nown += !self->shared[j];
        wrong |= self->shared[j] && self->given[j] < 0 && self->size < 0;
    }
    for (int k = 0; k < self->ninputs; k++) {
        wrong |= self->inputs[k] <= OUTPUT && (OUTPUT - self->inputs[k] >= self->noutputs ||
                                               !self->shared[OUTPUT - self->inputs[k]]);
    }
    self->nown = nown;
    wrong |= (nown > 1 && !self->tuple_out) || (self->form == RETURNS_ONE && self->noutputs != 1);
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, "Adapted(): these sources are of no call");
        return -1;
    }
    return 0;
}

static int
fill(adapted_object *self, int nargs, PyObject *inputs, PyObject *weak, PyObject *given,
     PyObject *shared, PyObject *spread)
{
    self->ninputs = read_numbers(inputs, self->inputs, OUTPUT - MOST_ARGUMENTS, nargs);
    self->noutputs = self->ninputs < 0 ? -1 : read_numbers(given, self->given, -1, nargs);
    self->nspread = self->noutputs < 0 ? -1 : read_numbers(spread, self->spread, 0, nargs);
    if (self->nspread < 0) {
        return -1;
    }
    int nweak = read_numbers(weak, self->weak, 0, 2);
    int nshared = nweak < 0 ? -1 : read_numbers(shared, self->shared, 0, 2);
    if (nshared < 0) {
        return -1;
    }
    if (nshared != self->noutputs || PyTuple_GET_SIZE(self->dtypes) != self->noutputs ||
        nweak != self->ninputs || self->size >= nargs) {
        PyErr_SetString(PyExc_ValueError, "Adapted(): tuples of other lengths");
        return -1;
    }
    return check_types(self) < 0 ? -1 : check_sources(self);
}

/* Only a compiled function may get the index operand, as that has no memory. */
static int
check_target(const adapted_object *self, const cwj_module_state *state)
{
    for (int k = 0; k < self->ninputs; k++) {
        if (self->inputs[k] == INDEX && !Py_IS_TYPE(self->target, state->function_type)) {
            return cwj_refuse_type("Adapted()", "target", "a Function", self->target);
        }
    }
    return 0;
}

/* True for kernel(x, y, z) without weak scalars or new outputs: z is the function's out=. */
static int
passes_all(const adapted_object *self)
{
    int fits = self->noutputs == 1 && !self->shared[0] && !self->tuple_out &&
               self->form == RETURNS_ONE && self->given[0] == self->ninputs &&
               self->nargs == self->ninputs + 1;
    for (int k = 0; k < self->ninputs; k++) {
        fits = fits && self->inputs[k] == k && !self->weak[k];
    }
    return fits;
}

static PyObject *
adapted_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"target", "name",   "nargs", "inputs",    "weak", "given", "shared",
                            "dtypes", "spread", "size",  "tuple_out", "form", NULL};
    PyObject *target, *name, *inputs, *weak, *given, *shared, *dtypes, *spread;
    int nargs, size, tuple_out, form;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OUiO!O!O!O!O!O!ipi:Adapted", names, &target,
                                     &name, &nargs, &PyTuple_Type, &inputs, &PyTuple_Type, &weak,
                                     &PyTuple_Type, &given, &PyTuple_Type, &shared, &PyTuple_Type,
                                     &dtypes, &PyTuple_Type, &spread, &size, &tuple_out, &form)) {
        return NULL;
    }
    adapted_object *self = (adapted_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = adapted_call;
    self->target = Py_NewRef(target);
    self->name = Py_NewRef(name);
    self->dtypes = Py_NewRef(dtypes);
    self->outword = Py_BuildValue("(N)", PyUnicode_InternFromString("out"));
    self->nargs = nargs;
    self->size = size < 0 ? -1 : size;
    self->tuple_out = tuple_out;
    self->form = form == RETURNS_NONE || form == RETURNS_ONE ? (returned)form : RETURNS_TUPLE;
    if (self->outword == NULL || fill(self, nargs, inputs, weak, given, shared, spread) < 0 ||
        check_target(self, PyType_GetModuleState(type)) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    self->passes = passes_all(self);
    return (PyObject *)self;
}

static int
adapted_traverse(PyObject *op, visitproc visit, void *arg)
{
    adapted_object *self = (adapted_object *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->target);
    Py_VISIT(self->dtypes);
    return 0;
}

static void
adapted_dealloc(PyObject *op)
{
    adapted_object *self = (adapted_object *)op;
    PyObject_GC_UnTrack(op);
    Py_XDECREF(self->target);
    Py_XDECREF(self->name);
    Py_XDECREF(self->dtypes);
    Py_XDECREF(self->outword);
    Py_XDECREF((PyObject *)self->index);
    cwj_object_free(op);
}

static PyMemberDef adapted_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(adapted_object, vectorcall), READONLY, NULL},
    {"target", T_OBJECT_EX, offsetof(adapted_object, target), READONLY, "The function."},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(adapted_doc,
             "Adapted(target, name, nargs, inputs, weak, given, shared, dtypes, spread, size,\n"
             "        tuple_out, form)\n--\n\n"
             "A call of a kernel with arguments of certain types, as a call of its function.\n"
             "Made by cwrapjit/kernels/elementwise.py.");

static PyMethodDef adapted_methods[] = {
    {"__reduce__", cwj_refuse_pickle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot adapted_slots[] = {
    {Py_tp_new, adapted_new},           {Py_tp_dealloc, adapted_dealloc},
    {Py_tp_traverse, adapted_traverse}, {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, adapted_members},   {Py_tp_methods, adapted_methods},
    {Py_tp_doc, (void *)adapted_doc},   {0, NULL},
};

CWJ_TYPE(cwj_adapted_spec, "cwrapjit._cwrapjit.Adapted", adapted_object, adapted_slots,
         Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL);
