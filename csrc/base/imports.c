/* imports.c: importing late: see cwj_ask_python() and cwj_repr_html() in state.h. */
#include "base/state.h"

static PyObject *
import(const char *name)
{
    PyObject *imports = PyImport_ImportModule("cwrapjit._imports"); /* there since the package is */
    PyObject *module = imports == NULL ? NULL : PyObject_CallMethod(imports, "load", "s", name);
    Py_XDECREF(imports);
    return module;
}

PyObject *
cwj_ask_python(const char *module, const char *function, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *tuple = Py_VaBuildValue(format, arguments), *result = NULL;
    va_end(arguments);
    PyObject *loaded = tuple == NULL ? NULL : import(module);
    PyObject *callable = loaded == NULL ? NULL : PyObject_GetAttrString(loaded, function);
    if (callable != NULL) {
        result = PyObject_CallObject(callable, tuple);
    }
    Py_XDECREF(loaded);
    Py_XDECREF(callable);
    Py_XDECREF(tuple);
    return result;
}

PyObject *
cwj_repr_html(PyObject *op, PyObject *Py_UNUSED(unused))
{
    return cwj_ask_python("cwrapjit.show", "html", "(O)", op);
}
