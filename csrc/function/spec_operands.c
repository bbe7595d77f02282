/* spec_operands.c: names, roles and dims of the operands, from args_input and
 * the prototypes or from a signature string.
 *
 * A prototype is a tuple of shapes, a shape is a tuple of dims, a dim is a
 * length or a name. prototype_output may be one shape: () is a scalar, a tuple
 * of dims is an array, a tuple of tuples is several outputs.
 */
#include "function/spec_parts.h"

#include "base/errors.h"

enum {
    MAX_OPERANDS = 1024
}; /* far more than anybody writes; keeps counts in an int */

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

/* Fills an operand's dims; `what` is "prototype_input for 'a'". */
static int
take_shape(cwj_spec *spec, tj_operand *operand, PyObject *shape, const char *what)
{
    if (!cwj_is_sequence(shape)) {
        return cwj_refuse(spec->who, PyExc_TypeError,
                          "%s must be a tuple of dims, such as ('n', 3), not %s%s", what,
                          Py_TYPE(shape)->tp_name,
                          PyUnicode_Check(shape) ? "; one dim is written ('n',)" : "");
    }
    PyObject *dims = PySequence_Tuple(shape);
    int status = -1;
    if (dims == NULL) {
        return -1;
    }
    Py_ssize_t ndims = PyTuple_GET_SIZE(dims);
    tj_dim *list = NULL;
    if (ndims > max_dims()) {
        cwj_refuse(spec->who, PyExc_ValueError, "%s has %zd dims; NumPy has at most %d", what,
                   ndims, max_dims());
        goto done;
    }
    list = cwj_arena_alloc(&spec->arena, (size_t)ndims, sizeof(tj_dim));
    if (list == NULL) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < ndims; i++) {
        if (take_dim(spec, &list[i], PyTuple_GET_ITEM(dims, i), what, i) < 0) {
            goto done;
        }
    }
    operand->ndims = (int)ndims;
    operand->dims = list;
    status = 0;
done:
    Py_DECREF(dims);
    return status;
}

/* ---- inputs ------------------------------------------------------------ */

static int
take_input_names(cwj_spec *spec, tj_operand *operands, PyObject *names)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        char what[40];
        PyOS_snprintf(what, sizeof(what), "args_input[%zd]", i);
        operands[i].name = cwj_take_name(spec, PyTuple_GET_ITEM(names, i), what);
        if (operands[i].name == NULL) {
            return -1;
        }
        for (Py_ssize_t k = 0; k < i; k++) {
            if (strcmp(operands[k].name, operands[i].name) == 0) {
                return cwj_refuse(spec->who, PyExc_ValueError, "args_input has '%s' twice",
                                  operands[i].name);
            }
        }
    }
    return 0;
}

