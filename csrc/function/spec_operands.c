/* spec_operands.c: reads the operands, from args_input and the prototypes or from a signature.
 *
 * A prototype is a tuple of shapes, a shape is a tuple of dims, and a dim is a length or a name. cwrapjit/_arguments.py
 * checks them.
 */
#include "function/spec_parts.h"

#include "base/errors.h"
#include "base/tuples.h"

enum {
    MAX_OPERANDS = 1024
}; /* more than any function needs; counts fit in an int */

static int
max_dims(void)
{
    return PyArray_GetNDArrayCFeatureVersion() >= 0x12 ? 64 : 32; /* NumPy 2, NumPy 1 */
}

/* ---- from prototypes --------------------------------------------------- */

int
cwj_read_dims(cwj_spec *spec, tj_operand *operand, PyObject *dims)
{
    Py_ssize_t count = PyTuple_GET_SIZE(dims);
    tj_dim *list = cwj_arena_alloc(&spec->arena, (size_t)count, sizeof(tj_dim));
    for (Py_ssize_t i = 0; i < count && list != NULL; i++) {
        PyObject *dim = PyTuple_GET_ITEM(dims, i);
        if (PyUnicode_Check(dim)) {
            list[i].name = cwj_take_text(spec, dim, NULL);
        } else {
            list[i].size = PyLong_AsSsize_t(dim);
        }
    }
    operand->ndims = (int)count;
    operand->dims = list;
    return PyErr_Occurred() ? -1 : 0;
}

static int
read_operand(cwj_spec *spec, tj_operand *operand, PyObject *item)
{
    PyObject *name, *dims;
    int role;
    if (!PyArg_ParseTuple(item, "UiO!:operand", &name, &role, &PyTuple_Type, &dims)) {
        return -1;
    }
    operand->name = cwj_take_text(spec, name, NULL);
    operand->role = (tj_role)role;
    return operand->name == NULL ? -1 : cwj_read_dims(spec, operand, dims);
}

static int
read_operands(cwj_spec *spec, PyObject *items)
{
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    tj_operand *operands = cwj_arena_alloc(&spec->arena, (size_t)count, sizeof(tj_operand));
    for (Py_ssize_t k = 0; k < count; k++) {
        if (operands == NULL || read_operand(spec, &operands[k], PyTuple_GET_ITEM(items, k)) < 0) {
            return -1;
        }
        spec->tj.noutputs += operands[k].role == TJ_OUT;
    }
    spec->tj.operands = operands;
    spec->tj.noperands = (int)count;
    return 0;
}

static int
take_prototypes(cwj_spec *spec, const cwj_arguments *arguments)
{
    PyObject *items;
    int is_one, status = -1;
    PyObject *read = cwj_ask_python("cwrapjit._arguments", "operands", "(sN)", spec->who,
                                    cwj_arguments_given(arguments));
    if (read != NULL && PyArg_ParseTuple(read, "pO!:operands", &is_one, &PyTuple_Type, &items)) {
        spec->tj.flags |= is_one ? CWJ_ONE_OUTPUT : 0;
        status = read_operands(spec, items);
    }
    Py_XDECREF(read);
    return status;
}

/* ---- what is known ----------------------------------------------------- */

static PyObject *
describe_dims(const tj_operand *operand)
{
    PyObject *shape = PyTuple_New(operand->ndims);
    for (int i = 0; i < operand->ndims && shape != NULL; i++) {
        const tj_dim *dim = &operand->dims[i];
        cwj_tuple_fill(&shape, i,
                       dim->name != NULL ? PyUnicode_FromString(dim->name)
                                         : PyLong_FromSsize_t((Py_ssize_t)dim->size));
    }
    return shape;
}

PyObject *
cwj_describe_operands(const cwj_spec *spec)
{
    PyObject *all = PyTuple_New(spec->tj.noperands);
    for (int k = 0; k < spec->tj.noperands && all != NULL; k++) {
        const tj_operand *operand = &spec->tj.operands[k];
        cwj_tuple_fill(
            &all, k,
            Py_BuildValue("(siN)", operand->name, (int)operand->role, describe_dims(operand)));
    }
    return all;
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
