/* kind.c: type CallbackKind: says how the arguments and the result of a C function type are converted. */
#include "library/callbacks/callback.h"

#include "base/choices.h"
#include "base/errors.h"
#include "base/live.h"
#include "library/objects/struct_layout.h"

static const char WHO[] = "CallbackKind()";

/* ---- reading ------------------------------------------------------------------------------- */

#define CROSSING_WORD(name, word) word,
static const char *const crossings[] = {CWJ_CROSSINGS(CROSSING_WORD)};

static int
read_class(cwj_passed *passed, PyObject *cls)
{
    passed->layout = cwj_layout_of(cls);
    if (passed->layout == NULL) {
        return -1;
    }
    return passed->crossing == CWJ_CROSS_STRUCT && passed->layout->size == 0
               ? cwj_refuse(WHO, PyExc_ValueError, "%R has no size", cls)
               : 0;
}

/* given: (crossing, name, type, what, dims, readonly, hidden); `what` is a class, a dtype or a converter. */
static int
read_passed(cwj_passed *passed, PyObject *given, PyObject *symbols)
{
    PyObject *word, *name, *type, *what, *dims;
    int readonly, hidden;
    if (!PyTuple_Check(given) ||
        !PyArg_ParseTuple(given, "UUUOO!pp:CallbackKind", &word, &name, &type, &what, &PyTuple_Type,
                          &dims, &readonly, &hidden)) {
        return PyErr_Occurred() ? -1 : cwj_refuse_type(WHO, "an argument", "a tuple", given);
    }
    passed->symbol = -1;
    passed->readonly = readonly;
    passed->hidden = hidden;
    passed->name = Py_NewRef(name);
    int found = cwj_parse_choice(word, crossings, sizeof(crossings) / sizeof(*crossings), WHO,
                                 "a crossing");
    if (found < 0) {
        return -1;
    }
    switch (passed->crossing = (cwj_crossing)found) {
    case CWJ_CROSS_NUMBER:
    case CWJ_CROSS_REFERENCE:
        passed->type = cwj_library_type_find(type);
        if (passed->type == NULL) {
            return cwj_refuse(WHO, PyExc_ValueError, "there is no type %R", type);
        }
        return 0;
    case CWJ_CROSS_TEXTS:
        if (what != Py_None && read_class(passed, what) < 0) {
            return -1;
        }
        return PyTuple_GET_SIZE(dims) <= 1
                   ? cwj_dims_read(&passed->dims, &passed->ndim, dims, symbols, WHO)
                   : cwj_refuse(WHO, PyExc_ValueError, "a list has one dim, or none");
    case CWJ_CROSS_ARRAY:
        if (!PyArray_DescrCheck(what) || PyDataType_REFCHK((PyArray_Descr *)what)) {
            return cwj_refuse(WHO, PyExc_ValueError, "%R is no dtype for memory of C's", what);
        }
        passed->descr = (PyArray_Descr *)Py_NewRef(what);
        return cwj_dims_read(&passed->dims, &passed->ndim, dims, symbols, WHO);
    case CWJ_CROSS_INSTANCE:
    case CWJ_CROSS_STRUCT:
        return read_class(passed, what);
    case CWJ_CROSS_ADDRESS:
        passed->item = Py_NewRef(type);
        passed->converter = what == Py_None ? NULL : Py_NewRef(what);
        return 0;
    default:
        return 0;
    }
}

/* Finds the integer argument of each symbol. */
static int
find_symbols(cwj_callback_kind *self, PyObject *symbols)
{
    self->nsymbols = (int)PyList_GET_SIZE(symbols);
    for (int s = 0; s < self->nsymbols; s++) {
        PyObject *name = PyList_GET_ITEM(symbols, s);
        bool found = false;
        for (int k = 0; k < self->count && !found; k++) {
            cwj_passed *passed = &self->passed[k];
            found = cwj_is_integer(passed->type) && PyUnicode_Compare(passed->name, name) == 0;
            passed->symbol = found ? s : passed->symbol;
        }
        if (!found) {
            return cwj_refuse(WHO, PyExc_ValueError, "%R is no integer among the arguments", name);
        }
    }
    return 0;
}

static int
read_all(cwj_callback_kind *self, PyObject *passed, PyObject *result)
{
    Py_ssize_t count = PyTuple_GET_SIZE(passed);
    PyObject *symbols = PyList_New(0);
    self->passed = cwj_allocate((size_t)count + 1, sizeof(*self->passed));
    int status = symbols == NULL || self->passed == NULL ? -1 : 0;
    for (Py_ssize_t k = 0; status == 0 && k < count; k++) {
        self->count = (int)k + 1;
        status = read_passed(&self->passed[k], PyTuple_GET_ITEM(passed, k), symbols);
        cwj_crossing crossing = self->passed[k].crossing;
        self->has_memory |= crossing == CWJ_CROSS_ARRAY || crossing == CWJ_CROSS_INSTANCE ||
                            crossing == CWJ_CROSS_TEXTS;
    }
    if (status == 0 && (status = find_symbols(self, symbols)) == 0) {
        status = read_passed(&self->result, result, symbols);
    }
    cwj_crossing made = self->result.crossing;
    if (status == 0 &&
        (made == CWJ_CROSS_ARRAY || made == CWJ_CROSS_REFERENCE || made == CWJ_CROSS_TEXTS)) {
        status = cwj_refuse(WHO, PyExc_ValueError, "neither arrays nor references are results");
    }
    Py_XDECREF(symbols);
    return status;
}

