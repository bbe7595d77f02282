/* spec_dims.c: reads output_dims={"m": "n*(n-1)/2"}, the computed lengths of outputs, as cwrapjit/_arguments.py
 * returns them. */
#include "function/spec_parts.h"

static int
read_step(cwj_spec *spec, tj_dim_step *step, PyObject *item)
{
    PyObject *value;
    if (!PyArg_ParseTuple(item, "iO:step", &step->op, &value)) {
        return -1;
    }
    if (PyUnicode_Check(value)) {
        step->name = cwj_take_text(spec, value, NULL);
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
    dim->name = list == NULL ? NULL : cwj_take_text(spec, name, NULL);
    dim->text = dim->name == NULL ? NULL : cwj_take_text(spec, text, NULL);
    if (dim->text == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (read_step(spec, &list[i], PyList_GET_ITEM(steps, i)) < 0) {
            return -1;
        }
    }
    dim->steps = list;
    dim->nsteps = (int)count;
    return 0;
}

int
cwj_take_output_dims(cwj_spec *spec, PyObject *output_dims)
{
    if (!cwj_given(output_dims)) {
        return 0;
    }
    PyObject *items = cwj_ask_python("cwrapjit._arguments", "output_dims", "(sNO)", spec->who,
                                     cwj_describe_operands(spec), output_dims);
    Py_ssize_t count = items == NULL ? 0 : PyList_GET_SIZE(items);
    tj_output_dim *dims =
        items == NULL ? NULL : cwj_arena_alloc(&spec->arena, (size_t)count, sizeof(tj_output_dim));
    int status = dims == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; i < count && status == 0; i++) {
        status = read_dim(spec, &dims[i], PyList_GET_ITEM(items, i));
    }
    spec->tj.output_dims = dims;
    spec->tj.noutput_dims = status == 0 ? (int)count : 0;
    Py_XDECREF(items);
    return status;
}
