/* is_instance.c: the tp_traverse of instances, which identifies their type without the module's state. */
#include "library/objects/instance.h"

int
cwj_instance_traverse(PyObject *op, visitproc visit, void *arg)
{
    cwj_instance *self = (cwj_instance *)op;
    PyObject *key, *entry;
    Py_ssize_t position = 0;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->layout);
    Py_VISIT(self->base);
    /* The collector does not see the dict and the list: see references.c and bound.c. */
    while (self->references != NULL && PyDict_Next(self->references, &position, &key, &entry)) {
        Py_VISIT(entry);
    }
    for (Py_ssize_t k = 0; self->bound != NULL && k < PyList_GET_SIZE(self->bound->owners); k++) {
        Py_VISIT(PyList_GET_ITEM(self->bound->owners, k));
    }
    return 0;
}
