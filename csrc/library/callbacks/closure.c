/* closure.c: manages trampolines with their places, and closures, the Python callables that have a place. */
#include "library/callbacks/callback.h"

#include "base/errors.h"
#include "base/live.h"
#include "library/objects/instance.h"

#include <stdint.h>
#include <structmember.h>

enum {
    PLACE_BYTES = 32 /* of a place in compiled units */
};
_Static_assert(sizeof(cwj_place) <= PLACE_BYTES, "compiled units have room for a place");

/* ---- trampolines ----------------------------------------------------------------------- */

static PyObject *
trampolines_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    cwj_trampolines *self = (cwj_trampolines *)type->tp_alloc(type, 0);
    if (self != NULL &&
        ((self->units = PyList_New(0)) == NULL || (self->places = PyDict_New()) == NULL)) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

/* C may still call the code, so `units` and `places` are never freed. */
static void
trampolines_dealloc(PyObject *op)
{
    cwj_object_free(op);
}

static void
put_last(cwj_trampolines *self, cwj_place *place)
{
    place->next = NULL;
    if (self->last != NULL) {
        self->last->next = place;
    } else {
        self->first = place;
    }
    self->last = place;
}

static PyObject *
trampolines_add(PyObject *op, PyObject *args)
{
    cwj_trampolines *self = (cwj_trampolines *)op;
    PyObject *unit, *addresses;
    unsigned long long at;
    if (!PyArg_ParseTuple(args, "OKO!:add", &unit, &at, &PyList_Type, &addresses) ||
        PyList_Append(self->units, unit) < 0) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(addresses); i++) {
        cwj_place *place = (cwj_place *)(uintptr_t)(at + (unsigned long long)i * PLACE_BYTES);
        void *address = PyLong_AsVoidPtr(PyList_GET_ITEM(addresses, i));
        PyObject *number = PyLong_FromVoidPtr(place);
        int status = number == NULL
                         ? -1
                         : PyDict_SetItem(self->places, PyList_GET_ITEM(addresses, i), number);
        Py_XDECREF(number);
        if (status < 0 || PyErr_Occurred()) {
            return NULL;
        }
        *place = (cwj_place){.address = address};
        put_last(self, place);
        self->total++;
    }
    Py_RETURN_NONE;
}

static PyObject *
trampolines_callable_at(PyObject *op, PyObject *address)
{
    PyObject *number = PyDict_GetItemWithError(((cwj_trampolines *)op)->places, address);
    const cwj_place *place = number == NULL ? NULL : PyLong_AsVoidPtr(number);
    if (place == NULL || place->closure == NULL || place->closure->callable == NULL) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    return Py_NewRef(place->closure->callable);
}

/* Keeps 8 places free, so that a late call of a freed closure finds its place free and is recognised. Compiles as many
 * trampolines as there are, at least 16 and at most 256. */
static PyObject *
trampolines_missing(PyObject *op, void *Py_UNUSED(closure))
{
    const cwj_trampolines *self = (cwj_trampolines *)op;
    Py_ssize_t more = self->total < 16 ? 16 : self->total > 256 ? 256 : self->total;
    return PyLong_FromSsize_t(self->total - self->used < 8 ? more : 0);
}

static PyMethodDef trampolines_methods[] = {
    {"add", trampolines_add, METH_VARARGS,
     "add($self, unit, places, addresses, /)\n--\n\n"
     "More of them: their code, the address of their places, theirs."},
    {"callable_at", trampolines_callable_at, METH_O,
     "callable_at($self, address, /)\n--\n\n"
     "The Python callable whose trampoline is there, or None."},
    {"__reduce__", cwj_refuse_pickle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef trampolines_getset[] = {
    {"missing", trampolines_missing, NULL, "How many more should be added.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot trampolines_slots[] = {
    {Py_tp_new, trampolines_new},
    {Py_tp_dealloc, trampolines_dealloc},
    {Py_tp_methods, trampolines_methods},
    {Py_tp_getset, trampolines_getset},
    {Py_tp_doc, "C functions of one signature, each of which calls what its place says."},
    {0, NULL},
};

CWJ_TYPE(cwj_trampolines_spec, "cwrapjit.Trampolines", cwj_trampolines, trampolines_slots, 0);

int
cwj_is_trampolines(PyObject *object)
{
    return Py_TYPE(object)->tp_dealloc == trampolines_dealloc;
}

/* ---- closures ---------------------------------------------------------------------------- */

static void
give_back(cwj_closure *self)
{
    if (self->place != NULL) {
        cwj_trampolines *trampolines = self->kind->trampolines;
        self->place->closure = NULL;
        put_last(trampolines, self->place);
        trampolines->used--;
        cwj_live_counts[CWJ_LIVE_CALLBACKS]--;
        self->place = NULL;
    }
}

static void
closure_dealloc(PyObject *op)
{
    cwj_closure *self = (cwj_closure *)op;
    PyObject_GC_UnTrack(op);
    give_back(self);
    CWJ_RELEASE(self->callable, self->returned, self->kind);
    cwj_object_free(op);
}

static int
closure_traverse(PyObject *op, visitproc visit, void *arg)
{
    cwj_closure *self = (cwj_closure *)op;
    return CWJ_VISIT(Py_TYPE(op), self->kind, self->callable, self->returned);
}

static int
closure_clear(PyObject *op)
{
    cwj_closure *self = (cwj_closure *)op;
    Py_CLEAR(self->callable);
    Py_CLEAR(self->returned);
    return 0;
}

cwj_closure *
cwj_closure_of(PyObject *object)
{
    return Py_TYPE(object)->tp_dealloc == closure_dealloc ? (cwj_closure *)object : NULL;
}

static PyObject *
get_address(PyObject *op, void *Py_UNUSED(closure))
{
    return PyLong_FromVoidPtr(((cwj_closure *)op)->place->address);
}

static PyGetSetDef closure_getset[] = {
    {"address", get_address, NULL, "What C calls.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef closure_members[] = {
    {"callable", T_OBJECT, offsetof(cwj_closure, callable), READONLY, "Python's."},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef closure_methods[] = {
    {"__reduce__", cwj_refuse_pickle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot closure_slots[] = {
    {Py_tp_dealloc, closure_dealloc},
    {Py_tp_traverse, closure_traverse},
    {Py_tp_clear, closure_clear},
    {Py_tp_getset, closure_getset},
    {Py_tp_members, closure_members},
    {Py_tp_methods, closure_methods},
    {Py_tp_doc, "A Python callable as a C function, which it is as long as this lives."},
    {0, NULL},
};

CWJ_TYPE(cwj_closure_spec, "cwrapjit.Closure", cwj_closure, closure_slots,
         Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION);
