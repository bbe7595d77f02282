/* imports.c: importing late: see cwj_import() and cwj_repr_html() in state.h. */
#include "base/state.h"

PyObject *
cwj_import(const char *name)
{
    PyObject *imports = PyImport_ImportModule("cwrapjit._imports"); /* there since the package is */
    PyObject *module = imports == NULL ? NULL : PyObject_CallMethod(imports, "load", "s", name);
    Py_XDECREF(imports);
    return module;
}

PyObject *
cwj_repr_html(PyObject *op, PyObject *Py_UNUSED(unused))
{
    PyObject *show = cwj_import("cwrapjit.show");
    PyObject *html = show == NULL ? NULL : PyObject_CallMethod(show, "html", "O", op);
    Py_XDECREF(show);
    return html;
}
