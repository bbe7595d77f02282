/* spec_types.c: reads type sets, the keys of Ccode_slice_eval, that cwrapjit/_arguments.py has checked.
 *
 * A type is identified by NumPy's type number; types that are the same in memory and in C (long long and long) get one
 * number.
 */
#include "function/spec_parts.h"

_Static_assert(NPY_SIZEOF_LONG == NPY_SIZEOF_LONGLONG, "no other two numbers are the same");

/* Returns the text of a str, or NULL for None. */
static const char *
take_or_null(cwj_spec *spec, PyObject *text)
{
    return text == Py_None ? NULL : cwj_take_text(spec, text, NULL);
}

static int
read_type(cwj_spec *spec, tj_type *type, PyObject *item)
{
    PyObject *label, *ctype, *dtype;
    Py_ssize_t itemsize;
    if (!PyArg_ParseTuple(item, "inUOO:type", &type->type_num, &itemsize, &label, &ctype, &dtype)) {
        return -1;
    }
    type->itemsize = (size_t)itemsize;
    type->label = cwj_take_text(spec, label, NULL);
    type->ctype = take_or_null(spec, ctype);
    type->dtype = take_or_null(spec, dtype);
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
        if (read_type(spec, &types[k], PyTuple_GET_ITEM(items, k)) < 0) {
            return -1;
        }
    }
    set->types = types;
    const char *name = PyUnicode_AsUTF8(label);
    return name == NULL ? -1 : cwj_take_piece(spec, &set->body, body, name);
}

static int
read_sets(cwj_spec *spec, PyObject *items)
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

int
cwj_take_typesets(cwj_spec *spec, const cwj_arguments *arguments)
{
    PyObject *records, *read = cwj_ask_python("cwrapjit._arguments", "typesets", "(ssNN)",
                                              spec->who, spec->tj.name, cwj_describe_operands(spec),
                                              cwj_arguments_given(arguments));
    int status = -1;
    if (read != NULL &&
        PyArg_ParseTuple(read, "OO!:typesets", &records, &PyList_Type, &spec->sets) &&
        Py_NewRef(spec->sets) != NULL && read_sets(spec, spec->sets) == 0) {
        spec->tj.records = take_or_null(spec, records);
        status = PyErr_Occurred() ? -1 : 0;
    }
    Py_XDECREF(read);
    return status;
}
