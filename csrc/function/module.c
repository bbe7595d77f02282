/* module.c: type cwrapjit.module, a types.ModuleType that compiles functions when they are added.
 *
 * The functions are plain attributes; the module itself owns only the environment (header, compiled
 * sources, libraries) that they share.
 */
#include "function/module.h"

#include "base/content.h"
#include "base/errors.h"
#include "base/tuples.h"
#include "function/function.h"
#include "function/spec_parts.h"

/* ---- creating a module ------------------------------------------------- */

static int
check_name(PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        return cwj_refuse_type("module()", "name", "a str", name);
    }
    if (!cwj_is_name(name)) {
        return cwj_refuse("module()", PyExc_ValueError,
                          "name must be an identifier and no keyword of Python, not %R", name);
    }
    return 0;
}

static int
parse_init(PyObject *args, PyObject *kwargs, PyObject **name, PyObject **docstring,
           cwj_build *build, cwj_option_values *values)
{
    static char *names[] = {"name", "docstring", "header",
                            CWJ_BUILD_LISTS(CWJ_NAME) CWJ_OPTIONS(CWJ_NAME) NULL};
    static const char format[] =
        "O|OO$" CWJ_BUILD_LISTS(CWJ_LETTER) CWJ_OPTIONS(CWJ_LETTER) ":module";
#define BUILD_TARGET(name, ...) , &build->name
#define OPTION_TARGET(name, ...) , &values->name
    int parsed = PyArg_ParseTupleAndKeywords(args, kwargs, format, names, name, docstring,
                                             &build->header CWJ_BUILD_LISTS(BUILD_TARGET)
                                                  CWJ_OPTIONS(OPTION_TARGET));
#undef OPTION_TARGET
#undef BUILD_TARGET
    return parsed ? 0 : cwj_options_refuse("module()", kwargs, names);
}

/* Sets name and docstring like a plain module. */
static int
init_plain(PyObject *self, PyObject *name, PyObject *docstring)
{
    PyObject *rest =
        docstring == Py_None ? Py_BuildValue("(Os)", name, "") : PyTuple_Pack(2, name, docstring);
    int status = rest == NULL ? -1 : PyModule_Type.tp_init(self, rest, NULL);
    Py_XDECREF(rest);
    return status;
}

int
cwj_module_set_up(PyObject *self, PyObject *name, PyObject *docstring, cwj_environment *environment,
                  const cwj_options *options)
{
    cwj_module_data *data = cwj_module_data_of(self);
    if (check_name(name) < 0 || init_plain(self, name, docstring) < 0) {
        return -1;
    }
    data->options = *options;
    data->environment = cwj_environment_ref(environment);
    return 0;
}

static int
module_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *name = NULL, *docstring = Py_None, *label = NULL;
    cwj_build build = {0}; /* borrowed here */
    cwj_option_values values = {0};
    cwj_module_data *data = cwj_module_data_of(self);
    cwj_environment *environment = NULL;
    cwj_options options;
    int status = -1;

    cwj_options_init(&options);
    if (data->environment != NULL) {
        return cwj_refuse("module()", PyExc_TypeError, "a module is initialised once");
    }
    if (parse_init(args, kwargs, &name, &docstring, &build, &values) < 0 || check_name(name) < 0) {
        return -1;
    }
    if (docstring != Py_None && !PyUnicode_Check(docstring)) {
        return cwj_refuse_type("module()", "docstring", "a str", docstring);
    }
    if (cwj_options_update(&options, &values, "module()") < 0) {
        return -1;
    }
    label = PyUnicode_FromFormat("module %U", name);
    const char *who = label == NULL ? NULL : PyUnicode_AsUTF8(label);
    if (who == NULL || init_plain(self, name, docstring) < 0) {
        goto done;
    }
    build.math = values.math;
    environment = cwj_environment_new(cwj_state_of(self), &build, who);
    if (environment == NULL) {
        goto done;
    }
    if (data->environment != NULL) { /* set by another thread, or by a path's __fspath__ */
        cwj_environment_unref(environment);
        status = cwj_refuse("module()", PyExc_TypeError, "a module is initialised once");
        goto done;
    }
    data->options = options;
    data->environment = environment;
    status = 0;
