/* spec_dims.c: copies the computed lengths of outputs that cwrapjit/_lengths.py has read. */
#include "function/spec_parts.h"

static int
read_step(tj_dim_step *step, PyObject *item)
{
    PyObject *value;
    if (!PyArg_ParseTuple(item, "iO:step", &step->op, &value)) {
        return -1;
    }
    if (PyUnicode_Check(value)) {
        step->name = PyUnicode_AsUTF8(value);
    } else {
        step->value = PyLong_AsSsize_t(value);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int
read_dim(cwj_spec *spec, tj_output_dim *dim, PyObject *item)
{
    PyObject *name, *text, *steps;
    if (!PyArg_ParseTuple(item, "UUO!:output_dim", &name, &text, &PyList_Type, &steps)) {
        return -1;
    }
    Py_ssize_t count = PyList_GET_SIZE(steps);
    tj_dim_step *list = cwj_arena_alloc(&spec->arena, (size_t)count, sizeof(tj_dim_step));
    dim->name = list == NULL ? NULL : PyUnicode_AsUTF8(name);
    dim->text = dim->name == NULL ? NULL : PyUnicode_AsUTF8(text);
    if (dim->text == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (read_step(&list[i], PyList_GET_ITEM(steps, i)) < 0) {
            return -1;
        }
    }
    dim->steps = list;
    dim->nsteps = (int)count;
    return 0;
}

int
cwj_read_output_dims(cwj_spec *spec, PyObject *items)
{
    Py_ssize_t count = PyList_GET_SIZE(items);
    tj_output_dim *dims = cwj_arena_alloc(&spec->arena, (size_t)count, sizeof(tj_output_dim));
    for (Py_ssize_t i = 0; i < count; i++) {
        if (dims == NULL || read_dim(spec, &dims[i], PyList_GET_ITEM(items, i)) < 0) {
            return -1;
        }
    }
    spec->tj.output_dims = dims;
    spec->tj.noutput_dims = (int)count;
    return 0;
}
