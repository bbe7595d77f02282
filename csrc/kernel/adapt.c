/* adapt.c: type cwrapjit._cwrapjit.Adapted, which turns a call of an elementwise kernel into a call of its function.
 *
 * A kernel's function takes all arguments by position, and has neither size= nor the index of an element. An Adapted is
 * made for one combination of types (dispatch.c), so the place of each argument is known before the call. The values of
 * a call are its arguments, positional ones first, then keywords, and behind them the outputs that it makes. The
 * function's arguments, its out= and the kernel's results are indexes of values; in results, -1 - j is output j of the
 * function.
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
    MOST_VALUES = 2 * MOST_ARGUMENTS,
    MOST_DIMS = 64, /* of an array, in NumPy 2 */
    INDEX = -1, /* among the function's arguments: the index operand */
    NONE = -1 /* in out=: an output that the function makes */
};

/* On x86-64 and arm64, all of Linux's user addresses are below this. */
#define FIRST_BYTE ((uintptr_t)0xFFFF800000000000u)

typedef enum {
    RETURNS_NONE,
    RETURNS_ONE,
    RETURNS_TUPLE,
    PASSES /* kernel(x, y, z): z is the function's out=, the others are its arguments */
} returned;

typedef struct {
    int count;
    int at[MOST_ARGUMENTS];
} numbers;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *target; /* owned */
    PyObject *name; /* owned str: "kernel()", starts messages */
    PyObject *dtypes; /* owned tuple, one per output that a call makes */
    PyObject *outword; /* owned: ("out",) */
    int nargs; /* of a call, with keywords */
    numbers inputs; /* the function's arguments */
    numbers weak; /* arguments of the call: scalars of NumPy's that become Python numbers */
    numbers outs; /* the function's out= */
    numbers results; /* of the kernel */
    numbers spread; /* arguments of the call that take part in broadcasting */
    int size; /* index of size=, or -1 */
    int nown; /* length of the tuple that the function returns; -1: it returns one array */
    returned form;
    PyArrayObject *index; /* owned: the index operand of the previous call, or NULL */
} adapted_object;

/* The objects of one call. */
typedef struct {
    PyObject *values[MOST_VALUES]; /* borrowed */
    PyObject *items[MOST_ARGUMENTS + 1]; /* borrowed: the function's arguments */
    PyObject *owned[MOST_VALUES + MOST_ARGUMENTS + 2];
    int nowned;
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
    for (int i = 0; i < self->spread.count; i++) {
        PyObject *array = PyArray_FROM_O(args[self->spread.at[i]]); /* the same, or a Series' */
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

/* ---- the call ---------------------------------------------------------------- */

/* Keeps a new reference, or NULL, until the end of the call. */
static PyObject *
own(call_parts *parts, PyObject *object)
{
    if (object != NULL) {
        parts->owned[parts->nowned++] = object;
    }
    return object;
}

/* Returns 0, or -1 with an exception set. */
static int
fill_values(const adapted_object *self, call_parts *parts, PyObject *const *args, npy_intp size)
{
    memcpy(parts->values, args, (size_t)self->nargs * sizeof(*args));
    for (int i = 0; i < self->weak.count; i++) {
        PyObject *number = PyObject_CallMethod(args[self->weak.at[i]], "item", NULL);
        if ((parts->values[self->weak.at[i]] = own(parts, number)) == NULL) {
            return -1;
        }
    }
    for (int j = 0; j < (int)PyTuple_GET_SIZE(self->dtypes); j++) {
        PyObject *descr = Py_NewRef(PyTuple_GET_ITEM(self->dtypes, j)); /* stolen */
        PyObject *made = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)descr, 1, &size, NULL,
                                              NULL, 0, NULL);
        if ((parts->values[self->nargs + j] = own(parts, made)) == NULL) {
            return -1;
        }
    }
    return 0;
}

/* Returns out= of the function: NULL with an exception set. */
static PyObject *
make_out(const adapted_object *self, call_parts *parts)
{
    if (self->nown < 0) {
        return parts->values[self->outs.at[0]];
    }
    PyObject *out = own(parts, PyTuple_New(self->outs.count));
    for (int j = 0; j < self->outs.count && out != NULL; j++) {
        int from = self->outs.at[j];
        PyTuple_SET_ITEM(out, j, Py_NewRef(from == NONE ? Py_None : parts->values[from]));
    }
    return out;
}

/* Returns 0, or -1 with an exception set. */
static int
fill_items(adapted_object *self, call_parts *parts, PyObject *const *args, npy_intp size)
{
    for (int k = 0; k < self->inputs.count; k++) {
        int from = self->inputs.at[k];
        parts->items[k] =
            from == INDEX ? own(parts, index_of_call(self, args, size)) : parts->values[from];
        if (parts->items[k] == NULL) {
            return -1;
        }
    }
    if (self->outs.count > 0) {
        parts->items[self->inputs.count] = make_out(self, parts);
        return parts->items[self->inputs.count] == NULL ? -1 : 0;
    }
    return 0;
}

/* Returns a result of the kernel: a new reference. */
static PyObject *
result_of(const adapted_object *self, const call_parts *parts, PyObject *found, int from)
{
    return Py_NewRef(from >= 0        ? parts->values[from]
                     : self->nown < 0 ? found
                                      : PyTuple_GET_ITEM(found, -1 - from));
}