static int
take_input_shapes(cwj_spec *spec, tj_operand *operands, PyObject *shapes)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shapes); i++) {
        const char *what =
            cwj_arena_format(&spec->arena, "prototype_input for '%s'", operands[i].name);
        if (what == NULL || take_shape(spec, &operands[i], PyTuple_GET_ITEM(shapes, i), what) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Marks the inputs that args_inout names. */
static int
take_inouts(cwj_spec *spec, tj_operand *operands, int ninputs, PyObject *args_inout)
{
    int status = -1;
    if (args_inout == NULL || args_inout == Py_None) {
        return 0;
    }
    PyObject *names = cwj_take_tuple(spec, args_inout, "args_inout");
    if (names == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        char what[40];
        int k = 0;
        PyOS_snprintf(what, sizeof(what), "args_inout[%zd]", i);
        const char *name = cwj_take_name(spec, PyTuple_GET_ITEM(names, i), what);
        if (name == NULL) {
            goto done;
        }
        while (k < ninputs && strcmp(operands[k].name, name) != 0) {
            k++;
        }
        if (k == ninputs) {
            cwj_refuse(spec->who, PyExc_ValueError, "%s is '%s', which is not in args_input", what,
                       name);
            goto done;
        }
        if (operands[k].role == TJ_INOUT) {
            cwj_refuse(spec->who, PyExc_ValueError, "args_inout has '%s' twice", name);
            goto done;
        }
        operands[k].role = TJ_INOUT;
    }
    status = 0;
done:
    Py_DECREF(names);
    return status;
}

/* ---- outputs ----------------------------------------------------------- */

typedef enum {
    ONE_SHAPE,
    SEVERAL_SHAPES,
    MIXED_SHAPE
} shape_kind;

/* What a prototype_output says: one shape, or a tuple of shapes. */
static shape_kind
kind_of_outputs(PyObject *prototype)
{
    Py_ssize_t count = PyTuple_GET_SIZE(prototype), nested = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        nested += cwj_is_sequence(PyTuple_GET_ITEM(prototype, i));
    }
    return nested == 0 ? ONE_SHAPE : nested == count ? SEVERAL_SHAPES : MIXED_SHAPE;
}

static int
take_output(cwj_spec *spec, tj_operand *operand, PyObject *shape, Py_ssize_t index)
{
    operand->role = TJ_OUT;
    operand->name = index < 0 ? "output" : cwj_arena_format(&spec->arena, "output%zd", index);
    if (operand->name == NULL) {
        return -1;
    }
    const char *what = cwj_arena_format(&spec->arena, "prototype_output for '%s'", operand->name);
    return what == NULL ? -1 : take_shape(spec, operand, shape, what);
}

static int
take_outputs(cwj_spec *spec, tj_operand *operands, PyObject *prototype)
{
    if (prototype == NULL) {
        return 0; /* no outputs: some input is updated instead */
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

/* How many outputs there are, or -1. Sets CWJ_ONE_OUTPUT. */
static Py_ssize_t
count_outputs(cwj_spec *spec, PyObject *prototype)
{
    switch (kind_of_outputs(prototype)) {
    case ONE_SHAPE:
        spec->tj.flags |= CWJ_ONE_OUTPUT;
        return 1;
    case SEVERAL_SHAPES:
        return PyTuple_GET_SIZE(prototype);
    case MIXED_SHAPE:
        break;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(prototype); i++) {
        PyObject *item = PyTuple_GET_ITEM(prototype, i);
        if (cwj_is_sequence(item) != cwj_is_sequence(PyTuple_GET_ITEM(prototype, 0))) {
            cwj_refuse(
                spec->who, PyExc_TypeError,
                "prototype_output must be one shape, such as ('n', 3), or a tuple of shapes, "
                "such as (('n',), ()); item %zd is of the other kind than item 0: %s and %s",
                i, Py_TYPE(item)->tp_name, Py_TYPE(PyTuple_GET_ITEM(prototype, 0))->tp_name);
            break;
        }
    }
    return -1;
}

/* ---- from prototypes --------------------------------------------------- */

/* A tuple of the argument (empty when it is not given), or NULL. */
static PyObject *
tuple_or_empty(cwj_spec *spec, PyObject *object, const char *what)
{
    return object == NULL ? PyTuple_New(0) : cwj_take_tuple(spec, object, what);
}

/* The tuple of prototype_output in *prototype; NULL there where only inputs
 * are updated. */
static int
find_output_prototype(cwj_spec *spec, const cwj_arguments *arguments, PyObject **prototype)
{
    PyObject *given = arguments->prototype_output, *inout = arguments->args_inout;
    Py_ssize_t ninout = inout != NULL && cwj_is_sequence(inout) ? PySequence_Size(inout) : 0;
    *prototype = NULL;
    if (ninout < 0) {
        return -1;
    }
    if ((given == NULL || given == Py_None) && ninout > 0) {
        return 0;
    }
    if (given == NULL || given == Py_None) {
        return cwj_refuse(spec->who, PyExc_TypeError,
                          "prototype_output is required: () for a scalar, ('n',) for a vector, a "
                          "tuple of such shapes for several outputs%s",
                          given == Py_None ? "; got None" : "");
    }
    *prototype = cwj_take_tuple(spec, given, "prototype_output");
    return *prototype != NULL ? 0 : -1;
}

static int
fill_operands(cwj_spec *spec, PyObject *names, PyObject *shapes, PyObject *outputs,
              PyObject *args_inout)
{
    Py_ssize_t ninputs = PyTuple_GET_SIZE(names);
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
    if (operands == NULL || take_input_names(spec, operands, names) < 0) {
        return -1;
    }
    if (PyTuple_GET_SIZE(shapes) != ninputs) {
        return cwj_refuse(spec->who, PyExc_ValueError,
                          "prototype_input has %zd shapes, args_input has %zd names",
                          PyTuple_GET_SIZE(shapes), ninputs);
    }
    spec->tj.operands = operands;
    spec->tj.noperands = (int)(ninputs + noutputs);
    spec->tj.noutputs = (int)noutputs;
    if (take_input_shapes(spec, operands, shapes) < 0 ||
        take_inouts(spec, operands, (int)ninputs, args_inout) < 0) {
        return -1;
    }
    return take_outputs(spec, operands + ninputs, outputs);
}

static int
take_prototypes(cwj_spec *spec, const cwj_arguments *arguments)
{
    PyObject *names = NULL, *shapes = NULL, *outputs = NULL;
    int status = -1;
    names = tuple_or_empty(spec, arguments->args_input, "args_input");
    if (names == NULL) {
        goto done;
    }
    shapes = tuple_or_empty(spec, arguments->prototype_input, "prototype_input");
    if (shapes == NULL || find_output_prototype(spec, arguments, &outputs) < 0) {
        goto done;
    }
    status = fill_operands(spec, names, shapes, outputs, arguments->args_inout);
done:
    Py_XDECREF(names);
    Py_XDECREF(shapes);
    Py_XDECREF(outputs);
    return status;
}

/* ---- from a signature string ------------------------------------------- */

static int
given(PyObject *argument)
{
    return argument != NULL && argument != Py_None;
}

/* The first of the arguments that a signature replaces, or NULL. */
static const char *
replaced_argument(const cwj_arguments *arguments)
{
    return given(arguments->args_input)         ? "args_input"
           : given(arguments->prototype_input)  ? "prototype_input"
           : given(arguments->prototype_output) ? "prototype_output"
           : given(arguments->args_inout)       ? "args_inout"
                                                : NULL;
}

/* Names in a signature are checked as those in args_input are. */
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
        cwj_raise_signature(spec->who, &error, text);
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
    if ((given(arguments->signature) ? take_signature(spec, arguments)
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
