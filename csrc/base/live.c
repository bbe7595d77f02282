/* live.c: see live.h. */
#include "base/live.h"

Py_ssize_t cwj_live_counts[CWJ_LIVE_KINDS];

static int
add(PyObject *table, const char *name, Py_ssize_t count)
{
    PyObject *number = PyLong_FromSsize_t(count);
    int status = number == NULL ? -1 : PyDict_SetItemString(table, name, number);
    Py_XDECREF(number);
    return status;
}

PyObject *
cwj_live_table(Py_ssize_t blocks_of_calls)
{
    Py_BEGIN_ALLOW_THREADS
    tj_optimizer_settle();
    Py_END_ALLOW_THREADS
    PyObject *table = PyDict_New();
    int status = table == NULL ? -1 : add(table, "blocks of calls", blocks_of_calls);
#define ADD_OF_C(kind, name) \
    status = status < 0 ? -1 : add(table, name, tj_live_count(TJ_LIVE_##kind));
    TJ_LIVE(ADD_OF_C)
#define ADD_OBJECTS(kind, name) \
    status = status < 0 ? -1 : add(table, name, cwj_live_counts[CWJ_LIVE_##kind]);
    CWJ_LIVE(ADD_OBJECTS)
    if (status < 0) {
        Py_CLEAR(table);
    }
    return table;
}
