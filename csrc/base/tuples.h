/* tuples.h: fills new tuples, lists and dicts. It includes nothing, because emitted modules contain it, too. */
#pragma once

/* Stores a new reference, which it steals, in a new tuple. If the reference is NULL (with an
 * exception set), frees the tuple and sets *tuple to NULL. */
static inline void
cwj_tuple_fill(PyObject **tuple, Py_ssize_t index, PyObject *item)
{
    if (item == NULL) {
        Py_CLEAR(*tuple);
    } else {
        PyTuple_SET_ITEM(*tuple, index, item);
    }
}

/* Appends an item to a new list, or stores it in a new dict, in the same way. Does nothing if that is NULL. */
static inline void
cwj_list_add(PyObject **list, PyObject *item)
{
    if (*list != NULL && (item == NULL || PyList_Append(*list, item) < 0)) {
        Py_CLEAR(*list);
    }
    Py_XDECREF(item);
}

static inline void
cwj_dict_put(PyObject **dict, const char *key, PyObject *value)
{
    if (*dict != NULL && (value == NULL || PyDict_SetItemString(*dict, key, value) < 0)) {
        Py_CLEAR(*dict);
    }
    Py_XDECREF(value);
}
