/* spec_operands.c: copies the operands and the types that cwrapjit/_arguments.py has read.
 *
 * A type is identified by NumPy's type number; types that are the same in memory and in C (long long and long) get one
 * number. spec->read keeps the texts.
 */
#include "function/spec_parts.h"

_Static_assert(NPY_SIZEOF_LONG == NPY_SIZEOF_LONGLONG, "no other two numbers are the same");

/* ---- operands ---------------------------------------------------------- */

int
cwj_read_dims(cwj_spec *spec, tj_operand *operand, PyObject *dims)
{
    Py_ssize_t count = PyTuple_GET_SIZE(dims);
    tj_dim *list = cwj_arena_alloc(&spec->arena, (size_t)count, sizeof(tj_dim));
    for (Py_ssize_t i = 0; i < count && list != NULL; i++) {
        PyObject *dim = PyTuple_GET_ITEM(dims, i);
        if (PyUnicode_Check(dim)) {
            list[i].name = PyUnicode_AsUTF8(dim);
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
    operand->name = PyUnicode_AsUTF8(name);
    operand->role = (tj_role)role;
    return operand->name == NULL ? -1 : cwj_read_dims(spec, operand, dims);
}

int
cwj_read_operands(cwj_spec *spec, PyObject *items)
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

/* ---- types ------------------------------------------------------------- */

static int
read_type(tj_type *type, PyObject *item)
{
    PyObject *label, *ctype, *dtype;
    Py_ssize_t itemsize;
    if (!PyArg_ParseTuple(item, "inUOO:type", &type->type_num, &itemsize, &label, &ctype, &dtype)) {
        return -1;
    }
    type->itemsize = (size_t)itemsize;
    type->label = PyUnicode_AsUTF8(label);
    type->ctype = ctype == Py_None ? NULL : PyUnicode_AsUTF8(ctype);
    type->dtype = dtype == Py_None ? NULL : PyUnicode_AsUTF8(dtype);
    return PyErr_Occurred() ? -1 : 0;
}

static int
read_set(cwj_spec *spec, tj_typeset *set, PyObject *item)
{
    size_t count = (size_t)spec->tj.noperands;
    PyObject *label, *body, *key, *items;
    tj_type *types = cwj_arena_alloc(&spec->arena, count, sizeof(tj_type));
    if (types == NULL ||
        !PyArg_ParseTuple(item, "UUOO!:set", &label, &body, &key, &PyTuple_Type, &items)) {
        return -1;
    }
    for (size_t k = 0; k < count; k++) {
        if (k > 0 && PyTuple_GET_ITEM(items, k) == PyTuple_GET_ITEM(items, k - 1)) {
            types[k] = types[k - 1];
        } else if (read_type(&types[k], PyTuple_GET_ITEM(items, k)) < 0) {
            return -1;
        }
    }
    set->types = types;
    const char *name = PyUnicode_AsUTF8(label);
    return name == NULL ? -1 : cwj_take_piece(spec, &set->body, body, name);
}

int
cwj_read_typesets(cwj_spec *spec, PyObject *items)
{
    Py_ssize_t count = PyList_GET_SIZE(items);
    tj_typeset *sets = cwj_arena_alloc(&spec->arena, (size_t)count, sizeof(tj_typeset));
    for (Py_ssize_t i = 0; i < count; i++) {
        if (sets == NULL || read_set(spec, &sets[i], PyList_GET_ITEM(items, i)) < 0) {
            return -1;
        }
    }
    spec->tj.typesets = sets;
    spec->tj.ntypesets = (int)count;
    return 0;
}
