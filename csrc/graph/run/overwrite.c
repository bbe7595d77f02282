/* overwrite.c: checks inputs that a run may change: In(x, mutable=True), if an op overwrites it.
 *
 * Values that share memory with such an input would change with it during the run, whatever the order of ops. They are
 * refused before the run, and so are inputs that must not be written. */
#include "graph/run/overwrite.h"

#include "base/extent.h"
#include "graph/run/storage.h"

bool
cwj_never_changes(PyObject *object)
{
    return object == Py_None || PyFloat_Check(object) || PyLong_Check(object) ||
           PyComplex_Check(object) || PyUnicode_Check(object) || PyBytes_Check(object) ||
           (PyArray_IsScalar(object, Generic) && !PyArray_IsScalar(object, Void));
}

static int
refuse(const cwj_graph_plan *plan, int v, const char *why)
{
    PyErr_Format(PyExc_ValueError, "%U(): '%S' is overwritten, but %s", plan->name,
                 plan->variables[v].label, why);
    return -1;
}

/* Returns 1, 0, or -1 with an exception set. */
static int
has_elements_apart(PyArrayObject *array)
{
    return PyArray_ISONESEGMENT(array) || PyArray_SIZE(array) == 0
               ? 1
               : elements_are_apart(PyArray_BYTES(array), PyArray_NDIM(array), PyArray_DIMS(array),
                                    PyArray_STRIDES(array), PyArray_ITEMSIZE(array));
}

/* Compares an input's object with that of another input or a constant. Returns 0, or -1 with an exception set. */
static int
check_pair(const cwj_graph_plan *plan, int v, PyObject *object, int other, PyObject *against)
{
    int shared = object == against;
    if (!shared && PyArray_Check(object) && PyArray_Check(against)) {
        shared = shares_exactly((PyArrayObject *)object, (PyArrayObject *)against);
    }
    if (shared <= 0) {
        return shared;
    }
    PyErr_Format(PyExc_ValueError, "%U(): '%S' is overwritten, but shares memory with '%S'",
                 plan->name, plan->variables[v].label, plan->variables[other].label);
    return -1;
}

/* ---- all of them -------------------------------------------------------------- */

/* The object of an input or a constant before the run: borrowed, or NULL. */
static PyObject *
object_of(const cwj_graph_plan *plan, int v, PyObject *const *storages)
{
    const cwj_graph_plan_variable *variable = &plan->variables[v];
    return variable->value != NULL ? variable->value
           : v < plan->ninputs && cwj_storage_is_sound(storages[v])
               ? PyList_GET_ITEM(storages[v], 0)
               : NULL;
}

static int
check_input(const cwj_graph_plan *plan, int v, PyObject *const *storages)
{
    PyObject *object = object_of(plan, v, storages);
    if (object == NULL || cwj_never_changes(object)) {
        return 0; /* if the storage is wrong, code that reads it raises */
    }
    if (PyArray_Check(object) && !PyArray_ISWRITEABLE((PyArrayObject *)object)) {
        return refuse(plan, v, "the array is read-only");
    }
    int apart = PyArray_Check(object) ? has_elements_apart((PyArrayObject *)object) : 1;
    if (apart != 1) {
        return apart < 0
                   ? -1
                   : refuse(plan, v, "the array may hold several elements in the same memory");
    }
    for (int other = 0; other < plan->nvariables; other++) {
        PyObject *against = object_of(plan, other, storages);
        if (other != v && against != NULL && check_pair(plan, v, object, other, against) < 0) {
            return -1;
        }
    }
    return 0;
}

int
cwj_check_overwritten(const cwj_graph_plan *plan, PyObject *const *storages)
{
    for (int v = 0; v < plan->ninputs; v++) {
        if (plan->variables[v].overwritten && check_input(plan, v, storages) < 0) {
            return -1;
        }
    }
    return 0;
}
