/* declared.c: which variables a type declares, for types that are made of others (ParamsType). */
#include "../errors.h"
#include "ready.h"

static PyObject *
list_names(const tj_declarations *declarations)
{
    PyObject *names = PyTuple_New((Py_ssize_t)declarations->nnames);
    for (size_t i = 0; i < declarations->nnames && names != NULL; i++) {
        PyObject *name = PyUnicode_FromString(declarations->names[i]);
        if (name == NULL) {
            Py_CLEAR(names);
        } else {
            PyTuple_SET_ITEM(names, (Py_ssize_t)i, name);
        }
    }
    return names;
}

PyObject *
cwj_declared_names(PyObject *extension, PyObject *args)
{
    const char *who, *text, *name;
    Py_ssize_t length;
    PyObject *names = NULL;
    tj_declarations declarations = {0};
    tj_messages messages = {0};
    tj_error error = {0};
    if (!PyArg_ParseTuple(args, "ss#s:declared_names", &who, &text, &length, &name)) {
        return NULL;
    }
    tj_piece piece = {.text = text, .length = (size_t)length, .file = who};
    if (tj_declarations_read(&piece, name, &declarations, &messages, &error) != TJ_OK) {
        cwj_raise(PyModule_GetState(extension), who, &error, &messages);
    } else if (declarations.typedefs != NULL && declarations.typedefs[0] != '\0' &&
               strspn(declarations.typedefs, " \t\n") != strlen(declarations.typedefs)) {
        PyErr_Format(PyExc_ValueError, "%s: a typedef cannot be a member of a struct", who);
    } else {
        names = list_names(&declarations);
    }
    tj_declarations_clear(&declarations);
    tj_messages_clear(&messages);
    return names;
}