/* ---- the type -------------------------------------------------------------------------------- */

static void
clear_passed(cwj_passed *passed)
{
    cwj_dims_clear(passed->dims, passed->ndim);
    CWJ_RELEASE(passed->descr, passed->layout, passed->converter, passed->item, passed->name);
}

static void
kind_dealloc(PyObject *op)
{
    cwj_callback_kind *self = (cwj_callback_kind *)op;
    PyObject_GC_UnTrack(op);
    for (int k = 0; k < self->count; k++) {
        clear_passed(&self->passed[k]);
    }
    clear_passed(&self->result);
    PyMem_Free(self->passed);
    CWJ_RELEASE(self->who, self->trampolines, self->closure_type, self->pointer_type);
    cwj_object_free(op);
}

static int
kind_traverse(PyObject *op, visitproc visit, void *arg)
{
    cwj_callback_kind *self = (cwj_callback_kind *)op;
    for (int k = 0; k < self->count; k++) {
        Py_VISIT(self->passed[k].layout);
        Py_VISIT(self->passed[k].converter);
    }
    return CWJ_VISIT(Py_TYPE(op), self->result.layout, self->result.converter, self->closure_type,
                     self->pointer_type);
}

static PyObject *
kind_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"who", "trampolines", "arguments", "result", NULL};
    PyObject *who, *trampolines, *arguments, *result;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UOO!O:CallbackKind", names, &who, &trampolines,
                                     &PyTuple_Type, &arguments, &result)) {
        return NULL;
    }
    if (!cwj_is_trampolines(trampolines)) {
        cwj_refuse_type(WHO, "trampolines", "Trampolines", trampolines);
        return NULL;
    }
    if (PyTuple_GET_SIZE(arguments) > CWJ_MOST_PASSED) {
        cwj_refuse(WHO, PyExc_ValueError, "more than %d arguments", CWJ_MOST_PASSED);
        return NULL;
    }
    cwj_callback_kind *self = (cwj_callback_kind *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    cwj_module_state *state = PyType_GetModuleState(type);
    self->who = Py_NewRef(who);
    self->trampolines = (cwj_trampolines *)Py_NewRef(trampolines);
    self->closure_type = (PyTypeObject *)Py_NewRef(state->closure_type);
    self->pointer_type = (PyTypeObject *)Py_NewRef(state->pointer_type);
    if (read_all(self, arguments, result) < 0) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

/* kind(callable) makes a closure. */
static PyObject *
kind_call(PyObject *op, PyObject *args, PyObject *kwargs)
{
    cwj_callback_kind *self = (cwj_callback_kind *)op;
    PyObject *callable = PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : NULL;
    if (callable == NULL || kwargs != NULL || !PyCallable_Check(callable)) {
        return PyErr_Format(PyExc_TypeError, "CallbackKind()() takes a callable");
    }
    cwj_trampolines *trampolines = self->trampolines;
    cwj_place *place = trampolines->first;
    if (place == NULL) {
        return PyErr_Format(PyExc_RuntimeError, "there are no trampolines");
    }
    PyTypeObject *type = self->closure_type;
    cwj_closure *closure = (cwj_closure *)type->tp_alloc(type, 0);
    if (closure == NULL) {
        return NULL;
    }
    place = trampolines->first; /* again: the garbage collector may have run and freed a closure */
    trampolines->first = place->next;
    trampolines->last = place->next == NULL ? NULL : trampolines->last;
    trampolines->used++;
    cwj_live_counts[CWJ_LIVE_CALLBACKS]++;
    cwj_has_closures = true;
    closure->kind = (cwj_callback_kind *)Py_NewRef(self);
    closure->callable = Py_NewRef(callable);
    closure->place = place;
    Py_XSETREF(place->who, Py_NewRef(self->who));
    place->closure = closure;
    return (PyObject *)closure;
}

static PyMethodDef kind_methods[] = {
    {"__reduce__", cwj_refuse_pickle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot kind_slots[] = {
    {Py_tp_new, kind_new},
    {Py_tp_dealloc, kind_dealloc},
    {Py_tp_traverse, kind_traverse},
    {Py_tp_call, kind_call},
    {Py_tp_methods, kind_methods},
    {Py_tp_doc, "What a function type is to Python: called with a callable it makes a closure."},
    {0, NULL},
};

CWJ_TYPE(cwj_callback_kind_spec, "cwrapjit.CallbackKind", cwj_callback_kind, kind_slots,
         Py_TPFLAGS_HAVE_GC);
