/* spec_operands.c: reads the operands, from args_input and the prototypes or from a signature.
 *
 * A prototype is a tuple of shapes, a shape is a tuple of dims, and a dim is a length or a name. prototype_output may
 * also be a single shape: () is a scalar, a tuple of dims is an array, a tuple of tuples is several outputs.
 */
#include "function/spec_parts.h"

#include "base/errors.h"

enum {
    MAX_OPERANDS = 1024
}; /* more than any function needs; counts fit in an int */

/* ---- dims -------------------------------------------------------------- */

static int
max_dims(void)
{
    return PyArray_GetNDArrayCFeatureVersion() >= 0x12 ? 64 : 32; /* NumPy 2, NumPy 1 */
}

static int
take_size(cwj_spec *spec, tj_dim *dim, PyObject *object, const char *what, Py_ssize_t axis)
{
    dim->size = PyNumber_AsSsize_t(object, PyExc_OverflowError);
    if (dim->size == -1 && PyErr_Occurred()) {
        if (!cwj_clear_expected(PyExc_OverflowError, NULL)) {
            return -1;
        }
        return cwj_refuse(spec->who, PyExc_ValueError, "%s: dim %zd is out of range: %R", what,
                          axis, object);
    }
    if (dim->size < 0) {
        return cwj_refuse(spec->who, PyExc_ValueError, "%s: dim %zd is negative: %R", what, axis,
                          object);
    }
    return 0;
}

static int
take_dim(cwj_spec *spec, tj_dim *dim, PyObject *object, const char *what, Py_ssize_t axis)
{
    if (PyUnicode_Check(object)) {
        const char *place = cwj_arena_format(&spec->arena, "%s: dim %zd", what, axis);
        dim->name = place == NULL ? NULL : cwj_take_name(spec, object, place);
        return dim->name != NULL ? 0 : -1;
    }
    if (PyIndex_Check(object) && !PyBool_Check(object) && !PyArray_IsScalar(object, Bool) &&
        !PyArray_Check(object)) {
        return take_size(spec, dim, object, what, axis);
    }
    return cwj_refuse(spec->who, PyExc_TypeError, "%s: dim %zd must be an int or a name, not %s",
                      what, axis, Py_TYPE(object)->tp_name);
}

int
cwj_take_shape(cwj_spec *spec, tj_operand *operand, PyObject *shape, const char *what)
{
    if (!cwj_is_sequence(shape)) {
        return cwj_refuse(spec->who, PyExc_TypeError,
                          "%s must be a tuple of dims, such as ('n', 3), not %s%s", what,
                          Py_TYPE(shape)->tp_name,
                          PyUnicode_Check(shape) ? "; one dim is written ('n',)" : "");
    }
    PyObject *dims = cwj_take_tuple(spec, shape, what);
    if (dims == NULL) {
        return -1;
    }
    Py_ssize_t ndims = PyTuple_GET_SIZE(dims);
    if (ndims > max_dims()) {
        return cwj_refuse(spec->who, PyExc_ValueError, "%s has %zd dims; NumPy has at most %d",
                          what, ndims, max_dims());
    }
    tj_dim *list = cwj_arena_alloc(&spec->arena, (size_t)ndims, sizeof(tj_dim));
    if (list == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < ndims; i++) {
        if (take_dim(spec, &list[i], PyTuple_GET_ITEM(dims, i), what, i) < 0) {
            return -1;
        }
    }
    operand->ndims = (int)ndims;
    operand->dims = list;
    return 0;
}

/* ---- inputs ------------------------------------------------------------ */

/* Returns the index of the first operand of that name, or count. */
static Py_ssize_t
find_operand(const tj_operand *operands, Py_ssize_t count, const char *name)
{
    Py_ssize_t k = 0;
    while (k < count && strcmp(operands[k].name, name) != 0) {
        k++;
    }
    return k;
}

static int
take_input_names(cwj_spec *spec, tj_operand *operands, PyObject *names, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        char what[40];
        PyOS_snprintf(what, sizeof(what), "args_input[%zd]", i);
        operands[i].name = cwj_take_name(spec, PyTuple_GET_ITEM(names, i), what);
        if (operands[i].name == NULL) {
            return -1;
        }
        if (find_operand(operands, i, operands[i].name) < i) {
            return cwj_refuse(spec->who, PyExc_ValueError, "args_input has '%s' twice",
                              operands[i].name);
        }
    }
    return 0;
}

