/* unit.c: a library as C sees it: a LibraryUnit owns the environment, that is libraries,
 * compiled sources and header.
 */
#include "library/code/unit.h"

#include "base/checks.h"
#include "base/errors.h"
#include "library/library_function.h"

/* ---- the environment ---------------------------------------------------- */

PyDoc_STRVAR(
    library_environment_doc,
    "library_environment(name, sources=(), libraries=(), include_dirs=(), define_macros=(),\n"
    "                    library_dirs=(), header='', debug=False)\n"
    "--\n\n"
    "Load libraries and compile sources: a LibraryUnit. debug: the sources' lines are wanted.");

static PyObject *
library_environment(PyObject *extension, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name",         "sources",       "libraries",
                            "include_dirs", "define_macros", "library_dirs",
                            "header",       "debug",         NULL};
    cwj_module_state *state = PyModule_GetState(extension);
    cwj_build build = {0}; /* borrowed here */
    PyObject *name;
    int debug = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|OOOOOOp:library_environment", names, &name,
                                     &build.sources, &build.libraries, &build.include_dirs,
                                     &build.define_macros, &build.library_dirs, &build.header,
                                     &debug)) {
        return NULL;
    }
    cwj_library_unit *self = PyObject_New(cwj_library_unit, state->library_unit_type);
    if (self == NULL) {
        return NULL;
    }
    self->name = Py_NewRef(name);
    self->who = PyUnicode_FromFormat("library(%R)", name);
    const char *who = self->who == NULL ? NULL : PyUnicode_AsUTF8(self->who);
    cwj_environment *environment = who == NULL ? NULL : cwj_environment_new(state, &build, who);
    self->environment = environment;
    if (environment != NULL) {
        environment->header_file = PyUnicode_FromFormat("<cwrapjit %U header>", name);
    }
    if (environment == NULL || environment->header_file == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    if (debug) { /* now: the files may go */
        tj_environment_lines(environment->tj);
    }
    return (PyObject *)self;
}

static void
unit_dealloc(PyObject *op)
{
    cwj_library_unit *self = (cwj_library_unit *)op;
    PyTypeObject *type = Py_TYPE(op);
    cwj_environment_unref(self->environment);
    Py_DECREF(self->name);
    Py_XDECREF(self->who);
    type->tp_free(op);
    Py_DECREF(type);
}

static PyObject *
unit_repr(PyObject *op)
{
    return PyUnicode_FromFormat("<LibraryUnit %R>", ((cwj_library_unit *)op)->name);
}

/* ---- symbols ------------------------------------------------------------ */

static bool
parse_symbol(PyObject *extension, PyObject *args, cwj_library_unit **unit, const char **name)
{
    const cwj_module_state *state = PyModule_GetState(extension);
    return PyArg_ParseTuple(args, "O!s", state->library_unit_type, unit, name);
}

PyDoc_STRVAR(library_symbol_doc,
             "library_symbol(environment, name, /)\n--\n\n"
             "The address of a function or variable, or None where there is none.");

static PyObject *
library_symbol(PyObject *extension, PyObject *args)
{
    cwj_library_unit *unit;
    const char *name;
    const void *address;
    if (!parse_symbol(extension, args, &unit, &name)) {
        return NULL;
    }
    tj_environment *environment = unit->environment->tj;
    Py_BEGIN_ALLOW_THREADS
    address = tj_environment_symbol(environment, name);
    Py_END_ALLOW_THREADS
    return address == NULL ? Py_NewRef(Py_None) : PyLong_FromVoidPtr((void *)address);
}

PyDoc_STRVAR(
    library_diagnose_doc,
    "library_diagnose(environment, /)\n--\n\n"
    "What the compiler's checks say of the header and of the sources; None without a compiler.");

static PyObject *
library_diagnose(PyObject *extension, PyObject *args)
{
    cwj_module_state *state = PyModule_GetState(extension);
    const cwj_library_unit *unit;
    if (!PyArg_ParseTuple(args, "O!:library_diagnose", state->library_unit_type, &unit)) {
        return NULL;
    }
    PyObject *who = PyUnicode_FromFormat("%U.diagnose()", unit->name);
    const char *text = who == NULL ? NULL : PyUnicode_AsUTF8(who);
    PyObject *found = text == NULL ? NULL : cwj_checks_diagnose_own(state, unit->environment, text);
    Py_XDECREF(who);
    return found;
}

PyDoc_STRVAR(library_compiled_doc, "library_compiled(environment, name, /)\n--\n\n"
                                   "Whether libtcc compiled it, from the library's sources: libtcc "
                                   "must compile its callers, too.");

static PyObject *
library_compiled(PyObject *extension, PyObject *args)
{
    cwj_library_unit *unit;
    const char *name;
    if (!parse_symbol(extension, args, &unit, &name)) {
        return NULL;
    }
    return PyBool_FromLong(tj_environment_compiled(unit->environment->tj, name));
}

PyDoc_STRVAR(find_typeless_doc,
             "find_typeless(text, /)\n--\n\n"
             "What has no type in a text of declarations: (message, line, column), or None.");

static PyObject *
find_typeless(PyObject *Py_UNUSED(extension), PyObject *text)
{
    PyObject *found = NULL;
    Py_ssize_t length;
    tj_messages messages = {0};
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &length);
    if (bytes == NULL) {
        return NULL;
    }
    tj_status status =
        tj_check_types(&(tj_piece){"<declarations>", bytes, (size_t)length}, &messages);
    if (status == TJ_NO_MEMORY) {
        PyErr_NoMemory();
    } else if (status == TJ_OK) {
        found = Py_NewRef(Py_None);
    } else {
        const tj_message *first = &messages.items[0];
        found = Py_BuildValue("sii", first->text, first->line, first->column);
    }
    tj_messages_clear(&messages);
    return found;
}

/* ---- the type ----------------------------------------------------------- */

static PyMethodDef no_pickle[] = {
    {"__reduce__", cwj_refuse_pickle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot unit_slots[] = {
    {Py_tp_dealloc, unit_dealloc},
    {Py_tp_repr, unit_repr},
    {Py_tp_methods, no_pickle},
    {0, NULL},
};

PyType_Spec cwj_library_unit_spec = {
    .name = "cwrapjit._cwrapjit.LibraryUnit",
    .basicsize = sizeof(cwj_library_unit),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = unit_slots,
};

/* ---- functions of the extension module --------------------------------------------- */

PyMethodDef cwj_unit_functions[] = {
    {"library_environment", (PyCFunction)(void (*)(void))library_environment,
     METH_VARARGS | METH_KEYWORDS, library_environment_doc},
    {"library_symbol", library_symbol, METH_VARARGS, library_symbol_doc},
    {"library_diagnose", library_diagnose, METH_VARARGS, library_diagnose_doc},
    {"library_compiled", library_compiled, METH_VARARGS, library_compiled_doc},
    {"find_typeless", find_typeless, METH_O, find_typeless_doc},
    {NULL, NULL, 0, NULL},
};
