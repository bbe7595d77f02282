/* spec_dims.c: reads output_dims={"m": "n*(n-1)/2"}, the computed lengths of outputs. */
#include "function/spec_parts.h"

#include "base/errors.h"

static int
take_dim(cwj_spec *spec, tj_output_dim *dim, PyObject *name, PyObject *text)
{
    size_t length = 0;
    tj_error error;
    dim->name = cwj_take_text(spec, name, NULL);
    dim->text = dim->name == NULL ? NULL : cwj_take_text(spec, text, &length);
    const char *what =
        dim->text == NULL ? NULL : cwj_arena_format(&spec->arena, "output_dims['%s']", dim->name);
    if (what == NULL) {
        return -1;
    }
    tj_error_init(&error);
    tj_status status = tj_output_dim_parse(&spec->tj, dim->text, length, dim, &error);
    if (status != TJ_OK) {
        cwj_raise_at(spec->who, what, &error, text);
    }
    tj_error_clear(&error);
    return status == TJ_OK ? 0 : -1;
}

/* items: a tuple of pairs of str. */
static int
take_items(cwj_spec *spec, PyObject *items)
{
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    tj_output_dim *dims = cwj_arena_alloc(&spec->arena, (size_t)count, sizeof(tj_output_dim));
    spec->tj.output_dims = dims;
    for (Py_ssize_t i = 0; i < count && dims != NULL; i++) {
        PyObject *name, *text;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(items, i), "UU:output_dims", &name, &text) ||
            take_dim(spec, &dims[i], name, text) < 0) {
            return -1;
        }
        spec->tj.noutput_dims++;
    }
    return dims == NULL ? -1 : 0;
}

int
cwj_take_output_dims(cwj_spec *spec, PyObject *output_dims)
{
    if (!cwj_given(output_dims)) {
        return 0;
    }
    PyObject *items = cwj_ask_python("cwrapjit._arguments", "output_dims", "(sNO)", spec->who,
                                     cwj_describe_operands(spec), output_dims);
    int status = items == NULL ? -1 : take_items(spec, items);
    Py_XDECREF(items);
    return status;
}

void
cwj_clear_output_dims(cwj_spec *spec)
{
    for (int i = 0; i < spec->tj.noutput_dims; i++) {
        tj_output_dim_clear((tj_output_dim *)&spec->tj.output_dims[i]);
    }
}
