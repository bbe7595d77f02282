/* pointer.c: type cwrapjit.Pointer, an address that C gets unchanged. Users make one from an array or a buffer, for
 * memory whose extent no declaration gives. Functions whose result type is not described return one. It keeps the owner
 * of the memory alive. */
#include "library/objects/pointer.h"

#include "base/errors.h"
#include "library/objects/instance.h"
#include "library/tables/tables.h"

#include <structmember.h>

static void
pointer_dealloc(PyObject *op)
{
    cwj_pointer *self = (cwj_pointer *)op;
    PyObject_GC_UnTrack(op);
    CWJ_RELEASE(self->item, self->base, self->function);
    cwj_object_free(op);
}

/* No tp_clear: C may have the address, and the memory must live as long as the Pointer. */
static int
pointer_traverse(PyObject *op, visitproc visit, void *arg)
{
    return CWJ_VISIT(Py_TYPE(op), ((cwj_pointer *)op)->base, ((cwj_pointer *)op)->function);
}

bool
cwj_is_pointer(PyObject *object)
{
    return Py_TYPE(object)->tp_dealloc == pointer_dealloc; /* the type has no subclasses */
}

bool
cwj_is_given(PyObject *object)
{
    return PyTuple_CheckExact(object) && PyTuple_GET_SIZE(object) == 2 &&
           cwj_is_pointer(PyTuple_GET_ITEM(object, 1));
}

static bool
is_bytes(PyObject *item)
{
    return PyUnicode_CompareWithASCIIString(item, "int8") == 0 ||
           PyUnicode_CompareWithASCIIString(item, "uint8") == 0;
}

bool
cwj_items_agree(PyObject *given, PyObject *wanted)
{
    return PyUnicode_GET_LENGTH(given) == 0 || PyUnicode_GET_LENGTH(wanted) == 0 ||
           PyUnicode_Compare(given, wanted) == 0 || (is_bytes(given) && is_bytes(wanted));
}

/* ---- creation -------------------------------------------------------------------------------- */

PyObject *
cwj_pointer_around(PyTypeObject *type, void *address, PyObject *item, bool readonly, PyObject *base)
{
    cwj_pointer *self = (cwj_pointer *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->address = address;
        self->item = Py_NewRef(item);
        self->readonly = readonly;
        self->base = Py_XNewRef(base);
    }
    return (PyObject *)self;
}

static PyObject *
of_array(PyTypeObject *type, PyArrayObject *array)
{
    PyArray_Descr *descr = PyArray_DESCR(array);
    if (PyDataType_REFCHK(descr)) {
        return PyErr_Format(PyExc_TypeError,
                            "Pointer(): C must not write over the objects in an array of %R",
                            descr);
    }
    if (!PyArray_IS_C_CONTIGUOUS(array) && !PyArray_IS_F_CONTIGUOUS(array)) {
        return PyErr_Format(PyExc_TypeError, "Pointer(): the array must be contiguous");
    }
    if (!PyArray_ISBEHAVED_RO(array)) {
        return PyErr_Format(
            PyExc_TypeError,
            "Pointer(): the array must be aligned, and in the machine's byte order");
    }
    bool is_number = PyTypeNum_ISNUMBER(descr->type_num) || PyTypeNum_ISBOOL(descr->type_num);
    PyObject *item = is_number ? PyObject_GetAttrString((PyObject *)descr, "name") /* "float64" */
                               : PyUnicode_FromString("");
    PyObject *made = item == NULL
                         ? NULL
                         : cwj_pointer_around(type, PyArray_DATA(array), item,
                                              !PyArray_ISWRITEABLE(array), (PyObject *)array);
    Py_XDECREF(item);
    return made;
}

/* The view keeps the memory in place: a bytearray cannot be resized while it has a view. */
static PyObject *
of_buffer(PyTypeObject *type, PyObject *given)
{
    PyObject *view = PyMemoryView_FromObject(given);
    PyObject *array = view == NULL ? NULL : PyArray_FromAny(view, NULL, 0, 0, 0, NULL);
    PyObject *made = array == NULL ? NULL : of_array(type, (PyArrayObject *)array);
    CWJ_RELEASE(array, view);
    return made;
}

static PyObject *
pointer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"object", NULL};
    PyObject *given;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Pointer", names, &given)) {
        return NULL;
    }
    if (cwj_is_pointer(given)) {
        return Py_NewRef(given);
    }
    if (PyArray_Check(given)) {
        return of_array(type, (PyArrayObject *)given);
    }
    if (PyObject_CheckBuffer(given)) {
        return of_buffer(type, given);
    }
    return PyErr_Format(PyExc_TypeError,
                        "Pointer(): wanted an array or a buffer, whose memory C gets, got %s",
                        Py_TYPE(given)->tp_name);
}

/* ---- C functions ----------------------------------------------------------------------------- */

PyObject *
cwj_function_at(PyObject *converter, const void *address, PyObject *base)
{
    return PyObject_CallMethod(converter, "at", "KO", (unsigned long long)(uintptr_t)address,
                               base == NULL ? Py_None : base);
}

