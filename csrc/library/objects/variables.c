/* variables.c: reads and writes numbers at addresses, and makes arrays there, for a library's variables. */
#include "library/objects/looks.h"
#include "library/objects/foreign_memory.h"

/* Converter for PyArg_ParseTuple() from the name of a type. */
static int
to_type(PyObject *name, void *type)
{
    const cwj_library_type *found = PyUnicode_Check(name) ? cwj_library_type_find(name) : NULL;
    if (found == NULL) {
        PyErr_Format(PyExc_ValueError, "there is no type %R", name);
    }
    *(const cwj_library_type **)type = found;
    return found != NULL;
}

static int
to_address(PyObject *number, void *address)
{
    void *found = PyLong_AsVoidPtr(number);
    if (found == NULL && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "the address is NULL");
    }
    *(void **)address = found;
    return found != NULL;
}

static PyObject *
scalar_at(PyObject *Py_UNUSED(extension), PyObject *args)
{
    const cwj_library_type *type;
    void *address;
    cwj_slot slot;
    if (!PyArg_ParseTuple(args, "O&O&:scalar_at", to_address, &address, to_type, &type)) {
        return NULL;
    }
    cwj_scalar_load(type, address, &slot);
    return cwj_scalar_object(type, &slot);
}

static PyObject *
store_scalar(PyObject *Py_UNUSED(extension), PyObject *args)
{
    const cwj_library_type *type;
    PyObject *value, *name;
    void *address;
    cwj_slot slot;
    if (!PyArg_ParseTuple(args, "O&O&OU:store_scalar", to_address, &address, to_type, &type, &value,
                          &name)) {
        return NULL;
    }
    cwj_fit fit = cwj_scalar_take(type, false, value, &slot);
    if (fit != CWJ_FITS) {
        cwj_scalar_refuse(fit, type, value, "%U", name);
        return NULL;
    }
    cwj_scalar_store(type, &slot, address);
    Py_RETURN_NONE;
}

static PyObject *
array_at(PyObject *Py_UNUSED(extension), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"address", "type", "shape", "order", "owner", "writeable", NULL};
    PyArray_Descr *descr = NULL;
    PyObject *owner = Py_None, *array = NULL;
    PyArray_Dims shape = {NULL, 0};
    const char *order = "C";
    int writeable = 1;
    void *address;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O&O&O&|sOp:array_at", names, to_address,
                                    &address, PyArray_DescrConverter, &descr, PyArray_IntpConverter,
                                    &shape, &order, &owner, &writeable)) {
        array = cwj_array_over(descr, shape.len, shape.ptr, NULL, order[0] == 'F', address,
                               writeable != 0, owner == Py_None ? NULL : owner);
    }
    PyDimMem_FREE(shape.ptr);
    Py_XDECREF(descr);
    if (array != NULL && cwj_looks_add(array, owner, owner, address) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

PyMethodDef cwj_variable_functions[] = {
    {"scalar_at", scalar_at, METH_VARARGS,
     "scalar_at(address, type, /)\n--\n\nThe number at an address."},
    {"store_scalar", store_scalar, METH_VARARGS,
     "store_scalar(address, type, value, name, /)\n--\n\n"
     "Check a number, and put it at an address."},
    {"array_at", (PyCFunction)(void (*)(void))array_at, METH_VARARGS | METH_KEYWORDS,
     "array_at(address, type, shape, order='C', owner=None, writeable=True)\n--\n\n"
     "An array over memory, whose base is owner."},
    {NULL, NULL, 0, NULL},
};
