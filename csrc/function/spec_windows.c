/* spec_windows.c: reads windows=, axes= and window_steps=, which make inputs windows.
 * spec_borders.c reads border= and cval=.
 *
 * Each argument is a dict by the names of inputs; border and cval may also be one value for all windows. The
 * prototype of such an input is either the window's shape or (), which the window's shape replaces.
 */
#include "function/spec_parts.h"

#include "base/errors.h"
#include "base/tuples.h"

#include <limits.h>

/* The arrays that are filled: copies, which the spec gets if all arguments are valid. */
typedef struct windows {
    cwj_spec *spec;
    tj_operand *operands; /* [noperands] */
    tj_window *windows;   /* [noperands] */
} windows;

/* Reads an argument's value for input k; `what` names it in messages: "axes for 'x'". */
typedef int taker(windows *this, int k, PyObject *value, const char *what);

/* ---- windows ----------------------------------------------------------- */

static int
same_dim(const tj_dim *one, const tj_dim *other)
{
    return one->name == NULL || other->name == NULL
               ? one->name == other->name && one->size == other->size
               : strcmp(one->name, other->name) == 0;
}

/* Checks that the prototype is () or the window's shape. */
static int
check_prototype(const cwj_spec *spec, const tj_operand *written, const tj_operand *window,
                const char *what)
{
    int same = written->ndims == 0 || written->ndims == window->ndims;
    for (int i = 0; i < written->ndims && same; i++) {
        same = same_dim(&written->dims[i], &window->dims[i]);
    }
    return same ? 0
                : cwj_refuse(spec->who, PyExc_ValueError,
                             "%s: the prototype of '%s' has another shape; wanted () or the "
                             "window's, and a slice sees nothing beside its window",
                             what, written->name);
}

/* True if an input that is not a window has the dim. */
static int
is_told(const windows *this, const char *name)
{
    for (int k = 0; k < this->spec->tj.noperands - this->spec->tj.noutputs; k++) {
        const tj_operand *operand = &this->operands[k];
        for (int i = 0; i < operand->ndims && this->windows[k].axes == NULL; i++) {
            if (operand->dims[i].name != NULL && strcmp(operand->dims[i].name, name) == 0) {
                return 1;
            }
        }
    }
    return 0;
}

static int
check_lengths(const cwj_spec *spec, const tj_operand *operand, const char *what)
{
    if (operand->ndims == 0) {
        return cwj_refuse(spec->who, PyExc_ValueError, "%s is empty; wanted a length per axis",
                          what);
    }
    for (int i = 0; i < operand->ndims; i++) {
        const tj_dim *dim = &operand->dims[i];
        if (dim->name == NULL && (dim->size < 1 || dim->size > INT_MAX)) {
            return cwj_refuse(spec->who, PyExc_ValueError,
                              "%s: dim %d must be from 1 to %d, got %zd", what, i, INT_MAX,
                              (Py_ssize_t)dim->size);
        }
    }
    return 0;
}

/* Sets the defaults: the last axes, steps of 1, border 'reflect'. */
static int
take_defaults(windows *this, int k)
{
    cwj_arena *arena = &this->spec->arena;
    int ndims = this->operands[k].ndims;
    int *axes = cwj_arena_alloc(arena, (size_t)ndims, sizeof(int));
    ptrdiff_t *steps = cwj_arena_alloc(arena, (size_t)ndims, sizeof(ptrdiff_t));
    if (axes == NULL || steps == NULL) {
        return -1;
    }
    for (int i = 0; i < ndims; i++) {
        axes[i] = i - ndims;
        steps[i] = 1;
    }
    this->windows[k] = (tj_window){.border = CWJ_REFLECT, .axes = axes, .steps = steps};
    return 0;
}

static int
take_window(windows *this, int k, PyObject *value, const char *what)
{
    cwj_spec *spec = this->spec;
    tj_operand *operand = &this->operands[k], written = *operand;
    if (operand->role != TJ_IN) {
        return cwj_refuse(spec->who, PyExc_ValueError,
                          "%s: it is %s; windows move over inputs that are only read", what,
                          operand->role == TJ_OUT ? "an output" : "updated in place");
    }
    return cwj_take_shape(spec, operand, value, what) < 0 ||
                   check_lengths(spec, operand, what) < 0 ||
                   check_prototype(spec, &written, operand, what) < 0
               ? -1
               : take_defaults(this, k);
}

/* Checks that other inputs set the lengths that windows give by name. */
static int
check_names(const windows *this)
{
    for (int k = 0; k < this->spec->tj.noperands; k++) {
        const tj_operand *operand = &this->operands[k];
        for (int i = 0; i < operand->ndims && this->windows[k].axes != NULL; i++) {
            const char *name = operand->dims[i].name;
            if (name != NULL && !is_told(this, name)) {
                return cwj_refuse(this->spec->who, PyExc_ValueError,
                                  "windows for '%s': no other input sets dimension '%s'",
                                  operand->name, name);
            }
        }
    }
    return 0;
}

