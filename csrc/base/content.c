/* content.c: pickles, copies and hashes objects by content (content.h). */
#include "base/content.h"

PyObject *
cwj_content_ask(const char *function, PyObject *self)
{
    return cwj_ask_python("cwrapjit._travel", function, "(O)", self);
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
