/* unit.c: makes the unit of a library, which owns its environment: libraries, compiled sources and header. */
#include "library/code/unit.h"

#include "base/diagnosis.h"
#include "base/choices.h"
#include "base/debug/fault.h"
#include "base/errors.h"
#include "os/shared_object.h"

static const char UNIT[] = "cwrapjit.library";

int
cwj_to_unit(PyObject *capsule, void *unit)
{
    *(void **)unit = PyCapsule_GetPointer(capsule, UNIT);
    return *(void **)unit != NULL;
}

static void
unit_free(cwj_library_unit *self)
{
    cwj_environment_unref(self->environment);
    CWJ_RELEASE(self->name, self->who);
    PyMem_Free(self);
}

static void
end_unit(PyObject *capsule)
{
    unit_free(PyCapsule_GetPointer(capsule, UNIT));
}

/* ---- the environment ---------------------------------------------------- */

/* Sets the text by which faults get lines; they have none if memory is short. */
static void
know_lines(cwj_environment *environment, const char *file, const char *shown)
{
    tj_text text = {0};
    tj_text_line(&text, 1, file);
    tj_text_puts(&text, shown);
    tj_environment_lines(environment->tj, text.failed || *shown == '\0' ? NULL : text.data);
    tj_text_clear(&text);
}

static PyObject *
library_environment(PyObject *extension, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {
        "name",         "sources",       "libraries", "include_dirs", "define_macros",
        "library_dirs", "header",        "debug",     "text",         "shown",
        "math",         "interruptible", NULL};
    cwj_module_state *state = PyModule_GetState(extension);
    cwj_build build = {0}; /* borrowed here */
    PyObject *name, *text = Py_None, *debug = Py_False, *file;
    const char *shown = "";
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|OOOOOOOOsOp:library_environment", names,
                                     &name, &build.sources, &build.libraries, &build.include_dirs,
                                     &build.define_macros, &build.library_dirs, &build.header,
                                     &debug, &text, &shown, &build.math, &build.interruptible)) {
        return NULL;
    }
    cwj_library_unit *self = cwj_allocate(1, sizeof(*self));
    if (self == NULL) {
        return NULL;
    }
    self->name = Py_NewRef(name);
    self->who = PyUnicode_FromFormat("library(%R)", name);
    const char *who = self->who == NULL ? NULL : PyUnicode_AsUTF8(self->who);
    file = PyUnicode_FromFormat("<cwrapjit %U source>", name);
    build.text = text == Py_None ? NULL : text;
    build.text_file = file == NULL ? NULL : PyUnicode_AsUTF8(file);
    who = build.text_file == NULL ? NULL : who;
    cwj_environment *environment = who == NULL ? NULL : cwj_environment_new(state, &build, who);
    self->environment = environment;
    self->debug = environment == NULL ? -1 : cwj_parse_debug(debug, who);
    if (environment != NULL) {
        environment->header_file = PyUnicode_FromFormat("<cwrapjit %U header>", name);
    }
    PyObject *capsule = self->debug < 0 || environment->header_file == NULL
                            ? NULL
                            : PyCapsule_New(self, UNIT, end_unit);
    if (capsule == NULL) {
        unit_free(self);
    } else if (self->debug != CWJ_DEBUG_OFF) { /* at once, as the files may be removed later */
        know_lines(environment, build.text_file, shown);
    }
    Py_XDECREF(file);
    return capsule;
}

/* ---- symbols ------------------------------------------------------------ */

static PyObject *
library_symbol(PyObject *Py_UNUSED(extension), PyObject *args)
{
    cwj_library_unit *unit;
    const char *name;
    const void *address;
    if (!PyArg_ParseTuple(args, "O&s:library_symbol", cwj_to_unit, &unit, &name)) {
        return NULL;
    }
    tj_environment *environment = unit->environment->tj;
    Py_BEGIN_ALLOW_THREADS
    address = tj_environment_symbol(environment, name);
    Py_END_ALLOW_THREADS
    return address == NULL ? Py_NewRef(Py_None) : PyLong_FromVoidPtr((void *)address);
}

static PyObject *
library_symbol_is_data(PyObject *Py_UNUSED(extension), PyObject *address)
{
    const void *at = PyLong_AsVoidPtr(address);
    return at == NULL && PyErr_Occurred() ? NULL : PyBool_FromLong(tj_is_variable(at));
}

static PyObject *
library_diagnose(PyObject *extension, PyObject *capsule)
{
    cwj_module_state *state = PyModule_GetState(extension);
    const cwj_library_unit *unit;
    if (!cwj_to_unit(capsule, &unit)) {
        return NULL;
    }
    PyObject *who = PyUnicode_FromFormat("%U.diagnose()", unit->name);
    const char *text = who == NULL ? NULL : PyUnicode_AsUTF8(who);
    PyObject *found = text == NULL ? NULL : cwj_diagnose_own(state, unit->environment, text);
    Py_XDECREF(who);
    return found;
}