static PyObject *
take_result(const adapted_object *self, const call_parts *parts, PyObject *found)
{
    if (self->form == RETURNS_NONE) {
        Py_RETURN_NONE;
    }
    if (self->nown > 0 && (!PyTuple_Check(found) || PyTuple_GET_SIZE(found) != self->nown)) {
        PyErr_Format(PyExc_TypeError, "%U: the function did not return %d outputs", self->name,
                     self->nown);
        return NULL;
    }
    if (self->form == RETURNS_ONE) {
        return result_of(self, parts, found, self->results.at[0]);
    }
    PyObject *tuple = PyTuple_New(self->results.count);
    for (int j = 0; j < self->results.count && tuple != NULL; j++) {
        PyTuple_SET_ITEM(tuple, j, result_of(self, parts, found, self->results.at[j]));
    }
    return tuple;
}

static PyObject *
adapted_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    adapted_object *self = (adapted_object *)op;
    PyObject *result = NULL;
    npy_intp size = -1;
    call_parts parts;
    parts.nowned = 0;
    if (PyVectorcall_NARGS(nargsf) + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames)) !=
        self->nargs) { /* not called by the Dispatch that it was made for */
        PyErr_Format(PyExc_TypeError, "%U: wanted %d arguments", self->name, self->nargs);
        return NULL;
    }
    if (self->form == PASSES) {
        return PyObject_Vectorcall(self->target, args, (size_t)self->nargs - 1, self->outword);
    }
    Py_INCREF(op); /* Python code of scalars may drop the caller's last reference */
    if (self->size >= 0 && (size = read_size(self, args[self->size])) < 0) {
        goto done;
    }
    if (fill_values(self, &parts, args, size) == 0 && fill_items(self, &parts, args, size) == 0) {
        PyObject *found = PyObject_Vectorcall(self->target, parts.items, (size_t)self->inputs.count,
                                              self->outs.count > 0 ? self->outword : NULL);
        result = own(&parts, found) == NULL ? NULL : take_result(self, &parts, found);
    }
done:
    while (parts.nowned > 0) {
        Py_DECREF(parts.owned[--parts.nowned]);
    }
    Py_DECREF(op);
    return result;
}

/* ---- creation ------------------------------------------------------------------ */

/* Reads a tuple of ints from `least` to below `below`. Returns 0, or -1 with an exception set. */
static int
read_numbers(PyObject *tuple, numbers *made, int least, int below)
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
        made->at[i] = (int)number;
    }
    made->count = (int)count;
    return 0;
}

static int
check_types(const adapted_object *self)
{
    for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(self->dtypes); j++) {
        if (!PyArray_DescrCheck(PyTuple_GET_ITEM(self->dtypes, j))) {
            return cwj_refuse_type("Adapted()", "an item of dtypes", "a dtype",
                                   PyTuple_GET_ITEM(self->dtypes, j));
        }
    }
    return 0;
}

/* Only a compiled function may get the index operand, as that has no memory. */
static int
check_target(const adapted_object *self, const cwj_module_state *state)
{
    for (int k = 0; k < self->inputs.count; k++) {
        if (self->inputs.at[k] == INDEX && !Py_IS_TYPE(self->target, state->function_type)) {
            return cwj_refuse_type("Adapted()", "target", "a Function", self->target);
        }
    }
    return 0;
}

static int
fill(adapted_object *self, PyObject *inputs, PyObject *weak, PyObject *outs, PyObject *results,
     PyObject *spread)
{
    Py_ssize_t nmade = PyTuple_GET_SIZE(self->dtypes);
    if (self->nargs < 1 || self->nargs > MOST_ARGUMENTS || nmade > MOST_ARGUMENTS ||
        self->size >= self->nargs || (nmade > 0 && self->size < 0)) {
        PyErr_Format(PyExc_ValueError, "Adapted(): no call, or one of more than %d arguments",
                     MOST_ARGUMENTS);
        return -1;
    }
    int nvalues = self->nargs + (int)nmade;
    if (read_numbers(inputs, &self->inputs, INDEX, nvalues) < 0 ||
        read_numbers(weak, &self->weak, 0, self->nargs) < 0 ||
        read_numbers(outs, &self->outs, self->nown < 0 ? 0 : NONE, nvalues) < 0 ||
        read_numbers(results, &self->results, self->nown < 0 ? -1 : -self->nown, nvalues) < 0 ||
        read_numbers(spread, &self->spread, 0, self->nargs) < 0) {
        return -1;
    }
    if (self->form == RETURNS_ONE && self->results.count != 1) {
        PyErr_SetString(PyExc_ValueError, "Adapted(): one result is wanted");
        return -1;
    }
    return check_types(self);
}

static PyObject *
adapted_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"target", "name",   "nargs", "inputs", "weak", "outs", "results",
                            "dtypes", "spread", "size",  "nown",   "form", NULL};
    PyObject *target, *name, *inputs, *weak, *outs, *results, *dtypes, *spread;
    int nargs, size, nown, form;
    PyTypeObject *t = &PyTuple_Type;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OUiO!O!O!O!O!O!iii:Adapted", names, &target,
                                     &name, &nargs, t, &inputs, t, &weak, t, &outs, t, &results, t,
                                     &dtypes, t, &spread, &size, &nown, &form)) {
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
    self->nown = nown;
    self->form = form >= RETURNS_NONE && form < PASSES ? (returned)form : PASSES;
    if (self->outword == NULL || fill(self, inputs, weak, outs, results, spread) < 0 ||
        check_target(self, PyType_GetModuleState(type)) < 0) {
        Py_CLEAR(self);
    }
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
             "Adapted(target, name, nargs, inputs, weak, outs, results, dtypes, spread, size,\n"
             "        nown, form)\n--\n\n"
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
