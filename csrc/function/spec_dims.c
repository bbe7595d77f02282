/* spec_dims.c: reads output_dims={"m": "n*(n-1)/2"}, the computed lengths of outputs. */
#include "function/spec_parts.h"

#include "base/errors.h"

/* Returns the first of `count` operands, beginning with `first`, that has the dim; NULL if none has it. */
static const tj_operand *
who_has(const tj_operand *first, int count, const char *name)
{
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < first[k].ndims; i++) {
            if (first[k].dims[i].name != NULL && strcmp(first[k].dims[i].name, name) == 0) {
                return &first[k];
            }
        }
    }
    return NULL;
}

/* Checks that an output has the dim and no input has it. */
static int
check_name(const cwj_spec *spec, const char *name)
{
    const tj_spec *tj = &spec->tj;
    int ninputs = tj->noperands - tj->noutputs;
    const tj_operand *input = who_has(tj->operands, ninputs, name);
    if (input != NULL) {
        return cwj_refuse(spec->who, PyExc_ValueError,
                          "output_dims: '%s' is a dimension of the input '%s', which sets it", name,
                          input->name);
    }
    if (who_has(tj->operands + ninputs, tj->noutputs, name) == NULL) {
        return cwj_refuse(spec->who, PyExc_ValueError,
                          "output_dims: no output has a dimension '%s'", name);
    }
    return 0;
}

static int
take_expression(cwj_spec *spec, tj_output_dim *dim, PyObject *text)
{
    const char *what = cwj_arena_format(&spec->arena, "output_dims['%s']", dim->name);
    size_t length = 0;
    tj_error error;
    if (what == NULL) {
        return -1;
    }
    if (!PyUnicode_Check(text)) {
        return cwj_refuse_type(spec->who, what, "a str, such as \"n*(n-1)/2\"", text);
    }
    dim->text = cwj_take_text(spec, text, &length);
    if (dim->text == NULL) {
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

static int
take_items(cwj_spec *spec, PyObject *items)
{
    Py_ssize_t count = PyList_GET_SIZE(items);
    tj_output_dim *dims = cwj_arena_alloc(&spec->arena, (size_t)count, sizeof(tj_output_dim));
    if (dims == NULL) {
        return -1;
    }
    spec->tj.output_dims = dims;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GET_ITEM(items, i);
        dims[i].name = cwj_take_name(spec, PyTuple_GET_ITEM(item, 0), "output_dims: a name");
        if (dims[i].name == NULL || check_name(spec, dims[i].name) < 0 ||
            take_expression(spec, &dims[i], PyTuple_GET_ITEM(item, 1)) < 0) {
            return -1;
        }
        spec->tj.noutput_dims++;
    }
    return 0;
}

int
cwj_take_output_dims(cwj_spec *spec, PyObject *output_dims)
{
    if (!cwj_given(output_dims)) {
        return 0;
    }
    if (!PyDict_Check(output_dims)) {
        return cwj_refuse_type(spec->who, "output_dims",
                               "a dict of names and expressions, such as {\"m\": \"n*(n-1)/2\"}",
                               output_dims);
    }
    PyObject *items = PyDict_Items(output_dims); /* copied: finalizers may change it */
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