static PyObject *
library_compiled(PyObject *Py_UNUSED(extension), PyObject *args)
{
    cwj_library_unit *unit;
    const char *name;
    if (!PyArg_ParseTuple(args, "O&s:library_compiled", cwj_to_unit, &unit, &name)) {
        return NULL;
    }
    return PyBool_FromLong(tj_environment_compiled(unit->environment->tj, name));
}

static PyObject *
library_has_state(PyObject *Py_UNUSED(extension), PyObject *capsule)
{
    const cwj_library_unit *unit;
    return cwj_to_unit(capsule, &unit)
               ? PyBool_FromLong(tj_environment_has_state(unit->environment->tj))
               : NULL;
}

static PyObject *
check_loops(PyObject *Py_UNUSED(extension), PyObject *args)
{
    const char *who;
    PyObject *fastmath, *math, *threads, *cast, *copies, *optimize;
    if (!PyArg_ParseTuple(args, "sOOOOOO:check_loops", &who, &fastmath, &math, &threads, &cast,
                          &copies, &optimize) ||
        (fastmath != Py_None && cwj_parse_bool(fastmath, who, "fastmath") < 0) ||
        (math != Py_None && cwj_parse_math(math, who) < 0) ||
        (threads != Py_None && cwj_parse_threads(threads, who) < 0) ||
        (cast != Py_None && cwj_parse_cast(cast, who) < 0) ||
        (copies != Py_None && cwj_parse_copies(copies, who) < 0) ||
        (optimize != Py_None && cwj_parse_optimize(optimize, who) < 0)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

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

static PyObject *
capsule_parts(PyObject *Py_UNUSED(extension), PyObject *capsule)
{
    if (!PyCapsule_CheckExact(capsule)) {
        return PyErr_Format(PyExc_TypeError, "wanted a capsule");
    }
    const char *name = PyCapsule_GetName(capsule);
    const void *context = PyCapsule_GetContext(capsule);
    const void *address = PyCapsule_GetPointer(capsule, name);
    if (address == NULL) {
        return NULL;
    }
    return Py_BuildValue("zKK", name, (unsigned long long)(uintptr_t)address,
                         (unsigned long long)(uintptr_t)context);
}

/* ---- functions of the extension module --------------------------------------------- */

PyMethodDef cwj_unit_functions[] = {
    {"library_environment", (PyCFunction)(void (*)(void))library_environment,
     METH_VARARGS | METH_KEYWORDS,
     "library_environment(name, sources=(), libraries=(), include_dirs=(), define_macros=(),\n"
     "                    library_dirs=(), header='', debug=False, text=None, shown='',\n"
     "                    math=None, interruptible=False)\n"
     "--\n\n"
     "Load libraries and compile sources, or text, which faults show as `shown`: a capsule.\n"
     "debug: their lines are wanted."},
    {"library_symbol", library_symbol, METH_VARARGS,
     "library_symbol(environment, name, /)\n--\n\n"
     "The address of a function or variable, or None where there is none."},
    {"library_symbol_is_data", library_symbol_is_data, METH_O,
     "library_symbol_is_data(address, /)\n--\n\n"
     "True where a loaded library has a variable there, and no function."},
    {"library_diagnose", library_diagnose, METH_O,
     "library_diagnose(environment, /)\n--\n\n"
     "What the compiler's checks say of the header and of the sources; None without a compiler."},
    {"library_compiled", library_compiled, METH_VARARGS,
     "library_compiled(environment, name, /)\n--\n\n"
     "Whether libtcc compiled it, from the library's sources: libtcc "
     "must compile its callers, too."},
    {"library_has_state", library_has_state, METH_O,
     "library_has_state(environment, /)\n--\n\n"
     "Whether what libtcc compiled for the library has data that it may write."},
    {"capsule_parts", capsule_parts, METH_O,
     "capsule_parts(capsule, /)\n--\n\n"
     "Of a capsule: its name, or None, the address in it, and its context or 0."},
    {"check_loops", check_loops, METH_VARARGS,
     "check_loops(who, fastmath, math, threads, cast, copies, optimize, /)\n--\n\n"
     "Refuses what function() would refuse; None is no option. Such functions are made later."},
    {"find_typeless", find_typeless, METH_O,
     "find_typeless(text, /)\n--\n\n"
     "What has no type in a text of declarations: (message, line, column), or None."},
    {NULL, NULL, 0, NULL},
};
