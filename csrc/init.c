/* init.c: defines the extension module cwrapjit._cwrapjit.
 *
 * Multi-phase initialisation: an exec slot has the other files add their types, exceptions and functions. */
#define CWJ_IMPORTS_NUMPY
#include "base/state.h"

#include "base/compiler.h"
#include "base/config.h"
#include "base/debug/fault.h"
#include "base/environment.h"
#include "base/errors.h"
#include "base/extent.h"
#include "base/leave.h"
#include "base/live.h"
#include "base/tokens.h"
#include "function/call/call.h"
#include "function/entries.h"
#include "function/explain.h"
#include "function/function.h"
#include "function/module.h"
#include "function/travel.h"
#include "graph/entries.h"
#include "graph/link/link.h"
#include "graph/objects/graph_object.h"
#include "graph/builtin/builtin.h"
#include "kernel/kernel.h"
#include "library/library.h"

/* ---- functions of the extension module --------------------------------- */

PyDoc_STRVAR(backend_doc, "backend()\n--\n\nLoad libtcc and return what it says its version is.");

static PyObject *
backend(PyObject *extension, PyObject *Py_UNUSED(unused))
{
    if (cwj_backend_open(PyModule_GetState(extension)) < 0) {
        return NULL;
    }
    const char *version = tj_backend_version();
    return PyUnicode_FromString(version != NULL ? version : "unknown");
}

PyDoc_STRVAR(predefined_doc, "predefined()\n--\n\n"
                             "The macros that libtcc predefines, as lines of C.");

static PyObject *
predefined(PyObject *extension, PyObject *Py_UNUSED(unused))
{
    if (cwj_backend_open(PyModule_GetState(extension)) < 0) {
        return NULL;
    }
    const char *macros = tj_backend_macros();
    return macros == NULL ? PyErr_NoMemory() : PyUnicode_FromString(macros);
}

PyDoc_STRVAR(optimizer_doc, "optimizer()\n--\n\n"
                            "What the cc tier found, its flags and its last failure.");

static PyObject *
optimizer(PyObject *extension, PyObject *Py_UNUSED(unused))
{
    return cwj_compiler_describe(PyModule_GetState(extension));
}

PyDoc_STRVAR(live_doc, "live()\n--\n\n"
                       "How much of C lives now: blocks and bytes, objects, pages of code.\n\n"
                       "Waits until no job of the system's compiler is queued or running. What\n"
                       "comes from Python's allocators is counted by sys.getallocatedblocks().");

static PyObject *
live(PyObject *Py_UNUSED(extension), PyObject *Py_UNUSED(unused))
{
    return cwj_live_table(cwj_call_blocks());
}

PyDoc_STRVAR(lose_doc, "lose(size, /)\n--\n\n"
                       "Lose a block of so many bytes: for tests of live().");

static PyObject *
lose(PyObject *Py_UNUSED(extension), PyObject *size)
{
    size_t bytes = PyLong_AsSize_t(size);
    if (PyErr_Occurred() || (bytes > 0 && tj_realloc(NULL, 0, bytes) == NULL)) {
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(shares_memory_doc, "shares_memory(one, other, /)\n--\n\n"
                                "Whether two arrays share memory, by the rule of all calls.");

static PyObject *
shares_memory(PyObject *Py_UNUSED(extension), PyObject *args)
{
    PyArrayObject *one, *other;
    if (!PyArg_ParseTuple(args, "O!O!:shares_memory", &PyArray_Type, &one, &PyArray_Type, &other)) {
        return NULL;
    }
    int shared = shares_exactly(one, other);
    return shared < 0 ? NULL : PyBool_FromLong(shared);
}

static PyMethodDef extension_methods[] = {
    {"function", (PyCFunction)(void (*)(void))cwj_function, METH_VARARGS | METH_KEYWORDS,
     cwj_function_doc},
    {"backend", backend, METH_NOARGS, backend_doc},
    {"predefined", predefined, METH_NOARGS, predefined_doc},
    {"optimizer", optimizer, METH_NOARGS, optimizer_doc},
    {"live", live, METH_NOARGS, live_doc},
    {"lose", lose, METH_O, lose_doc},
    {"shares_memory", shares_memory, METH_VARARGS, shares_memory_doc},
    {"count_copy", cwj_count_copy, METH_VARARGS, cwj_count_copy_doc},
    {"tokens", cwj_tokens, METH_O, cwj_tokens_doc},
    {NULL, NULL, 0, NULL},
};

/* ---- the module -------------------------------------------------------- */

static int
extension_exec(PyObject *extension)
{
    static const cwj_symbols *const offered[] = {&cwj_function_symbols, &cwj_graph_symbols, NULL};
    cwj_module_state *state = PyModule_GetState(extension);
    cwj_symbols_set(offered);
    cwj_guard_set_depth(cwj_entered_python);
    tj_know_forks();
    if (!cwj_leave_init() || _import_array() < 0 || cwj_import_ufuncs() < 0 ||
        PyModule_AddFunctions(extension, cwj_travel_functions) < 0 ||
        PyModule_AddFunctions(extension, cwj_deadline_functions) < 0 ||
        cwj_add_errors(extension, state) < 0 || cwj_add_config(extension, state) < 0 ||
        cwj_add_function_type(extension, state) < 0 || cwj_add_module_type(extension, state) < 0 ||
        cwj_add_graph_types(extension, state) < 0 || cwj_add_library_types(extension, state) < 0 ||
        cwj_add_kernel_types(extension) < 0 || cwj_add_builtin(extension) < 0 ||
        cwj_add_link(extension) < 0) {
        return -1;
    }
    return PyModule_AddStringConstant(extension, "__version__", TJ_VERSION);
}

static int
extension_traverse(PyObject *extension, visitproc visit, void *arg)
{
    cwj_module_state *state = PyModule_GetState(extension);
#define VISIT(type, name) Py_VISIT(state->name);
    CWJ_STATE_OBJECTS(VISIT)
#undef VISIT
    return 0;
}

static int
extension_clear(PyObject *extension)
{
    cwj_module_state *state = PyModule_GetState(extension);
#define CLEAR(type, name) Py_CLEAR(state->name);
    CWJ_STATE_OBJECTS(CLEAR)
#undef CLEAR
    return 0;
}

static void
extension_free(void *extension)
{
    extension_clear(extension);
    cwj_compiler_clear(PyModule_GetState(extension));
}

static PyModuleDef_Slot extension_slots[] = {
    {Py_mod_exec, extension_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED}, /* like NumPy */
#endif
    {0, NULL},
};

static PyModuleDef extension_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "cwrapjit._cwrapjit",
    .m_doc = "The engine of cwrapjit. Import cwrapjit instead.",
    .m_size = sizeof(cwj_module_state),
    .m_methods = extension_methods,
    .m_slots = extension_slots,
    .m_traverse = extension_traverse,
    .m_clear = extension_clear,
    .m_free = extension_free,
};

PyMODINIT_FUNC
PyInit__cwrapjit(void)
{
    return PyModuleDef_Init(&extension_def);
}
