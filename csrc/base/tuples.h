/* tuples.h: filling new tuples, lists and dicts. Part of the call path, too: it needs nothing of this
 * project. */
#pragma once

/* Puts a new reference, which it steals, into a new tuple. NULL, with an exception set: there is
 * no tuple any more, and *tuple becomes NULL. */
static inline void
cwj_tuple_fill(PyObject **tuple, Py_ssize_t index, PyObject *item)
{
    if (item == NULL) {
        Py_CLEAR(*tuple);
    } else {
        PyTuple_SET_ITEM(*tuple, index, item);
    }
}

/* The same at the end of a new list, and in a new dict; where there is none any more, nothing. */
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
