/* live.c: counts living objects (live.h). */
#include "base/live.h"
#include "base/tuples.h"

Py_ssize_t cwj_live_counts[CWJ_LIVE_KINDS];

PyObject *
cwj_live_table(Py_ssize_t blocks_of_calls)
{
    Py_BEGIN_ALLOW_THREADS
    tj_optimizer_settle();
    Py_END_ALLOW_THREADS
    PyObject *table = PyDict_New();
    cwj_dict_put(&table, "blocks of calls", PyLong_FromSsize_t(blocks_of_calls));
#define PUT_OF_C(kind, name) \
    cwj_dict_put(&table, name, PyLong_FromSsize_t(tj_live_count(TJ_LIVE_##kind)));
    TJ_LIVE(PUT_OF_C)
#define PUT_OBJECTS(kind, name) \
    cwj_dict_put(&table, name, PyLong_FromSsize_t(cwj_live_counts[CWJ_LIVE_##kind]));
    CWJ_LIVE(PUT_OBJECTS)
    return table;
}
