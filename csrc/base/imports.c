/* imports.c: importing late: see cwj_import() in state.h. */
#include "base/state.h"

PyObject *
cwj_import(const char *name)
{
    PyObject *imports = PyImport_ImportModule("cwrapjit._imports"); /* there since the package is */
    PyObject *module = imports == NULL ? NULL : PyObject_CallMethod(imports, "load", "s", name);
    Py_XDECREF(imports);
    return module;
}
