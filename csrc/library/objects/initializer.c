/* initializer.c: type cwrapjit._cwrapjit.Initializer: the __init__ of classes whose instances a function of C
 * begins.
 */
#include "library/objects/instance.h"

#include <structmember.h>

typedef struct cwj_initializer {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function; /* owned */
    PyObject *dict; /* owned: __doc__, __signature__ ... */
    int adopts;
} cwj_initializer;

static PyObject *
initializer_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    cwj_initializer *self = (cwj_initializer *)op;
    size_t nargs = (size_t)PyVectorcall_NARGS(nargsf);
    if (nargs == 0 || !cwj_is_instance(args[0])) {
        return PyErr_Format(PyExc_TypeError,
                            "__init__(): wanted an instance to initialise, got %.200s",
                            nargs == 0 ? "nothing" : Py_TYPE(args[0])->tp_name);
    }
    return cwj_construct(self->function, self->adopts, args, nargs, kwnames);
}

static PyObject *
initializer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "adopts", NULL};
    PyObject *function;
    int adopts;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Op:Initializer", names, &function, &adopts)) {
        return NULL;
    }
    cwj_initializer *self = (cwj_initializer *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = initializer_call;
        self->function = Py_NewRef(function);
        self->adopts = adopts;
    }
    return (PyObject *)self;
}

static PyObject *
initializer_get(PyObject *op, PyObject *instance, PyObject *Py_UNUSED(type))
{
    return instance == NULL || instance == Py_None ? Py_NewRef(op) : PyMethod_New(op, instance);
}

static int
initializer_traverse(PyObject *op, visitproc visit, void *arg)
{
    cwj_initializer *self = (cwj_initializer *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->function);
    Py_VISIT(self->dict);
    return 0;
}

static int
initializer_clear(PyObject *op)
{
    cwj_initializer *self = (cwj_initializer *)op;
    Py_CLEAR(self->dict); /* calls need the function */
    return 0;
}

static void
initializer_dealloc(PyObject *op)
{
    cwj_initializer *self = (cwj_initializer *)op;
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    initializer_clear(op);
    Py_CLEAR(self->function);
    type->tp_free(op);
    Py_DECREF(type);
}

static PyGetSetDef initializer_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef initializer_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(cwj_initializer, dict), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(cwj_initializer, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(
    initializer_doc,
    "Initializer(function, adopts)\n--\n\n"
    "An __init__: it initialises an instance, once, by function(instance, ...), which fills it\n"
    "or, with adopts, function(...), which returns another one, whose C object the instance\n"
    "takes over.");

static PyType_Slot initializer_slots[] = {
    {Py_tp_new, initializer_new},           {Py_tp_dealloc, initializer_dealloc},
    {Py_tp_traverse, initializer_traverse}, {Py_tp_clear, initializer_clear},
    {Py_tp_call, PyVectorcall_Call},        {Py_tp_descr_get, initializer_get},
    {Py_tp_getset, initializer_getset},     {Py_tp_members, initializer_members},
    {Py_tp_doc, (void *)initializer_doc},   {0, NULL},
};

PyType_Spec cwj_initializer_spec = {
    .name = "cwrapjit._cwrapjit.Initializer",
    .basicsize = sizeof(cwj_initializer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = initializer_slots,
};
