/* state.h: the state of the extension module, one per interpreter. */
#pragma once

#include "base/api.h"

/* The objects of the state: X(type, name). */
#define CWJ_STATE_OBJECTS(X)                                                         \
    X(PyTypeObject, module_type)           /* cwrapjit.module */                     \
    X(PyTypeObject, function_type)         /* cwrapjit.Function */                   \
    X(PyTypeObject, graph_type)            /* cwrapjit.graph.Graph */                \
    X(PyTypeObject, bound_type)            /* cwrapjit.graph.BoundGraph */           \
    X(PyTypeObject, library_function_type) /* cwrapjit.LibraryFunction */            \
    X(PyTypeObject, pointer_type)          /* cwrapjit.Pointer */                    \
    X(PyTypeObject, closure_type)          /* Python callables for C */              \
    X(PyTypeObject, config_type)           /* cwrapjit.Config */                     \
    X(PyObject, config)                    /* cwrapjit.config, the one instance */   \
    X(PyObject, watcher)                   /* ContextVar: progress watcher */        \
    X(PyObject, fault)                     /* cwrapjit.Fault */                      \
    X(PyObject, filter_names)              /* ("strict", "allow_downcast") */        \
    X(PyObject, compiler_key)              /* see compiler.h; NULL: not looked up */ \
    X(PyObject, compiler_problem)          /* str: why there is no compiler, or NULL */

typedef struct cwj_module_state {
#define CWJ_MEMBER(type, name) type *name;
    CWJ_STATE_OBJECTS(CWJ_MEMBER)
#undef CWJ_MEMBER
    bool backend_open;    /* libtcc is loaded */
    tj_compiler compiler; /* owned: see compiler.h; words NULL: no compiler */
    unsigned long long compiled_graphs; /* units of graphs compiled so far */
} cwj_module_state;

/* Returns the state of an instance of one of our types. The type must be ours, not a subclass. */
static inline cwj_module_state *
cwj_state_of(PyObject *instance)
{
    return PyType_GetModuleState(Py_TYPE(instance));
}

/* Calls a function of one of the package's modules. The module is imported on first use, as in the package's Python
 * code; a fork waits until that is done. format is that of Py_BuildValue() for a tuple. An
 * argument for "N" may be NULL if its creation failed; the function is then not called. Returns a new reference, or
 * NULL with an exception set. */
PyObject *cwj_ask_python(const char *module, const char *function, const char *format, ...);

/* Defines the PyType_Spec of a type that nobody can change; flags come on top of the usual ones. */
#define CWJ_TYPE(spec, its_name, object, its_slots, its_flags)                                \
    PyType_Spec spec = {.name = its_name,                                                     \
                        .basicsize = sizeof(object),                                          \
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | (its_flags), \
                        .slots = its_slots}

/* Creates a type and adds it to the extension module. *type becomes a reference to it unless type
 * is NULL. Returns 0, or -1 with an exception set. */
int cwj_add_type(PyObject *extension, PyType_Spec *spec, PyTypeObject **type);

/* Releases references of any type, each of which may be NULL. */
#define CWJ_RELEASE(...) cwj_release((void *[]){__VA_ARGS__, NULL}, sizeof((void *[]){__VA_ARGS__}))
static inline void
cwj_release(void *const *objects, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(*objects); i++) {
        Py_XDECREF((PyObject *)objects[i]);
    }
}

/* Visits objects of any type, each of which may be NULL: what a tp_traverse returns at its end. */
#define CWJ_VISIT(...) \
    cwj_visit((void *[]){__VA_ARGS__, NULL}, sizeof((void *[]){__VA_ARGS__}), visit, arg)
static inline int
cwj_visit(void *const *objects, size_t bytes, visitproc visit, void *arg)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < bytes / sizeof(*objects); i++) {
        status = objects[i] == NULL ? 0 : visit((PyObject *)objects[i], arg);
    }
    return status;
}

/* Returns a capsule that keeps `owner` alive. NULL with an exception set. */
PyObject *cwj_capsule_with(void *pointer, const char *name, PyObject *owner);

/* Frees an object, as the last step of tp_dealloc. */
static inline void
cwj_object_free(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);
    type->tp_free(op);
    Py_DECREF(type);
}

/* Returns what notebooks show for an object: the method _repr_html_() of types written in C. */
PyObject *cwj_repr_html(PyObject *op, PyObject *unused);
#define CWJ_REPR_HTML {"_repr_html_", cwj_repr_html, METH_NOARGS, NULL}
