/* watch.c: protects outputs of the previous run that callers still hold.
 *
 * The next run could change two kinds of outputs: those whose code reuses the previous object (fetched), and those
 * whose C value stays in the state and shares memory with the object that Python got (kept). If reference counts show
 * that something besides the graph holds the object, or if it has weak references, the code does not get it again. */
#include "graph/run/watch.h"

#include "graph/run/overwrite.h"
#include "graph/run/storage.h"

/* If something else holds the object in the storage, moves it to watch->object. cwj_held_restore() puts it back. */
static int
hide_fetched(cwj_held *watch, PyObject *storage)
{
    if (!cwj_storage_is_sound(storage)) {
        return 0; /* the code that reads it fails, with the number of its block */
    }
    PyObject *object = PyList_GET_ITEM(storage, 0);
    if (object == Py_None || (Py_REFCNT(object) == 1 && !cwj_has_weak_references(object))) {
        return 0;
    }
    watch->object = Py_NewRef(object);
    return cwj_storage_put(storage, NULL);
}

/* Initialises a kept output again if its object has got more references since the last run. */
static int
renew_kept(cwj_binding *self, const cwj_graph_plan *plan, cwj_held *watch, PyObject *storage)
{
    PyObject *object = watch->object;
    if (object == NULL) {
        return 0;
    }
    int gone = !cwj_storage_is_sound(storage) || PyList_GET_ITEM(storage, 0) != object;
    bool shared = Py_REFCNT(object) > watch->count - gone || cwj_has_weak_references(object);
    watch->object = NULL;
    Py_DECREF(object);
    return shared ? cwj_binding_renew(self, plan, watch->variable) : 0;
}

int
cwj_held_prepare(cwj_binding *self, const cwj_graph_plan *plan)
{
    int failure = 0;
    for (int i = 0; i < self->nwatches && failure == 0; i++) {
        cwj_held *watch = &self->watches[i];
        PyObject *storage = self->storages[watch->variable];
        failure = plan->variables[watch->variable].fetched ? hide_fetched(watch, storage)
                                                           : renew_kept(self, plan, watch, storage);
    }
    return failure;
}

void
cwj_held_begin(cwj_binding *self, const cwj_graph_plan *plan)
{
    for (int i = 0; i < self->nwatches; i++) {
        cwj_held *watch = &self->watches[i];
        PyObject *storage = self->storages[watch->variable];
        Py_CLEAR(watch->object);
        if (plan->variables[watch->variable].fetched || !cwj_storage_is_sound(storage)) {
            continue;
        }
        PyObject *object = PyList_GET_ITEM(storage, 0);
        if (Py_REFCNT(object) > 1 && !cwj_never_changes(object)) {
            watch->object = Py_NewRef(object);
            watch->count = Py_REFCNT(object);
        }
    }
}

void
cwj_held_restore(cwj_binding *self, const cwj_graph_plan *plan)
{
    for (int i = 0; i < self->nwatches; i++) {
        cwj_held *watch = &self->watches[i];
        PyObject *storage = self->storages[watch->variable], *object = watch->object;
        if (!plan->variables[watch->variable].fetched || object == NULL) {
            continue;
        }
        watch->object = NULL;
        if (cwj_storage_is_sound(storage) && PyList_GET_ITEM(storage, 0) == Py_None) {
            cwj_storage_put(storage, object);
        }
        Py_DECREF(object);
    }
}
