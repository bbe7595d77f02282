/* unit.c: a library as C sees it: a LibraryUnit owns the environment, that is libraries,
 * compiled sources and header.
 */
#include "unit.h"

#include "../errors.h"
#include "function.h"

/* ---- the environment ---------------------------------------------------- */

const char cwj_library_environment_doc[] =
    "library_environment(name, sources=(), libraries=(), include_dirs=(), define_macros=(),\n"
    "                    library_dirs=(), header='', path=None)\n"
    "--\n\n"
    "Load libraries and compile sources: a LibraryUnit. path is the first of the libraries.";

/* The libraries with path in front; new reference. */
static PyObject *
join_libraries(PyObject *path, PyObject *libraries, const char *who)
{
    if (path == NULL || path == Py_None) {
        return Py_NewRef(libraries == NULL ? Py_None : libraries);
    }
    PyObject *list = PyList_New(0);
    if (list == NULL || PyList_Append(list, path) < 0) {
        Py_XDECREF(list);
        return NULL;
    }
    if (libraries != NULL && libraries != Py_None) {
        if (!PyTuple_Check(libraries) && !PyList_Check(libraries)) {
            cwj_refuse(who, PyExc_TypeError, "libraries must be a list or tuple, not %s",
                       Py_TYPE(libraries)->tp_name);
            Py_CLEAR(list);
        } else if (PyList_SetSlice(list, 1, 1, libraries) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

PyObject *
cwj_library_environment(PyObject *extension, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name",         "sources",       "libraries",
                            "include_dirs", "define_macros", "library_dirs",
                            "header",       "path",          NULL};
    cwj_module_state *state = PyModule_GetState(extension);
    cwj_build build = {0}; /* borrowed here, but for libraries */
    PyObject *name, *path = NULL, *who_text = NULL;
    cwj_library_unit *self = NULL;
    const char *who;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|OOOOOOO:library_environment", names, &name,
                                     &build.sources, &build.libraries, &build.include_dirs,
                                     &build.define_macros, &build.library_dirs, &build.header,
                                     &path)) {
        return NULL;
    }
    who_text = PyUnicode_FromFormat("library(%R)", name);
    who = who_text == NULL ? NULL : PyUnicode_AsUTF8(who_text);
    build.libraries = who == NULL ? NULL : join_libraries(path, build.libraries, who);
    if (build.libraries == NULL) {
        goto done;
    }
    cwj_environment *environment = cwj_environment_new(state, &build, who);
    if (environment == NULL) {
        goto done;
    }
    self = PyObject_New(cwj_library_unit, state->library_unit_type);
    if (self == NULL) {
        cwj_environment_unref(environment);
        goto done;
    }
    self->environment = environment;
    self->name = Py_NewRef(name);
done:
    if (who != NULL) {
        Py_XDECREF(build.libraries);
    }
    Py_XDECREF(who_text);
    return (PyObject *)self;
}

static void
unit_dealloc(PyObject *op)
{
    cwj_library_unit *self = (cwj_library_unit *)op;
    PyTypeObject *type = Py_TYPE(op);
    cwj_environment_unref(self->environment);
    Py_XDECREF(self->name);
    type->tp_free(op);
    Py_DECREF(type);
}

static PyObject *
unit_repr(PyObject *op)
{
    return PyUnicode_FromFormat("<LibraryUnit %R>", ((cwj_library_unit *)op)->name);
}

int
cwj_check_unit(const cwj_module_state *state, PyObject *object, const char *who)
{
    if (Py_TYPE(object) == state->library_unit_type) {
        return 0;
    }
    return cwj_refuse(who, PyExc_TypeError, "the environment must be a LibraryUnit, not %s",
                      Py_TYPE(object)->tp_name);
}

/* ---- symbols ------------------------------------------------------------ */

const char cwj_library_symbol_doc[] =
    "library_symbol(environment, name, /)\n--\n\n"
    "The address of a function or variable, or None where there is none.";

PyObject *
cwj_library_symbol(PyObject *extension, PyObject *args)
{
    PyObject *unit;
    const char *name;
    const void *address;
    if (!PyArg_ParseTuple(args, "Os:library_symbol", &unit, &name) ||
        cwj_check_unit(PyModule_GetState(extension), unit, "library_symbol()") < 0) {
        return NULL;
    }
    tj_environment *environment = ((cwj_library_unit *)unit)->environment->tj;
    Py_BEGIN_ALLOW_THREADS address = tj_environment_symbol(environment, name);
    Py_END_ALLOW_THREADS return address == NULL ? Py_NewRef(Py_None)
                                                : PyLong_FromVoidPtr((void *)address);
}

const char cwj_library_compiled_doc[] =
    "library_compiled(environment, name, /)\n--\n\n"
    "Whether libtcc compiled it, from the library's sources: libtcc must compile its callers, too.";

PyObject *
cwj_library_compiled(PyObject *extension, PyObject *args)
{
    PyObject *unit;
    const char *name;
    if (!PyArg_ParseTuple(args, "Os:library_compiled", &unit, &name) ||
        cwj_check_unit(PyModule_GetState(extension), unit, "library_compiled()") < 0) {
        return NULL;
    }
    return PyBool_FromLong(
        tj_environment_compiled(((cwj_library_unit *)unit)->environment->tj, name));
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

static PyType_Spec unit_spec = {
    .name = "cwrapjit._cwrapjit.LibraryUnit",
    .basicsize = sizeof(cwj_library_unit),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = unit_slots,
};

int
cwj_add_library_types(PyObject *extension, cwj_module_state *state)
{
    state->library_unit_type =
        (PyTypeObject *)PyType_FromModuleAndSpec(extension, &unit_spec, NULL);
    if (state->library_unit_type == NULL || cwj_add_library_code(extension, state) < 0 ||
        PyModule_AddObjectRef(extension, "LibraryUnit", (PyObject *)state->library_unit_type) < 0) {
        return -1;
    }
    return cwj_add_library_function(extension, state);
}
