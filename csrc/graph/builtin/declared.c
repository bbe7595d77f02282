/* declared.c: reading C texts for built-in types and ops: which variables one declares (ParamsType),
 * where an expression can stand (elementwise ops). */
#include "base/errors.h"
#include "graph/builtin/builtin.h"
#include "base/tuples.h"

static PyObject *
list_names(const tj_declarations *declarations)
{
    PyObject *names = PyTuple_New((Py_ssize_t)declarations->nnames);
    for (size_t i = 0; i < declarations->nnames && names != NULL; i++) {
        cwj_tuple_fill(&names, (Py_ssize_t)i, PyUnicode_FromString(declarations->names[i]));
    }
    return names;
}

PyObject *
cwj_declared_names(PyObject *Py_UNUSED(extension), PyObject *args)
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
        cwj_raise(who, &error, &messages);
    } else if (declarations.typedefs != NULL && declarations.typedefs[0] != '\0' &&
               strspn(declarations.typedefs, " \t\n") != strlen(declarations.typedefs)) {
        cwj_refuse(who, PyExc_ValueError, "a typedef cannot be a member of a struct");
    } else {
        names = list_names(&declarations);
    }
    tj_declarations_clear(&declarations);
    tj_messages_clear(&messages);
    tj_error_clear(&error);
    return names;
}

PyObject *
cwj_expression_standing(PyObject *Py_UNUSED(extension), PyObject *args)
{
    const char *expression, *before;
    Py_ssize_t length, length_before;
    if (!PyArg_ParseTuple(args, "s#s#:expression_standing", &expression, &length, &before,
                          &length_before)) {
        return NULL;
    }
    tj_piece piece = {.text = expression, .length = (size_t)length, .file = ""};
    tj_piece front = {.text = before, .length = (size_t)length_before, .file = ""};
    switch (tj_expression_standing(&piece, &front)) {
    case TJ_STANDS_IN_LOOP:
        return PyUnicode_FromString("");
    case TJ_STANDS_IN_FUNCTION:
        return PyUnicode_FromString("inline");
    case TJ_STANDS_APART:
        break;
    }
    return PyUnicode_FromString("__attribute__((noinline))");
}