done:
    Py_XDECREF(label);
    return status;
}

/* ---- function() -------------------------------------------------------- */

static PyObject *
name_of_module(PyObject *self)
{
    if (cwj_module_data_of(self)->environment == NULL) {
        cwj_refuse("module", PyExc_TypeError, "__init__() did not run");
        return NULL;
    }
    PyObject *name = PyModule_GetNameObject(self);
    if (name != NULL && !cwj_is_name(name)) { /* the user has changed __name__ */
        cwj_refuse("module", PyExc_ValueError, "__name__ is not an identifier: %R", name);
        Py_CLEAR(name);
    }
    return name;
}

static PyMethodDef module_methods[10]; /* defined at the end of this file */

/* Refuses names that would hide the module's own attributes. */
static int
refuse_own_names(PyObject *module_name, PyObject *function)
{
    const char *name = ((cwj_function_object *)function)->spec->tj.name;
    size_t length = strlen(name);
    int reserved =
        length > 4 && strncmp(name, "__", 2) == 0 && strcmp(name + length - 2, "__") == 0;
    for (const PyMethodDef *method = module_methods; method->ml_name != NULL; method++) {
        reserved |= strcmp(name, method->ml_name) == 0;
    }
    if (!reserved) {
        return 0;
    }
    PyErr_Format(PyExc_ValueError,
                 "%U.function(): the name '%s' belongs to the module object itself", module_name,
                 name);
    return -1;
}

PyDoc_STRVAR(
    function_doc,
    "function($self, /, name, " CWJ_POSITIONAL_DOC ", *,\n"
    "         " CWJ_BY_KEYWORD_DOC ")\n"
    "--\n\n"
    "Compile a broadcasting function and make it an attribute of the module.\n\n"
    "args_input, prototype_input and prototype_output (required) say which arguments there are "
    "and\n"
    "which dims one slice of them has; signature='a(n), b(n) -> output()' says the same in one "
    "text.\n"
    "Ccode_slice_eval (required) is a dict from types to the C body that computes one slice.\n"
    "Returns the function; an earlier one of the same name is replaced.");

static PyObject *
module_function(PyObject *self, PyObject *args, PyObject *kwargs)
{
    cwj_module_data *data = cwj_module_data_of(self);
    PyObject *name = name_of_module(self), *function = NULL, *key = NULL;
    if (name == NULL) {
        return NULL;
    }
    function = cwj_function_define(cwj_state_of(self), data->environment, name, &data->options,
                                   args, kwargs);
    if (function == NULL || refuse_own_names(name, function) < 0) {
        Py_CLEAR(function);
        goto done;
    }
    key = PyUnicode_FromString(((cwj_function_object *)function)->spec->tj.name);
    if (key == NULL || PyObject_SetAttr(self, key, function) < 0) {
        Py_CLEAR(function);
    }
done:
    Py_XDECREF(key);
    Py_DECREF(name);
    return function;
}

/* ---- register() -------------------------------------------------------- */

PyDoc_STRVAR(
    register_doc,
    "register($self, /)\n--\n\n"
    "Put the module into sys.modules, so that an import statement finds it.\n\n"
    "A module that something else than cwrapjit registered under that name is not replaced.");

static PyObject *
module_register(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyObject *result = NULL;
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    PyObject *name = name_of_module(self);
    if (name == NULL) {
        return NULL;
    }
    PyObject *present = PyDict_GetItemWithError(modules, name); /* borrowed */
    if (present == NULL && PyErr_Occurred()) {
        goto done;
    }
    if (present != NULL && !PyObject_TypeCheck(present, cwj_state_of(self)->module_type)) {
        PyErr_Format(PyExc_ValueError,
                     "%U.register(): sys.modules has another module of that name: %R", name,
                     present);
        goto done;
    }
    if (PyDict_SetItem(modules, name, self) == 0) {
        result = Py_NewRef(Py_None);
    }
done:
    Py_DECREF(name);
    return result;
}

