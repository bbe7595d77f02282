/* tuples.h: filling a new tuple. Part of the call path, too: it needs nothing of this project. */
#ifndef CWJ_BASE_TUPLES_H
#define CWJ_BASE_TUPLES_H

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

#endif