/* ---- axes and steps ------------------------------------------------------ */

/* Reads an int from least to most. Ints beyond ptrdiff_t are out of range. Returns 0, or -1 with an exception set. */
static int
take_int(const windows *this, PyObject *item, ptrdiff_t least, ptrdiff_t most, const char *what,
         Py_ssize_t i, ptrdiff_t *value)
{
    if (!PyIndex_Check(item) || PyBool_Check(item) || PyArray_Check(item)) {
        return cwj_refuse(this->spec->who, PyExc_TypeError, "%s[%zd] must be an int, not %s", what,
                          i, Py_TYPE(item)->tp_name);
    }
    *value = PyNumber_AsSsize_t(item, NULL); /* clipped */
    if (*value == -1 && PyErr_Occurred()) {
        return -1;
    }
    return *value >= least && *value <= most
               ? 0
               : cwj_refuse(this->spec->who, PyExc_ValueError,
                            "%s[%zd] must be from %zd to %zd, got %R", what, i, least, most, item);
}

/* Reads one int per axis of the window. Returns NULL with an exception set on failure. */
static ptrdiff_t *
take_ints(windows *this, int k, PyObject *value, ptrdiff_t least, ptrdiff_t most, const char *what)
{
    Py_ssize_t ndims = this->operands[k].ndims;
    PyObject *tuple = cwj_take_tuple(this->spec, value, what);
    if (tuple == NULL) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(tuple) != ndims) {
        cwj_refuse(this->spec->who, PyExc_ValueError, "%s: the window has %zd axes, got %zd ints",
                   what, ndims, PyTuple_GET_SIZE(tuple));
        return NULL;
    }
    ptrdiff_t *ints = cwj_arena_alloc(&this->spec->arena, (size_t)ndims, sizeof(ptrdiff_t));
    for (Py_ssize_t i = 0; i < ndims && ints != NULL; i++) {
        if (take_int(this, PyTuple_GET_ITEM(tuple, i), least, most, what, i, &ints[i]) < 0) {
            return NULL;
        }
    }
    return ints;
}

static int
take_axes(windows *this, int k, PyObject *value, const char *what)
{
    enum {
        MOST = 64 /* dims of arrays in any NumPy version */
    };
    int ndims = this->operands[k].ndims;
    ptrdiff_t *ints = take_ints(this, k, value, -MOST, MOST - 1, what);
    int *axes =
        ints == NULL ? NULL : cwj_arena_alloc(&this->spec->arena, (size_t)ndims, sizeof(int));
    if (axes == NULL) {
        return -1;
    }
    for (int i = 0; i < ndims; i++) {
        axes[i] = (int)ints[i];
        for (int j = 0; j < i; j++) {
            if (axes[j] == axes[i]) {
                return cwj_refuse(this->spec->who, PyExc_ValueError, "%s has axis %d twice", what,
                                  axes[i]);
            }
        }
    }
    this->windows[k].axes = axes;
    return 0;
}

static int
take_steps(windows *this, int k, PyObject *value, const char *what)
{
    this->windows[k].steps = take_ints(this, k, value, 1, INT_MAX, what);
    return this->windows[k].steps != NULL ? 0 : -1;
}

/* ---- borders ---------------------------------------------------------------- */

static int
take_border(windows *this, int k, PyObject *value, const char *what)
{
    return cwj_take_border(this->spec, &this->windows[k], value, what);
}

static int
take_fill(windows *this, int k, PyObject *value, const char *what)
{
    return cwj_take_fill(this->spec, k, &this->windows[k], value, what);
}