static PyObject *
function_pointer(PyObject *extension, PyObject *args)
{
    unsigned long long address;
    PyObject *item, *function, *base;
    if (!PyArg_ParseTuple(args, "KUOO:function_pointer", &address, &item, &function, &base)) {
        return NULL;
    }
    cwj_module_state *state = PyModule_GetState(extension);
    PyObject *made =
        cwj_pointer_around(state->pointer_type, (void *)(uintptr_t)address, item, false, base);
    if (made != NULL) {
        ((cwj_pointer *)made)->function = Py_NewRef(function);
    }
    return made;
}

static PyObject *
pointer_call(PyObject *op, PyObject *args, PyObject *kwargs)
{
    const cwj_pointer *self = (cwj_pointer *)op;
    if (self->function == NULL) {
        return PyErr_Format(PyExc_TypeError, "%R is no function", op);
    }
    PyObject *callable = PyObject_CallMethod(self->function, "callable", "K",
                                             (unsigned long long)(uintptr_t)self->address);
    PyObject *result = callable == NULL ? NULL : PyObject_Call(callable, args, kwargs);
    Py_XDECREF(callable);
    return result;
}

PyMethodDef cwj_pointer_functions[] = {
    {"function_pointer", function_pointer, METH_VARARGS,
     "function_pointer(address, item, function, base, /)\n--\n\n"
     "A Pointer to a function of C's, which function.callable(address) calls."},
    {NULL, NULL, 0, NULL},
};

/* Without this method, NumPy would make an array of one object. */
static PyObject *
pointer_as_array(PyObject *op, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    return PyErr_Format(PyExc_TypeError, "%R is no array: nothing says how long it is: p.array(n)",
                        op);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static PyObject *
pointer_repr(PyObject *op)
{
    const cwj_pointer *self = (cwj_pointer *)op;
    bool is_void = PyUnicode_GET_LENGTH(self->item) == 0;
    return PyUnicode_FromFormat("<cwrapjit.Pointer: %s%s%U%s, at %p%s>",
                                self->readonly ? "const " : "", is_void ? "void" : "", self->item,
                                self->function != NULL ? "" : " *", self->address,
                                cwj_pointer_is_there(self->base) ? "" : ", freed");
}

static PyObject *
pointer_compare(PyObject *op, PyObject *other, int operation)
{
    bool is_function = Py_TYPE(other) == cwj_state_of(op)->library_function_type;
    if ((operation != Py_EQ && operation != Py_NE) || !(is_function || cwj_is_pointer(other))) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    const void *address =
        is_function ? ((cwj_library_function *)other)->address : ((cwj_pointer *)other)->address;
    return PyBool_FromLong((((cwj_pointer *)op)->address == address) == (operation == Py_EQ));
}

static Py_hash_t
pointer_hash(PyObject *op)
{
    return cwj_hash_address(((cwj_pointer *)op)->address);
}

static PyMemberDef pointer_members[] = {
    {"address", T_ULONGLONG, offsetof(cwj_pointer, address), READONLY, "The address, an int."},
    {"item", T_OBJECT_EX, offsetof(cwj_pointer, item), READONLY,
     "What it points to: a dtype's name, C's name of another type, or '' for void."},
    {"base", T_OBJECT, offsetof(cwj_pointer, base), READONLY,
     "What has the memory, and lives as long as the pointer; None: C, as far as is known."},
    {"_function", T_OBJECT, offsetof(cwj_pointer, function), READONLY, NULL},
    {"readonly", T_BOOL, offsetof(cwj_pointer, readonly), READONLY, "C must not write there."},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef pointer_methods[] = {
    {"array", cwj_pointer_array, METH_VARARGS,
     "array($self, shape, dtype=None, /)\n--\n\n"
     "The memory as an array of this shape, of the items that C declared or, of any others, of a\n"
     "dtype. Nothing is copied, and nobody checks that so much is there, unless the Pointer was\n"
     "made of an array."},
    {"__array__", (PyCFunction)(void (*)(void))pointer_as_array, METH_VARARGS | METH_KEYWORDS,
     NULL},
    {"__reduce__", cwj_refuse_pickle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot pointer_slots[] = {
    {Py_tp_new, pointer_new},
    {Py_tp_dealloc, pointer_dealloc},
    {Py_tp_traverse, pointer_traverse},
    {Py_tp_repr, pointer_repr},
    {Py_tp_call, pointer_call},
    {Py_mp_subscript, cwj_pointer_subscript},
    {Py_mp_ass_subscript, cwj_pointer_assign},
    {Py_tp_richcompare, pointer_compare},
    {Py_tp_hash, pointer_hash},
    {Py_tp_members, pointer_members},
    {Py_tp_methods, pointer_methods},
    {Py_tp_doc,
     "Pointer(object)\n--\n\n"
     "An address for C, of an array or a buffer of bytes, which lives as long as the pointer.\n\n"
     "Functions of libraries take one for a pointer whose extent nothing says: a void *, or a\n"
     "double * without dims. What the memory consists of is checked against the declaration, how\n"
     "much C reads and writes there is not. They return one where nobody described what a result\n"
     "points to. Two of one address are equal.\n\n"
     "Raises TypeError for what has no memory, for arrays that are not contiguous or not aligned,\n"
     "and for arrays of objects."},
    {0, NULL},
};

CWJ_TYPE(cwj_pointer_spec, "cwrapjit.Pointer", cwj_pointer, pointer_slots, Py_TPFLAGS_HAVE_GC);
