/* capsule.c: the capsules of C pointers that results own.
 *
 * What frees such a pointer may be code of the graph that made it, so a capsule
 * holds a share of that code.
 */
#include "../graph/code.h"
#include "ready.h"

typedef void free_function(void *);

/* What a capsule's context points to. */
typedef struct owner {
    free_function *free_pointer; /* NULL: nothing is freed */
    cwj_graph_code *code;        /* owned share, or NULL */
} owner;

static void
end_owner(owner *context)
{
    if (context != NULL) {
        cwj_graph_code_unref(context->code);
        PyMem_Free(context);
    }
}

static void
end_capsule(PyObject *capsule)
{
    owner *context = PyCapsule_GetContext(capsule);
    void *pointer = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    if (context != NULL && pointer != NULL && context->free_pointer != NULL) {
        context->free_pointer(pointer);
    }
    end_owner(context);
}

PyObject *
cwj_capsule_new(void *pointer, free_function *free_pointer)
{
    owner *context = PyMem_Malloc(sizeof *context);
    if (context == NULL) {
        return PyErr_NoMemory();
    }
    context->free_pointer = free_pointer;
    context->code = cwj_graph_code_ref(cwj_graph_code_running);
    PyObject *capsule = PyCapsule_New(pointer, NULL, NULL);
    if (capsule == NULL || PyCapsule_SetContext(capsule, context) < 0 ||
        PyCapsule_SetDestructor(capsule, end_capsule) < 0) {
        end_owner(context);
        Py_CLEAR(capsule);
    }
    return capsule;
}
