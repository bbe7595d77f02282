/* library_function.c: type cwrapjit.LibraryFunction.
 *
 * Name and docstring lie in the instance's __dict__, as for Python's functions. As an attribute of a class it binds as
 * a method. It owns the compiled thunk, which keeps the library alive. */
#include "library/library.h"

#include "base/diagnosis.h"
#include "base/content.h"
#include "base/errors.h"
#include "base/live.h"
#include "library/call/steps.h"
#include "library/code/unit.h"
#include "library/objects/instance.h"
#include "library/tables/read.h"

#include <structmember.h>

/* ---- attributes ------------------------------------------------------------------- */

/* Made on first use, as inspect is slow to import. */
static PyObject *
get_shown(PyObject *op, void *Py_UNUSED(closure))
{
    cwj_library_function *self = (cwj_library_function *)op;
    if (self->shown == NULL) {
        PyObject *made =
            cwj_ask_python("cwrapjit._signature", "build_library", "(O)", self->described);
        Py_XSETREF(self->shown, made);
    }
    return Py_XNewRef(self->shown);
}

/* ---- the library's own C text ------------------------------------------------------- */

static PyObject *
get_tier_error(PyObject *op, void *Py_UNUSED(closure))
{
    cwj_module_state *state = cwj_state_of(op);
    cwj_library_function *self = (cwj_library_function *)op;
    cwj_environment *environment = cwj_owner_environment(self->owner);
    const char *who = PyUnicode_AsUTF8(self->who);
    if (who == NULL) {
        return NULL;
    }
    return environment == NULL ? Py_NewRef(Py_None) : cwj_diagnosis_error(state, environment, who);
}

/* Makes calls until all errors are reported that the system's compiler finds in the library's text. */
static PyObject *
call_and_look(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    cwj_library_function *self = (cwj_library_function *)op;
    cwj_module_state *state = cwj_state_of(op);
    PyObject *result = NULL;
    Py_INCREF(op);
    int more = cwj_diagnosis_look(state, cwj_owner_environment(self->owner));
    if (more <= 0) {
        self->vectorcall = self->usual;
    }
    if (more >= 0) {
        result = self->usual(op, args, nargsf, kwnames);
    }
    Py_DECREF(op);
    return result;
}

/* ---- the capsule ------------------------------------------------------------------- */

/* The capsule keeps the function, which owns the signature, the capsule's name. */
static PyObject *
get_capsule(PyObject *op, void *Py_UNUSED(closure))
{
    cwj_library_function *self = (cwj_library_function *)op;
    const char *name = PyUnicode_AsUTF8(self->signature);
    if (name == NULL || self->address == NULL || name[0] == '\0') {
        if (!PyErr_Occurred()) {
            cwj_refuse_by(self->who, PyExc_AttributeError, "there is no address or no C signature");
        }
        return NULL;
    }
    return cwj_capsule_with(self->address, name, op);
}

