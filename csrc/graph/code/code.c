/* code.c: counts the shares of a graph's compiled text, and frees it. */
#include "graph/code/code.h"

#include "graph/code/guarded.h"

_Thread_local cwj_graph_code *cwj_graph_code_running = NULL;

cwj_graph_code *
cwj_graph_code_ref(cwj_graph_code *code)
{
    if (code != NULL) {
        code->references++;
    }
    return code;
}

void
cwj_graph_code_unref(cwj_graph_code *code)
{
    if (code == NULL || --code->references > 0) {
        return;
    }
    tj_job_free(code->job); /* first: until then it may store steps */
    cwj_graph_guard_free(code->guard);
    tj_unit_free(code->unit);
    tj_environment_free(code->environment); /* must outlive its unit */
    PyMem_Free(code->steps);
    Py_XDECREF(code->who);
    Py_XDECREF(code->source);
    Py_XDECREF(code->compiler);
    PyMem_Free(code);
}

/* ---- capsules ----------------------------------------------------------------- */

static const char name[] = "code of a graph";

cwj_graph_code *
cwj_graph_code_in(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, name);
}

static void
release(PyObject *capsule)
{
    cwj_graph_code_unref(cwj_graph_code_in(capsule));
}

PyObject *
cwj_graph_code_capsule(cwj_graph_code *code)
{
    PyObject *capsule = PyCapsule_New(code, name, release);
    if (capsule != NULL) {
        cwj_graph_code_ref(code);
    }
    return capsule;
}