/* ---- the type ---------------------------------------------------------- */

static PyObject *
module_repr(PyObject *self)
{
    PyObject *name = PyModule_GetNameObject(self);
    if (name == NULL) {
        return cwj_clear_expected(PyExc_SystemError, NULL)
                   ? PyUnicode_FromString("<cwrapjit.module without name>")
                   : NULL;
    }
    PyObject *dict = PyModule_GetDict(self), *key, *value; /* borrowed */
    PyTypeObject *function_type = cwj_state_of(self)->function_type;
    Py_ssize_t position = 0, count = 0;
    while (PyDict_Next(dict, &position, &key, &value)) {
        count += Py_IS_TYPE(value, function_type);
    }
    PyObject *text = PyUnicode_FromFormat("<cwrapjit.module %R with %zd function%s>", name, count,
                                          count == 1 ? "" : "s");
    Py_DECREF(name);
    return text;
}

static int
module_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return PyModule_Type.tp_traverse(self, visit, arg);
}

static int
module_clear(PyObject *self)
{
    return PyModule_Type.tp_clear(self);
}

static void
module_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cwj_environment *environment = cwj_module_data_of(self)->environment;
    PyObject_GC_UnTrack(self);
    PyModule_Type.tp_dealloc(self); /* frees the memory, not the reference to a heap type */
    cwj_environment_unref(environment);
    Py_DECREF(type);
}

PyDoc_STRVAR(
    module_doc,
    "module(name, docstring='', header='', *, sources=(), include_dirs=(), define_macros=(),\n"
    "       libraries=(), library_dirs=(), " CWJ_OPTIONS_DOC ")\n"
    "--\n\n"
    "A module whose functions are compiled in memory: see function().\n\n"
    "header is C text that all functions see; sources are C files that are compiled once for the\n"
    "module; the others are setuptools' arguments of the same names. Options are the defaults of\n"
    "the module's functions.");

static PyObject *module_dir(PyObject *self, PyObject *unused);

static PyMethodDef module_methods[] = {
    {"function", (PyCFunction)(void (*)(void))module_function, METH_VARARGS | METH_KEYWORDS,
     function_doc},
    {"write", (PyCFunction)(void (*)(void))cwj_module_write, METH_VARARGS | METH_KEYWORDS,
     cwj_module_write_doc},
    {"register", module_register, METH_NOARGS, register_doc},
    {"__dir__", module_dir, METH_NOARGS, NULL},
    CWJ_REPR_HTML,
    CWJ_CONTENT_METHODS,
    {NULL, NULL, 0, NULL},
};

/* Adds the methods to the names that dir() lists for a plain module. */
static PyObject *
module_dir(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyObject *names = PyObject_CallMethod((PyObject *)&PyModule_Type, "__dir__", "O", self);
    for (const PyMethodDef *method = module_methods; names != NULL && method->ml_name[0] != '_';
         method++) {
        cwj_list_add(&names, PyUnicode_FromString(method->ml_name));
    }
    return names;
}

static PyType_Slot module_slots[] = {
    {Py_tp_init, module_init},         {Py_tp_dealloc, module_dealloc},
    {Py_tp_traverse, module_traverse}, {Py_tp_clear, module_clear},
    {Py_tp_repr, module_repr},         {Py_tp_methods, module_methods},
    {Py_tp_doc, (void *)module_doc},   {0, NULL},
};

int
cwj_add_module_type(PyObject *extension, cwj_module_state *state)
{
    PyType_Spec spec = {
        .name = "cwrapjit.module",
        .basicsize = (int)((size_t)PyModule_Type.tp_basicsize + sizeof(cwj_module_data)),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
        .slots = module_slots,
    };
    state->module_type =
        (PyTypeObject *)PyType_FromModuleAndSpec(extension, &spec, (PyObject *)&PyModule_Type);
    if (state->module_type == NULL) {
        return -1;
    }
    return PyModule_AddObjectRef(extension, "module", (PyObject *)state->module_type);
}
