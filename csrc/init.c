/* init.c: the extension module cwrapjit._cwrapjit.
 *
 * Multi-phase initialisation: an exec slot fills the module state with the
 * types and exceptions, each of which is made by the file that it belongs to.
 */
#define CWJ_IMPORTS_NUMPY
#include "compiler.h"
#include "environment.h"
#include "function.h"
#include "graph/linked.h"
#include "ready/ready.h"
#include "state.h"
#include "wrap/parts.h"
#include "wrap/unit.h"

/* ---- functions of the extension module --------------------------------- */

PyDoc_STRVAR(
    function_doc,
    "function(name, docstring='', args_input=(), prototype_input=(), prototype_output=...,\n"
    "         Ccode_slice_eval=..., Ccode_validate=None, Ccode_cookie_struct='',\n"
    "         Ccode_cookie_cleanup='', extra_args=(), *, header='', sources=(), include_dirs=(),\n"
    "         define_macros=(), libraries=(), library_dirs=(), signature=None, args_inout=(),\n"
    "         optimize=None, fastmath=None, debug=None, threads=None, unordered=None, "
    "inplace=None,\n"
    "         gil=None, cast=None, cookie=None)\n"
    "--\n\n"
    "Compile a broadcasting function that belongs to no module.\n\n"
    "Takes what module.function() takes, and what module() takes for the C side: header, sources,\n"
    "include_dirs, define_macros, libraries, library_dirs.");

static PyObject *
define_function(PyObject *extension, PyObject *args, PyObject *kwargs)
{
    PyObject *function = NULL, *rest = NULL;
    cwj_environment *environment = NULL;
    cwj_module_state *state = PyModule_GetState(extension);
    cwj_build build = {0};
    cwj_options defaults;
    cwj_options_init(&defaults);

    rest = kwargs == NULL ? PyDict_New() : PyDict_Copy(kwargs);
    if (rest == NULL || cwj_build_pop(&build, rest) < 0) {
        goto done;
    }
    environment = cwj_environment_new(state, &build, "function()");
    if (environment != NULL) {
        function = cwj_function_define(state, environment, NULL, &defaults, args, rest);
    }
done:
    cwj_environment_unref(environment);
    cwj_build_clear(&build);
    Py_XDECREF(rest);
    return function;
}

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

PyDoc_STRVAR(optimizer_doc, "optimizer()\n--\n\n"
                            "What the optimizing tier found, its flags and its last failure.");

static PyObject *
optimizer(PyObject *extension, PyObject *Py_UNUSED(unused))
{
    return cwj_compiler_describe(PyModule_GetState(extension));
}

static PyMethodDef extension_methods[] = {
    {"function", (PyCFunction)(void (*)(void))define_function, METH_VARARGS | METH_KEYWORDS,
     function_doc},
    {"link", (PyCFunction)(void (*)(void))cwj_link, METH_VARARGS | METH_KEYWORDS, cwj_link_doc},
    {"backend", backend, METH_NOARGS, backend_doc},
    {"optimizer", optimizer, METH_NOARGS, optimizer_doc},
    CWJ_LIBRARY_METHODS,
    CWJ_INSTANCE_METHODS,
    {NULL, NULL, 0, NULL},
};

/* ---- the module -------------------------------------------------------- */

static int
extension_exec(PyObject *extension)
{
    cwj_module_state *state = PyModule_GetState(extension);
    if (_import_array() < 0 || cwj_add_errors(extension, state) < 0 ||
        cwj_add_config(extension, state) < 0 || cwj_add_function_type(extension, state) < 0 ||
        cwj_add_module_type(extension, state) < 0 || cwj_add_graph_types(extension, state) < 0 ||
        cwj_add_library_types(extension, state) < 0 ||
        cwj_add_instance_types(extension, state) < 0 || cwj_add_filters(extension) < 0) {
        return -1;
    }
    return PyModule_AddStringConstant(extension, "__version__", TJ_VERSION);
}

static int
extension_traverse(PyObject *extension, visitproc visit, void *arg)
{
    cwj_module_state *state = PyModule_GetState(extension);
    Py_VISIT(state->module_type);
    Py_VISIT(state->function_type);
    Py_VISIT(state->graph_type);
    Py_VISIT(state->bound_type);
    Py_VISIT(state->library_unit_type);
    Py_VISIT(state->library_code_type);
    Py_VISIT(state->library_function_type);
    Py_VISIT(state->instance_type);
    Py_VISIT(state->filter_names);
    Py_VISIT(state->graph_cache);
    Py_VISIT(state->config_type);
    Py_VISIT(state->config);
    Py_VISIT(state->compile_error);
    Py_VISIT(state->compile_warning);
    return 0;
}

static int
extension_clear(PyObject *extension)
{
    cwj_module_state *state = PyModule_GetState(extension);
    Py_CLEAR(state->module_type);
    Py_CLEAR(state->function_type);
    Py_CLEAR(state->graph_type);
    Py_CLEAR(state->bound_type);
    Py_CLEAR(state->library_unit_type);
    Py_CLEAR(state->library_code_type);
    Py_CLEAR(state->library_function_type);
    Py_CLEAR(state->instance_type);
    Py_CLEAR(state->filter_names);
    Py_CLEAR(state->graph_cache);
    Py_CLEAR(state->config_type);
    Py_CLEAR(state->config);
    Py_CLEAR(state->compile_error);
    Py_CLEAR(state->compile_warning);
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
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED}, /* as NumPy */
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
