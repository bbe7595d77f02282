/* spec_windows.c: copies the windows that cwrapjit/_windows.py has read. The prototype of such an input is either the
 * window's shape or (), which the window's shape replaces. */
#include "function/spec_parts.h"

#include "base/errors.h"
#include "base/numbers.h"
#include "base/tuples.h"

/* Stores cval as a value of a type, unless it has these bytes already. Returns 0, or -1 with an exception set. */
static int
store_fill(const cwj_spec *spec, PyObject *value, const tj_type *type, const char *what,
           unsigned char *fill)
{
    _Alignas(16) char bytes[CWJ_FILL_BYTES] = {0};
    _Static_assert((int)CWJ_FILL_BYTES >= (int)CWJ_NUMBER_BYTES, "room for any number");
    if (PyBytes_Check(value)) { /* a date */
        memcpy(fill, PyBytes_AS_STRING(value), sizeof(npy_int64));
        return 0;
    }
    cwj_fit fit = cwj_store_weak(value, type->type_num, bytes);
    fit = fit == CWJ_FITS_BY_NUMPY ? cwj_store_by_numpy(value, type->type_num, bytes) : fit;
    if (fit == CWJ_FIT_ERROR) {
        return -1;
    }
    if (fit != CWJ_FITS) {
        return cwj_refuse(spec->who,
                          fit == CWJ_NO_SUCH_VALUE ? PyExc_OverflowError : PyExc_TypeError,
                          "%s: %R is no value of %s", what, value, type->label);
    }
    memcpy(fill, bytes, sizeof(bytes));
    return 0;
}

/* fills: a tuple of a value per type set; None: zeros, and window->fills stays NULL. */
static int
read_fills(cwj_spec *spec, int k, tj_window *window, PyObject *fills, const char *what)
{
    const tj_spec *tj = &spec->tj;
    if (fills == Py_None) {
        return 0;
    }
    unsigned char *all = cwj_arena_alloc(&spec->arena, (size_t)tj->ntypesets, CWJ_FILL_BYTES);
    for (int t = 0; t < tj->ntypesets; t++) {
        if (all == NULL || store_fill(spec, PyTuple_GET_ITEM(fills, t), &tj->typesets[t].types[k],
                                      what, all + (size_t)t * CWJ_FILL_BYTES) < 0) {
            return -1;
        }
    }
    window->fills = all;
    return 0;
}

static int
read_window(cwj_spec *spec, int k, tj_operand *operand, tj_window *window, PyObject *item)
{
    PyObject *shape, *moved, *far, *fills;
    const char *what;
    if (!PyArg_ParseTuple(item, "O!iO!O!sO:window", &PyTuple_Type, &shape, &window->border,
                          &PyTuple_Type, &moved, &PyTuple_Type, &far, &what, &fills) ||
        cwj_read_dims(spec, operand, shape) < 0) {
        return -1;
    }
    int *axes = cwj_arena_alloc(&spec->arena, (size_t)operand->ndims, sizeof(int));
    ptrdiff_t *steps = cwj_arena_alloc(&spec->arena, (size_t)operand->ndims, sizeof(ptrdiff_t));
    if (axes == NULL || steps == NULL) {
        return -1;
    }
    for (int i = 0; i < operand->ndims; i++) {
        axes[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(moved, i));
        steps[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(far, i));
    }
    window->axes = axes;
    window->steps = steps;
    return read_fills(spec, k, window, fills, what);
}

int
cwj_read_windows(cwj_spec *spec, PyObject *items)
{
    size_t count = (size_t)spec->tj.noperands;
    tj_operand *operands = cwj_arena_alloc(&spec->arena, count, sizeof(tj_operand));
    tj_window *windows = cwj_arena_alloc(&spec->arena, count, sizeof(tj_window));
    if (operands == NULL || windows == NULL) {
        return -1;
    }
    memcpy(operands, spec->tj.operands, count * sizeof(tj_operand));
    for (size_t k = 0; k < count; k++) {
        PyObject *item = PyTuple_GET_ITEM(items, k);
        if (item != Py_None && read_window(spec, (int)k, &operands[k], &windows[k], item) < 0) {
            return -1;
        }
    }
    spec->tj.operands = operands;
    spec->tj.windows = windows;
    return 0;
}

PyObject *
cwj_describe_windows(const cwj_spec *spec)
{
    PyObject *dict = PyDict_New();
    for (int k = 0; k < spec->tj.noperands && spec->tj.windows != NULL && dict != NULL; k++) {
        const char *fills = (const char *)spec->tj.windows[k].fills;
        if (spec->tj.windows[k].axes != NULL) {
            cwj_dict_put(&dict, spec->tj.operands[k].name,
                         cwj_ask_python("cwrapjit._windows", "describe_window", "(Osy#)",
                                        PyTuple_GET_ITEM(spec->windows, k),
                                        spec->tj.typesets[0].types[k].label, fills,
                                        (Py_ssize_t)CWJ_FILL_BYTES));
        }
    }
    return dict;
}