static PyGetSetDef function_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {"__signature__", get_shown, NULL, "What inspect.signature() shows.", NULL},
    {"tier_error", get_tier_error, NULL,
     "What the system's compiler refuses in the library's own C text (sources=, header=), which\n"
     "libtcc compiles: a CompileError; RuntimeError where it cannot be asked. None: nothing, no "
     "such\n"
     "text (code of shared libraries is as it is), or not asked yet: the first call does.",
     NULL},
    {"capsule", get_capsule, NULL, "For scipy.LowLevelCallable: named by the C signature.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* ---- methods ---------------------------------------------------------------------------- */

PyDoc_STRVAR(fits_doc,
             "Which arguments have a type that fits strictly, as a tuple of bool; None when\n"
             "arguments are missing, or too many. For interfaces.");

static PyMethodDef function_methods[] = {
    {"_fits", (PyCFunction)(void (*)(void))cwj_library_fits, METH_FASTCALL | METH_KEYWORDS,
     fits_doc},
    CWJ_REPR_HTML,
    CWJ_CONTENT_METHODS,
    {NULL, NULL, 0, NULL},
};

/* The hash of the address, as Pointers to the C function are equal to it. */
static Py_hash_t
function_hash(PyObject *op)
{
    return cwj_hash_address(((cwj_library_function *)op)->address);
}

static PyObject *
function_repr(PyObject *op)
{
    cwj_library_function *self = (cwj_library_function *)op;
    Py_ssize_t length = PyUnicode_GET_LENGTH(self->who);
    PyObject *name = PyUnicode_Substring(self->who, 0, length - 2);
    PyObject *shown = get_shown(op, NULL);
    PyObject *repr = NULL;
    if (name != NULL && shown != NULL) {
        repr = PyUnicode_FromFormat("<cwrapjit.LibraryFunction %U%S%s>", name, shown,
                                    self->faulted ? "; has faulted" : "");
    }
    CWJ_RELEASE(name, shown);
    return repr;
}

/* ---- making one ------------------------------------------------------------------------- */

/* Finds the layouts once, so that later changes of a class do not change the types that the function takes. */
static int
find_layouts(cwj_library_function *self)
{
    for (int k = 0; k <= self->nparameters; k++) {
        cwj_parameter *p = k == self->nparameters ? &self->result : &self->parameters[k];
        if (cwj_role_is(p->role, CWJ_OBJECT) && (p->layout = cwj_layout_of(p->cls)) == NULL) {
            return -1;
        }
    }
    return 0;
}

PyDoc_STRVAR(wrap_function_doc,
             "wrap_function(description, /)\n--\n\nThe callable that a description describes.");

static PyObject *
wrap_function(PyObject *extension, PyObject *description)
{
    cwj_module_state *state = PyModule_GetState(extension);
    PyTypeObject *type = state->library_function_type;
    PyObject *attributes = cwj_read_attributes(description), *guard;
    cwj_library_function *self =
        attributes == NULL ? NULL : (cwj_library_function *)type->tp_alloc(type, 0);
    if (self == NULL) {
        Py_XDECREF(attributes);
        return NULL;
    }
    cwj_live_counts[CWJ_LIVE_LIBRARY_FUNCTIONS]++;
    self->vectorcall = cwj_library_call;
    bool fine = cwj_library_describe(self, attributes, &guard) == 0 && find_layouts(self) == 0 &&
                (guard == Py_None || cwj_library_guard_init(self, state, guard) == 0);
    Py_DECREF(attributes);
    if (!fine) {
        Py_DECREF(self);
        return NULL;
    }
    const cwj_environment *environment = cwj_owner_environment(self->owner);
    self->frame_size = cwj_library_frame_size(self);
    self->usual = self->vectorcall;
    if (environment != NULL && cwj_diagnosis_apply(environment)) {
        self->vectorcall = call_and_look;
    }
    return (PyObject *)self;
}

static int
function_traverse(PyObject *op, visitproc visit, void *arg)
{
    cwj_library_function *self = (cwj_library_function *)op;
    for (int i = 0; i < self->narguments; i++) {
        Py_VISIT(self->arguments[i].preset);
    }
    for (int k = 0; k < self->nparameters; k++) {
        Py_VISIT(self->parameters[k].cls);
        Py_VISIT(self->parameters[k].layout);
        Py_VISIT(self->parameters[k].known);
    }
    return CWJ_VISIT(Py_TYPE(op), self->dict, self->shown, self->check, self->owner,
                     self->result.cls, self->result.layout, self->result.library, self->described);
}

/* Clears only members that may be part of a cycle: a call may need the others. */
static int
function_clear(PyObject *op)
{
    cwj_library_function *self = (cwj_library_function *)op;
    Py_CLEAR(self->dict);
    Py_CLEAR(self->shown);
    Py_CLEAR(self->check);
    return 0;
}

static void
function_dealloc(PyObject *op)
{
    cwj_library_function *self = (cwj_library_function *)op;
    PyObject_GC_UnTrack(op);
    PyObject_ClearWeakRefs(op);
    function_clear(op);
    PyMem_Free(self->guard);
    cwj_library_clear(self);
    cwj_live_counts[CWJ_LIVE_LIBRARY_FUNCTIONS]--;
    cwj_object_free(op);
}

static PyMemberDef function_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(cwj_library_function, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(cwj_library_function, weakrefs), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(cwj_library_function, vectorcall), READONLY,
     NULL},
    {"address", T_ULONGLONG, offsetof(cwj_library_function, address), READONLY,
     "The C function's address."},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(function_doc, "A function of a C or Fortran library, with checked arguments.\n\n"
                           "Made by the methods of what cwrapjit.library() returns.");

static PyType_Slot function_slots[] = {
    {Py_tp_dealloc, function_dealloc}, {Py_tp_traverse, function_traverse},
    {Py_tp_clear, function_clear},     {Py_tp_repr, function_repr},
    {Py_tp_hash, function_hash},       {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getset, function_getset},   {Py_tp_members, function_members},
    {Py_tp_methods, function_methods}, {Py_tp_descr_get, cwj_instance_bind},
    {Py_tp_doc, (void *)function_doc}, {0, NULL},
};

CWJ_TYPE(cwj_library_function_spec, "cwrapjit.LibraryFunction", cwj_library_function,
         function_slots,
         Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
             Py_TPFLAGS_DISALLOW_INSTANTIATION);

/* ---- functions of the extension module --------------------------------------------- */

PyMethodDef cwj_wrap_functions[] = {
    {"wrap_function", wrap_function, METH_O, wrap_function_doc},
    {NULL, NULL, 0, NULL},
};
