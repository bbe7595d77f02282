/* cache.c: keeps compiled graphs for others with the same text, in a dict from keys to capsules, ordered by last use.
 *
 * A key holds all texts and all options of the compilation, so even if a type or op changes its text but not its
 * version, the new text never runs old code. */
#include "graph/code/cache.h"

enum {
    MOST = 64 /* units to keep */
};

/* ---- keys ------------------------------------------------------------------ */

PyObject *
cwj_graph_cache_key(const cwj_graph_request *request)
{
    PyObject *compiler = request->compiler == NULL ? Py_None : request->compiler;
    return Py_BuildValue("(OOiiiii)", request->versions, compiler, request->optimize,
                         request->checks, request->fastmath, request->libm, request->debug);
}

/* ---- what is kept --------------------------------------------------------------- */

static void
release(PyObject *capsule)
{
    cwj_graph_code_unref(PyCapsule_GetPointer(capsule, NULL));
}

/* Puts the key at the end of the dict, as the last one used. */
static int
put_last(PyObject *cache, PyObject *key, PyObject *capsule)
{
    int known = PyDict_Contains(cache, key);
    if (known < 0 || (known > 0 && PyDict_DelItem(cache, key) < 0)) {
        return -1;
    }
    return PyDict_SetItem(cache, key, capsule);
}

/* Drops the keys that were not used for longest. There are several if a drop failed before: it calls a version's
 * own __hash__. */
static int
drop_first(PyObject *cache)
{
    PyObject *key, *value;
    int status = 0;
    while (status == 0 && PyDict_GET_SIZE(cache) > MOST) {
        Py_ssize_t position = 0;
        PyDict_Next(cache, &position, &key, &value);
        Py_INCREF(key);
        status = PyDict_DelItem(cache, key);
        Py_DECREF(key);
    }
    return status;
}

int
cwj_graph_cache_find(cwj_module_state *state, PyObject *key, cwj_graph_code **code)
{
    PyObject *capsule =
        state->graph_cache == NULL ? NULL : PyDict_GetItemWithError(state->graph_cache, key);
    if (capsule == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    Py_INCREF(capsule);
    *code = cwj_graph_code_ref(PyCapsule_GetPointer(capsule, NULL));
    int status = put_last(state->graph_cache, key, capsule);
    Py_DECREF(capsule);
    return status;
}

int
cwj_graph_cache_keep(cwj_module_state *state, PyObject *key, cwj_graph_code *code)
{
    if (state->graph_cache == NULL) {
        state->graph_cache = PyDict_New();
    }
    PyObject *capsule = state->graph_cache == NULL ? NULL : PyCapsule_New(code, NULL, release);
    if (capsule == NULL) {
        return -1;
    }
    cwj_graph_code_ref(code);
    int status = put_last(state->graph_cache, key, capsule);
    Py_DECREF(capsule);
    return status < 0 ? -1 : drop_first(state->graph_cache);
}
