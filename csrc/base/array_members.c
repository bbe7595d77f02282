/* array_members.c: checks whether compiled code may read NumPy's arrays in place.
 *
 * The members of arrays and of dtypes are part of NumPy's binary interface, but those of dtypes
 * moved in NumPy 2. Once per process, we compare the members of some arrays with the attributes
 * that NumPy reports. If they differ, code is compiled with calls instead (symbols.c).
 */
#include "base/array_members.h"

#include "../../cwrapjit/include/cwj_layout.h"

#define TEN(value) value, value, value, value, value, value, value, value, value, value
const npy_intp cwj_no_dims[NPY_MAXDIMS] = {TEN(1), TEN(1), TEN(1), TEN(1), TEN(1),
                                           TEN(1), 1,      1,      1,      1};
const npy_intp cwj_no_strides[NPY_MAXDIMS] = {0};
_Static_assert(NPY_MAXDIMS == 64, "as many ones");

typedef struct {
    CWJ_ARRAY_MEMBERS
} array_members;
typedef struct {
    CWJ_DESCR_MEMBERS_1
} descr_members_1;
typedef struct {
    CWJ_DESCR_MEMBERS_2
} descr_members_2;

/* ---- values that NumPy reports --------------------------------------------- */

/* Returns the attribute as an integer, or -1 with an exception set; the attribute may be -1, too. */
static npy_intp
number_of(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    npy_intp number = value == NULL ? -1 : PyLong_AsSsize_t(value);
    Py_XDECREF(value);
    return number;
}

/* Returns true if the attribute is a tuple of the integers at `numbers`. */
static bool
is_tuple(PyObject *object, const char *name, const npy_intp *numbers, int count)
{
    PyObject *tuple = PyObject_GetAttrString(object, name);
    bool same = tuple != NULL && PyTuple_Check(tuple) && PyTuple_GET_SIZE(tuple) == count;
    for (int i = 0; i < count && same; i++) {
        same = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, i)) == numbers[i];
    }
    Py_XDECREF(tuple);
    return same;
}

/* Returns the address of the first element that NumPy reports. */
static void *
address_of(PyObject *array)
{
    PyObject *interface = PyObject_GetAttrString(array, "__array_interface__");
    PyObject *data = interface == NULL ? NULL : PyDict_GetItemString(interface, "data");
    void *address = data != NULL && PyTuple_Check(data) && PyTuple_GET_SIZE(data) == 2
                        ? PyLong_AsVoidPtr(PyTuple_GET_ITEM(data, 0))
                        : NULL;
    Py_XDECREF(interface);
    return address;
}

/* ---- values in memory ------------------------------------------------------ */

static bool
has_members(PyObject *object, int flags)
{
    const array_members *array = (const array_members *)object;
    PyObject *base = PyObject_GetAttrString(object, "base");
    PyObject *descr = PyObject_GetAttrString(object, "dtype");
    bool same = array->nd == number_of(object, "ndim") && array->data == address_of(object) &&
                (PyObject *)array->descr == descr &&
                (array->base == NULL ? Py_None : array->base) == base &&
                (array->flags & flags) == flags &&
                is_tuple(object, "shape", array->dimensions, array->nd) &&
                is_tuple(object, "strides", array->strides, array->nd);
    Py_XDECREF(base);
    Py_XDECREF(descr);
    return same && !PyErr_Occurred();
}

#define SAYS(at, number, size, alignment_) \
    ((at)->type_num == (number) && (at)->elsize == (size) && (at)->alignment == (alignment_))

/* Returns 1 or 2 if the array's dtype has the members of that NumPy version; otherwise 0. */
static int
find_descr(PyObject *array)
{
    PyObject *descr = PyObject_GetAttrString(array, "dtype");
    npy_intp number = descr == NULL ? -1 : number_of(descr, "num");
    npy_intp size = descr == NULL ? -1 : number_of(descr, "itemsize");
    npy_intp alignment = descr == NULL ? -1 : number_of(descr, "alignment");
    int found = 0;
    if (!PyErr_Occurred()) {
        found = SAYS((const descr_members_1 *)descr, number, size, alignment)   ? 1
                : SAYS((const descr_members_2 *)descr, number, size, alignment) ? 2
                                                                                : 0;
    }
    Py_XDECREF(descr);
    return found;
}

/* Returns the same for all members of this array. Steals the reference to the array. */
static int
find_layout(PyObject *array, int flags)
{
    int found = array != NULL && has_members(array, flags) ? find_descr(array) : 0;
    Py_XDECREF(array);
    return found;
}

/* Checks several kinds of arrays, which must agree. */
static int
look_at_arrays(void)
{
    npy_intp dims[] = {2, 3, 4};
    PyObject *plain = PyArray_EMPTY(3, dims, NPY_DOUBLE, 1);
    PyObject *view = plain == NULL ? NULL : PyArray_SwapAxes((PyArrayObject *)plain, 0, 1);
    int first = find_layout(plain, NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_BEHAVED);
    int second = find_layout(view, NPY_ARRAY_BEHAVED);
    int third = find_layout(PyArray_EMPTY(0, dims, NPY_INT16, 0), NPY_ARRAY_C_CONTIGUOUS);
    return first == second && first == third ? first : 0;
}

const char *const *
cwj_layout_macros(void)
{
    static const char *const macros[][2] = {
        {NULL}, {"CWJ_ARRAY_LAYOUT=1", NULL}, {"CWJ_ARRAY_LAYOUT=2", NULL}};
    static int layout = -1; /* -1: not checked yet */
    if (layout < 0) {
        int found = look_at_arrays();
        if (PyErr_ExceptionMatches(PyExc_MemoryError)) {
            return NULL; /* this proves nothing about arrays: check again next time */
        }
        PyErr_Clear(); /* the arrays are NumPy's own, so no Python code has run */
        layout = found;
    }
    return macros[layout];
}
