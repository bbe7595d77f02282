/* capsule.c: makes the capsules of results that own C pointers.
 *
 * The function that frees a pointer may be part of the graph's code, so a capsule holds a share of that code. Users'
 * types make capsules with their own destructors; as we cannot know when these have run, such code is never freed. */
#include "graph/code/code.h"
#include "graph/builtin/builtin.h"

typedef void free_function(void *);

/* The context of a capsule. */
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
    owner *context = cwj_allocate(1, sizeof *context);
    if (context == NULL) {
        return NULL;
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

/* ---- capsules that users' code makes -------------------------------------------- */

static void
keep_running_code(PyCapsule_Destructor ender)
{
    cwj_graph_code *code = cwj_graph_code_running;
    if (ender != NULL && code != NULL && !code->stays) {
        code->stays = true;
        cwj_graph_code_ref(code);
    }
}

PyObject *
cwj_capsule_new_plain(void *pointer, const char *name, PyCapsule_Destructor ender)
{
    keep_running_code(ender);
    return PyCapsule_New(pointer, name, ender);
}

int
cwj_capsule_set_destructor(PyObject *capsule, PyCapsule_Destructor ender)
{
    keep_running_code(ender);
    return PyCapsule_SetDestructor(capsule, ender);
}