static int
take_input_shapes(cwj_spec *spec, tj_operand *operands, PyObject *shapes, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        const char *what =
            cwj_arena_format(&spec->arena, "prototype_input for '%s'", operands[i].name);
        if (what == NULL ||
            cwj_take_shape(spec, &operands[i], PyTuple_GET_ITEM(shapes, i), what) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Gives `role` to the inputs that the argument `called` (args_inout, args_shared) names. */
static int
take_updated(cwj_spec *spec, tj_operand *operands, Py_ssize_t ninputs, PyObject *argument,
             const char *called, tj_role role)
{
    if (!cwj_given(argument)) {
        return 0;
    }
    PyObject *names = cwj_take_tuple(spec, argument, called);
    if (names == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        char what[40];
        PyOS_snprintf(what, sizeof(what), "%s[%zd]", called, i);
        const char *name = cwj_take_name(spec, PyTuple_GET_ITEM(names, i), what);
        if (name == NULL) {
            return -1;
        }
        Py_ssize_t k = find_operand(operands, ninputs, name);
        if (k == ninputs) {
            return cwj_refuse(spec->who, PyExc_ValueError, "%s is '%s', which is not in args_input",
                              what, name);
        }
        if (operands[k].role == role) {
            return cwj_refuse(spec->who, PyExc_ValueError, "%s has '%s' twice", called, name);
        }
        if (operands[k].role != TJ_IN) {
            return cwj_refuse(spec->who, PyExc_ValueError,
                              "'%s' is in args_inout and in args_shared; what is shared is "
                              "updated, too",
                              name);
        }
        operands[k].role = role;
    }
    return 0;
}

/* ---- outputs ----------------------------------------------------------- */

static int
take_output(cwj_spec *spec, tj_operand *operand, PyObject *shape, Py_ssize_t index)
{
    operand->role = TJ_OUT;
    operand->name = index < 0 ? "output" : cwj_arena_format(&spec->arena, "output%zd", index);
    if (operand->name == NULL) {
        return -1;
    }
    const char *what = cwj_arena_format(&spec->arena, "prototype_output for '%s'", operand->name);
    return what == NULL ? -1 : cwj_take_shape(spec, operand, shape, what);
}

static int
take_outputs(cwj_spec *spec, tj_operand *operands, PyObject *prototype)
{
    if (prototype == NULL) {
        return 0; /* there are no outputs: an input is updated instead */
    }
    if (spec->tj.flags & CWJ_ONE_OUTPUT) {
        return take_output(spec, operands, prototype, -1);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(prototype); i++) {
        if (take_output(spec, &operands[i], PyTuple_GET_ITEM(prototype, i), i) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Returns the number of outputs that a prototype (one shape or several) describes, or -1 with an exception set. Sets
 * CWJ_ONE_OUTPUT for one shape. */
static Py_ssize_t
count_outputs(cwj_spec *spec, PyObject *prototype)
{
    PyObject *first = PyTuple_GET_SIZE(prototype) > 0 ? PyTuple_GET_ITEM(prototype, 0) : NULL;
    int several = first != NULL && cwj_is_sequence(first);
    for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(prototype); i++) {
        PyObject *item = PyTuple_GET_ITEM(prototype, i);
        if (cwj_is_sequence(item) != several) {
            return cwj_refuse(
                spec->who, PyExc_TypeError,
                "prototype_output must be one shape, such as ('n', 3), or a tuple of shapes, "
                "such as (('n',), ()); item %zd is of the other kind than item 0: %s and %s",
                i, Py_TYPE(item)->tp_name, Py_TYPE(first)->tp_name);
        }
    }
    spec->tj.flags |= several ? 0 : CWJ_ONE_OUTPUT;
    return several ? PyTuple_GET_SIZE(prototype) : 1;
}

/* ---- from prototypes --------------------------------------------------- */

/* Stores prototype_output as a tuple in *prototype; NULL if inputs are updated instead. */
static int
find_output_prototype(cwj_spec *spec, const cwj_arguments *arguments, PyObject **prototype)
{
    PyObject *shapes = arguments->prototype_output;
    PyObject *updated[] = {arguments->args_inout, arguments->args_shared};
    *prototype = NULL;
    for (int i = 0; i < 2 && !cwj_given(shapes); i++) {
        Py_ssize_t count =
            updated[i] != NULL && cwj_is_sequence(updated[i]) ? PySequence_Size(updated[i]) : 0;
        if (count != 0) {
            return count < 0 ? -1 : 0;
        }
    }
    if (!cwj_given(shapes)) {
        return cwj_refuse(spec->who, PyExc_TypeError,
                          "prototype_output is required: () for a scalar, ('n',) for a vector, a "
                          "tuple of such shapes for several outputs%s",
                          shapes == Py_None ? "; got None" : "");
    }
    *prototype = cwj_take_tuple(spec, shapes, "prototype_output");
    return *prototype != NULL ? 0 : -1;
}

static int
fill_operands(cwj_spec *spec, PyObject *names, PyObject *shapes, PyObject *outputs,
              const cwj_arguments *arguments)
{
    Py_ssize_t ninputs = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    Py_ssize_t nshapes = shapes == NULL ? 0 : PyTuple_GET_SIZE(shapes);
    Py_ssize_t noutputs = outputs == NULL ? 0 : count_outputs(spec, outputs);
    if (noutputs < 0) {
        return -1;
    }
    if (ninputs + noutputs > MAX_OPERANDS) {
        return cwj_refuse(spec->who, PyExc_ValueError, "%zd inputs and outputs; at most %d",
                          ninputs + noutputs, MAX_OPERANDS);
    }
    tj_operand *operands =
        cwj_arena_alloc(&spec->arena, (size_t)(ninputs + noutputs), sizeof(tj_operand));
    if (operands == NULL || take_input_names(spec, operands, names, ninputs) < 0) {
        return -1;
    }
    if (nshapes != ninputs) {
        return cwj_refuse(spec->who, PyExc_ValueError,
                          "prototype_input has %zd shapes, args_input has %zd names", nshapes,
                          ninputs);
    }
    spec->tj.operands = operands;
    spec->tj.noperands = (int)(ninputs + noutputs);
    spec->tj.noutputs = (int)noutputs;
    if (take_input_shapes(spec, operands, shapes, nshapes) < 0 ||
        take_updated(spec, operands, ninputs, arguments->args_inout, "args_inout", TJ_INOUT) < 0 ||
        take_updated(spec, operands, ninputs, arguments->args_shared, "args_shared", TJ_SHARED) <
            0) {
        return -1;
    }
    return take_outputs(spec, operands + ninputs, outputs);
}

static int
take_prototypes(cwj_spec *spec, const cwj_arguments *arguments)
{
    PyObject *names = arguments->args_input, *shapes = arguments->prototype_input, *outputs;
    if ((names != NULL && (names = cwj_take_tuple(spec, names, "args_input")) == NULL) ||
        (shapes != NULL && (shapes = cwj_take_tuple(spec, shapes, "prototype_input")) == NULL) ||
        find_output_prototype(spec, arguments, &outputs) < 0) {
        return -1;
    }
    return fill_operands(spec, names, shapes, outputs, arguments);
}

/* ---- from a signature string ------------------------------------------- */

/* Returns the name of the first argument given that a signature replaces, or NULL. */
static const char *
replaced_argument(const cwj_arguments *arguments)
{
    return cwj_given(arguments->args_input)         ? "args_input"
           : cwj_given(arguments->prototype_input)  ? "prototype_input"
           : cwj_given(arguments->prototype_output) ? "prototype_output"
           : cwj_given(arguments->args_inout)       ? "args_inout"
           : cwj_given(arguments->args_shared)      ? "args_shared"
                                                    : NULL;
}

/* Checks names like those in args_input, and the number of dims. */
static int
check_signature_names(cwj_spec *spec)
{
    for (int k = 0; k < spec->tj.noperands; k++) {
        PyObject *name = PyUnicode_FromString(spec->tj.operands[k].name);
        int sound = name != NULL && cwj_is_name(name);
        if (name != NULL && !sound) {
            cwj_refuse(spec->who, PyExc_ValueError,
                       "signature: %R is not a name that Python can use", name);
        }
        Py_XDECREF(name);
        if (!sound) {
            return -1;
        }
        if (spec->tj.operands[k].ndims > max_dims()) {
            return cwj_refuse(spec->who, PyExc_ValueError,
                              "signature: '%s' has %d dims; NumPy has at most %d",
                              spec->tj.operands[k].name, spec->tj.operands[k].ndims, max_dims());
        }
    }
    return 0;
}

static int
take_signature(cwj_spec *spec, const cwj_arguments *arguments)
{
    PyObject *text = arguments->signature;
    const char *replaced = replaced_argument(arguments);
    size_t length = 0;
    if (replaced != NULL) {
        return cwj_refuse(spec->who, PyExc_TypeError, "signature takes the place of %s: give one",
                          replaced);
    }
    if (!PyUnicode_Check(text)) {
        return cwj_refuse_type(spec->who, "signature", "a str", text);
    }
    const char *utf8 = cwj_take_text(spec, text, &length);
    if (utf8 == NULL) {
        return -1;
    }
    tj_error error;
    tj_error_init(&error);
    if (tj_signature_parse(utf8, length, &spec->signature, &error) != TJ_OK) {
        cwj_raise_at(spec->who, "signature", &error, text);
        tj_error_clear(&error);
        return -1;
    }
    spec->tj.operands = spec->signature.operands;
    spec->tj.noperands = spec->signature.noperands;
    spec->tj.noutputs = spec->signature.noutputs;
    spec->tj.flags |= spec->signature.one_output ? CWJ_ONE_OUTPUT : 0;
    if (spec->tj.noperands > MAX_OPERANDS) {
        return cwj_refuse(spec->who, PyExc_ValueError, "signature: %d operands; at most %d",
                          spec->tj.noperands, MAX_OPERANDS);
    }
    return check_signature_names(spec);
}

int
cwj_take_operands(cwj_spec *spec, const cwj_arguments *arguments)
{
    if ((cwj_given(arguments->signature) ? take_signature(spec, arguments)
                                         : take_prototypes(spec, arguments)) < 0) {
        return -1;
    }
    int updates = 0;
    for (int k = 0; k < spec->tj.noperands; k++) {
        updates |= spec->tj.operands[k].role != TJ_IN;
    }
    if (!updates) {
        return cwj_refuse(spec->who, PyExc_ValueError,
                          "there is neither an output nor an argument that is updated (inout)");
    }
    return 0;
}
