/* is_instance.c: what is an instance. Its type is known by its function, so that no state is needed. */
#include "library/objects/instance.h"

int
cwj_instance_traverse(PyObject *op, visitproc visit, void *arg)
{
    cwj_instance *self = (cwj_instance *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->layout);
    Py_VISIT(self->base);
    Py_VISIT(self->references);
    if (self->bound != NULL) {
        Py_VISIT(self->bound->owners);
    }
    return 0;
}

/* A type that Python code made has a tp_traverse of Python's own, its bases do not. */
int
cwj_is_instance_type(PyTypeObject *type)
{
    while (type != NULL && type->tp_traverse != cwj_instance_traverse) {
        type = type->tp_base;
    }
    return type != NULL;
}

int
cwj_is_instance(PyObject *object)
{
    return cwj_is_instance_type(Py_TYPE(object));
}
