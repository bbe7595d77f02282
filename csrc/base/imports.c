/* imports.c: imports the package's Python modules on first use, and adds the types written in C (state.h). */
#include "base/state.h"

static PyObject *
import(const char *name)
{
    PyObject *key = PyUnicode_FromString(name),
             *module = key == NULL ? NULL : PyImport_GetModule(key);
    if (module != NULL) { /* quick; if another thread is importing the module, this waits */
        Py_SETREF(module, PyImport_ImportModuleLevelObject(key, NULL, NULL, Py_None, 0));
        Py_XSETREF(module, module == NULL ? NULL : PyImport_GetModule(key));
    } else if (!PyErr_Occurred()) {
        PyObject *imports = PyImport_ImportModule("cwrapjit._imports"); /* always imported */
        module = imports == NULL ? NULL : PyObject_CallMethod(imports, "load", "O", key);
        Py_XDECREF(imports);
    }
    Py_XDECREF(key);
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

static void
end_capsule(PyObject *capsule)
{
    Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

PyObject *
cwj_capsule_with(void *pointer, const char *name, PyObject *owner)
{
    PyObject *capsule = PyCapsule_New(pointer, name, end_capsule);
    if (capsule != NULL) {
        PyCapsule_SetContext(capsule, Py_NewRef(owner)); /* cannot fail for a valid capsule */
    }
    return capsule;
}

int
cwj_add_type(PyObject *extension, PyType_Spec *spec, PyTypeObject **type)
{
    PyTypeObject *made = (PyTypeObject *)PyType_FromModuleAndSpec(extension, spec, NULL);
    int status = made == NULL ? -1 : PyModule_AddType(extension, made);
    if (type != NULL) {
        *type = made;
    } else { /* the extension module owns it */
        Py_XDECREF(made);
    }
    return status;
}
