/* raised.c: see raised.h. Python 3.12 keeps what is raised as one object, the
 * versions before it as three that need not have met. */
#include "base/raised.h"

#if PY_VERSION_HEX >= 0x030C0000

PyObject *
cwj_raised_take(void)
{
    return PyErr_GetRaisedException();
}

void
cwj_raised_set(PyObject *exception)
{
    PyErr_SetRaisedException(exception);
}

#else

PyObject *
cwj_raised_take(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (type == NULL) {
        return NULL;
    }
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL && PyException_SetTraceback(value, traceback) < 0) {
        PyErr_Clear(); /* the exception itself is what counts */
    }
    Py_DECREF(type);
    Py_XDECREF(traceback);
    return value;
}

void
cwj_raised_set(PyObject *exception)
{
    if (exception == NULL) {
        PyErr_Clear();
    } else {
        PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(exception)), exception,
                      PyException_GetTraceback(exception));
    }
}

#endif

#if PY_VERSION_HEX < 0x030B0000

/* The arguments of an exception with a text behind the first of them; NULL: that is none, or
 * the text stands there already. */
static PyObject *
extended_arguments(PyObject *exception, PyObject *text)
{
    PyObject *changed = NULL, *first = NULL, *rest = NULL;
    PyObject *old = PyObject_GetAttrString(exception, "args");
    if (old != NULL && PyTuple_Check(old) && PyTuple_GET_SIZE(old) > 0 &&
        PyUnicode_Check(PyTuple_GET_ITEM(old, 0)) &&
        PyUnicode_Tailmatch(PyTuple_GET_ITEM(old, 0), text, 0, PY_SSIZE_T_MAX, 1) == 0) {
        first = PyUnicode_FromFormat("%U\n%U", PyTuple_GET_ITEM(old, 0), text);
        Py_XSETREF(first, first == NULL ? NULL : PyTuple_Pack(1, first));
        rest = PyTuple_GetSlice(old, 1, PyTuple_GET_SIZE(old));
        changed = first == NULL || rest == NULL ? NULL : PySequence_Concat(first, rest);
    }
    Py_XDECREF(old);
    Py_XDECREF(first);
    Py_XDECREF(rest);
    return changed;
}

#else

/* One exception object may be raised again and again. */
static bool
has_note(PyObject *exception, PyObject *text)
{
    PyObject *notes = PyObject_GetAttrString(exception, "__notes__");
    int found = notes == NULL || !PyList_Check(notes) ? 0 : PySequence_Contains(notes, text);
    Py_XDECREF(notes);
    PyErr_Clear(); /* as below */
    return found > 0;
}

#endif

void
cwj_raised_note(PyObject *exception, PyObject *text)
{
#if PY_VERSION_HEX >= 0x030B0000
    PyObject *done =
        has_note(exception, text) ? NULL : PyObject_CallMethod(exception, "add_note", "O", text);
    Py_XDECREF(done);
    PyErr_Clear(); /* the note's own trouble: the exception that it is about is on its way */
#else
    PyObject *arguments = extended_arguments(exception, text);
    if (arguments == NULL || PyObject_SetAttrString(exception, "args", arguments) < 0) {
        PyErr_Clear(); /* as above */
    }
    Py_XDECREF(arguments);
#endif
}
