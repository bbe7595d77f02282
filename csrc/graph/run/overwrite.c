/* overwrite.c: inputs that a run may change (In(x, mutable=True), where some op does).
 *
 * Whatever shares memory with one of them would change with it in the middle of the run,
 * and no order of the ops helps: that is refused before the run begins. So is what must
 * not be written to.
 */
#include "graph/run/overwrite.h"

#include "graph/run/storage.h"

enum {
    WORK = 100000 /* candidate solutions that NumPy may try */
};

/* Numbers, text and their like: what C does to the value it has taken changes no object. */
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

/* ---- an array alone ------------------------------------------------------- */

/* The axis with the smallest step that is not in `used` and has steps; -1: none is left. */
static int
smallest_axis(PyArrayObject *array, const bool *used)
{
    int found = -1;
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        npy_intp step = Py_ABS(PyArray_STRIDE(array, i));
        if (!used[i] && PyArray_DIM(array, i) > 1 &&
            (found < 0 || step < Py_ABS(PyArray_STRIDE(array, found)))) {
            found = i;
        }
    }
    return found;
}

/* From the smallest step up, each one steps over all that lies below it. What is false by
 * that and has its elements apart, only as_strided() makes. */
static bool
has_elements_apart(PyArrayObject *array)
{
    bool used[NPY_MAXDIMS] = {false};
    npy_intp covered = PyArray_ITEMSIZE(array);
    if (PyArray_ISONESEGMENT(array) || PyArray_SIZE(array) == 0) {
        return true;
    }
    for (int axis; (axis = smallest_axis(array, used)) >= 0; used[axis] = true) {
        npy_intp step = Py_ABS(PyArray_STRIDE(array, axis));
        if (step < covered) {
            return false;
        }
        covered += (PyArray_DIM(array, axis) - 1) * step;
    }
    return true;
}

/* ---- two of them ------------------------------------------------------------ */

/* 1, 0, or -1 with an exception. What is too hard to tell counts as shared: so answers
 * may_share_memory, where shares_memory would raise. */
static int
shares_memory(PyObject *one, PyObject *other)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *answer = numpy == NULL ? NULL
                                     : PyObject_CallMethod(numpy, "may_share_memory", "OOi", one,
                                                           other, (int)WORK);
    int shared = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(numpy);
    Py_XDECREF(answer);
    return shared;
}

/* Against another input, or a constant. */
static int
check_pair(const cwj_graph_plan *plan, int v, PyObject *object, int other, PyObject *against)
{
    int shared = object == against;
    if (!shared && PyArray_Check(object) && PyArray_Check(against)) {
        shared = shares_memory(object, against);
    }
    if (shared <= 0) {
        return shared;
    }
    PyErr_Format(PyExc_ValueError, "%U(): '%S' is overwritten, but shares memory with '%S'",
                 plan->name, plan->variables[v].label, plan->variables[other].label);
    return -1;
}

/* ---- all of them -------------------------------------------------------------- */

/* The object of a variable while a run begins: borrowed, or NULL. */
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
        return 0; /* the code that looks there says what is wrong with a storage */
    }
    if (PyArray_Check(object) && !PyArray_ISWRITEABLE((PyArrayObject *)object)) {
        return refuse(plan, v, "the array is read-only");
    }
    if (PyArray_Check(object) && !has_elements_apart((PyArrayObject *)object)) {
        return refuse(plan, v, "the array may hold several elements in the same memory");
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
