/* content.c: see content.h. */
#include "base/content.h"

PyObject *
cwj_content_ask(const char *function, PyObject *self)
{
    PyObject *travel = cwj_import("cwrapjit._travel");
    PyObject *answer = travel == NULL ? NULL : PyObject_CallMethod(travel, function, "O", self);
    Py_XDECREF(travel);
    return answer;
}

PyObject *
cwj_content_reduce(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return cwj_content_ask("reduced", self);
}

PyObject *
cwj_content_token(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return cwj_content_ask("token", self);
}

PyObject *
cwj_content_copy(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return Py_NewRef(self);
}