static int
check_borders(const windows *this)
{
    for (int k = 0; k < this->spec->tj.noperands; k++) {
        if (this->windows[k].axes != NULL &&
            cwj_check_border(this->spec, k, &this->windows[k]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- the arguments ------------------------------------------------------------ */

/* Returns the index of the operand of that name, or -1 with TypeError or ValueError set. */
static int
find_input(const windows *this, PyObject *name, const char *argument)
{
    const tj_spec *tj = &this->spec->tj;
    if (!PyUnicode_Check(name)) {
        return cwj_refuse(this->spec->who, PyExc_TypeError, "%s: %R must be the name of an input",
                          argument, name);
    }
    for (int k = 0; k < tj->noperands; k++) {
        if (PyUnicode_CompareWithASCIIString(name, tj->operands[k].name) == 0) {
            return k;
        }
    }
    return cwj_refuse(this->spec->who, PyExc_ValueError, "%s: there is no input %R", argument,
                      name);
}

static int
take_one(windows *this, PyObject *name, PyObject *value, const char *argument, taker *take)
{
    int k = find_input(this, name, argument);
    if (k < 0) {
        return -1;
    }
    if (take != take_window && this->windows[k].axes == NULL) {
        return cwj_refuse(this->spec->who, PyExc_ValueError, "%s: %R is not in windows", argument,
                          name);
    }
    const char *what =
        cwj_arena_format(&this->spec->arena, "%s for '%s'", argument, this->operands[k].name);
    return what == NULL ? -1 : take(this, k, value, what);
}

/* Reads a dict by the names of inputs. */
static int
take_each(windows *this, PyObject *values, const char *argument, taker *take)
{
    int status = 0;
    if (!PyDict_Check(values)) {
        return cwj_refuse(this->spec->who, PyExc_TypeError,
                          "%s must be a dict by the names of inputs, such as {'x': (3, 3)}, not %s",
                          argument, Py_TYPE(values)->tp_name);
    }
    PyObject *items = PyDict_Items(values); /* copied: an item's __index__ may change the dict */
    if (items == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items) && status == 0; i++) {
        PyObject *item = PyList_GET_ITEM(items, i);
        status =
            take_one(this, PyTuple_GET_ITEM(item, 0), PyTuple_GET_ITEM(item, 1), argument, take);
    }
    Py_DECREF(items);
    return status;
}

/* Reads a dict by the names of inputs, or one value for all windows. */
static int
take_for_all(windows *this, PyObject *value, const char *argument, taker *take)
{
    if (!cwj_given(value)) {
        return 0;
    }
    if (PyDict_Check(value)) {
        return take_each(this, value, argument, take);
    }
    for (int k = 0; k < this->spec->tj.noperands; k++) {
        if (this->windows[k].axes != NULL && take(this, k, value, argument) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Refuses arguments that have no meaning without windows=. */
static int
refuse_alone(const cwj_spec *spec, const cwj_arguments *arguments)
{
    const char *alone = cwj_given(arguments->border)         ? "border"
                        : cwj_given(arguments->cval)         ? "cval"
                        : cwj_given(arguments->axes)         ? "axes"
                        : cwj_given(arguments->window_steps) ? "window_steps"
                                                             : NULL;
    return alone == NULL ? 0 : cwj_refuse(spec->who, PyExc_ValueError, "%s needs windows", alone);
}

int
cwj_take_windows(cwj_spec *spec, const cwj_arguments *arguments)
{
    size_t count = (size_t)spec->tj.noperands;
    windows this = {.spec = spec};
    if (!cwj_given(arguments->windows)) {
        return refuse_alone(spec, arguments);
    }
    this.operands = cwj_arena_alloc(&spec->arena, count, sizeof(tj_operand));
    this.windows = cwj_arena_alloc(&spec->arena, count, sizeof(tj_window));
    if (this.operands == NULL || this.windows == NULL) {
        return -1;
    }
    memcpy(this.operands, spec->tj.operands, count * sizeof(tj_operand));
    if (take_each(&this, arguments->windows, "windows", take_window) < 0 ||
        check_names(&this) < 0 ||
        (cwj_given(arguments->axes) && take_each(&this, arguments->axes, "axes", take_axes) < 0) ||
        (cwj_given(arguments->window_steps) &&
         take_each(&this, arguments->window_steps, "window_steps", take_steps) < 0) ||
        take_for_all(&this, arguments->border, "border", take_border) < 0 ||
        take_for_all(&this, arguments->cval, "cval", take_fill) < 0 || check_borders(&this) < 0) {
        return -1;
    }
    spec->tj.operands = this.operands;
    spec->tj.windows = this.windows;
    return 0;
}

/* ---- description ---------------------------------------------------------------- */

/* Returns the window's dims as a tuple of lengths and names. */
static PyObject *
shape_of(const tj_operand *operand)
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

/* Returns the axes along which the window moves or, with `steps`, its step along each axis. */
static PyObject *
moves_of(const tj_window *window, int ndims, int steps)
{
    PyObject *moves = PyTuple_New(ndims);
    for (int i = 0; i < ndims && moves != NULL; i++) {
        cwj_tuple_fill(&moves, i, PyLong_FromSsize_t(steps ? window->steps[i] : window->axes[i]));
    }
    return moves;
}

static PyObject *
describe_window(const cwj_spec *spec, int k)
{
    const tj_window *window = &spec->tj.windows[k];
    const tj_operand *operand = &spec->tj.operands[k];
    PyObject *dict = PyDict_New();
    cwj_dict_put(&dict, "window", shape_of(operand));
    cwj_dict_put(&dict, "border", PyUnicode_FromString(cwj_border_name(window->border)));
    if (window->border == CWJ_CONSTANT && dict != NULL) {
        cwj_dict_put(&dict, "cval", cwj_fill_value(spec, k));
    }
    cwj_dict_put(&dict, "axes", moves_of(window, operand->ndims, 0));
    cwj_dict_put(&dict, "window_steps", moves_of(window, operand->ndims, 1));
    return dict;
}

PyObject *
cwj_describe_windows(const cwj_spec *spec)
{
    PyObject *dict = PyDict_New();
    for (int k = 0; k < spec->tj.noperands && spec->tj.windows != NULL && dict != NULL; k++) {
        if (spec->tj.windows[k].axes != NULL) {
            cwj_dict_put(&dict, spec->tj.operands[k].name, describe_window(spec, k));
        }
    }
    return dict;
}
