/* read_size.c: reads the sizes that C functions return or members of structs hold. */
#include "library/tables/dims.h"
#include "library/tables/read.h"

#include "base/errors.h"

/* Reads an operand: the index of a parameter, whose pointer is passed, or an integer as (dim, type). */
static int
read_operand(cwj_size *size, PyObject *given, PyObject *symbols, int most, const char *who)
{
    int k = size->count++;
    size->parameters[k] = -1;
    if (PyTuple_Check(given) && PyTuple_GET_SIZE(given) == 2 &&
        PyUnicode_Check(PyTuple_GET_ITEM(given, 1))) {
        size->types[k] = cwj_library_type_find(PyTuple_GET_ITEM(given, 1));
        return cwj_is_integer(size->types[k])
                   ? cwj_dim_read(&size->values[k], PyTuple_GET_ITEM(given, 0), symbols, who)
                   : cwj_refuse(who, PyExc_ValueError, "an operand of a size is no integer");
    }
    if (!PyLong_Check(given)) {
        return cwj_refuse_type(who, "an operand of a size", "an int or (dim, type)", given);
    }
    long parameter = PyLong_AsLong(given);
    if (parameter < 0 || parameter >= most) {
        return PyErr_Occurred() ? -1
                                : cwj_refuse(who, PyExc_ValueError,
                                             "a size is of a parameter that is not there");
    }
    size->parameters[k] = (int)parameter;
    return 0;
}

int
cwj_size_read(cwj_size *size, PyObject *given, PyObject *symbols, int most, const char *who)
{
    static char *names[] = {"symbol", "type", "address", "offset", "of", NULL};
    PyObject *symbol, *type, *address, *of, *operands = NULL;
    if (cwj_read(given, "UUOnO", names, &symbol, &type, &address, &size->offset, &of) < 0 ||
        (operands = PySequence_Tuple(of)) == NULL) {
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(operands);
    size->function = PyLong_AsVoidPtr(address);
    size->type = cwj_library_type_find(type);
    size->symbol = cwj_symbol_index(symbols, symbol);
    int status = PyErr_Occurred() ? -1
                 : !cwj_is_integer(size->type)
                     ? cwj_refuse(who, PyExc_ValueError, "%U is no integer", symbol)
                 : count > CWJ_MOST_OPERANDS || (size->function == NULL && count != 1)
                     ? cwj_refuse(who, PyExc_ValueError, "%U has %zd operands", symbol, count)
                     : 0;
    for (Py_ssize_t i = 0; status == 0 && i < count; i++) {
        status = read_operand(size, PyTuple_GET_ITEM(operands, i), symbols, most, who);
    }
    if (status == 0 && size->function == NULL && size->parameters[0] < 0) {
        status = cwj_refuse(who, PyExc_ValueError, "%U is a member of no parameter", symbol);
    }
    Py_DECREF(operands);
    return status;
}

void
cwj_size_clear(cwj_size *size)
{
    for (int i = 0; i < size->count; i++) {
        cwj_dim_clear(&size->values[i]);
    }
}
