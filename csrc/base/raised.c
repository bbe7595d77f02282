/* raised.c: takes and sets the current exception as an object (raised.h). Python 3.12 keeps it as one
 * object, earlier versions as three that may not be normalised. */
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
        PyErr_Clear(); /* only the exception itself matters */
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

void
cwj_raised_again(PyObject *exception, PyObject *note)
{
    PyObject *done = note == NULL
                         ? NULL
                         : cwj_ask_python("cwrapjit._errors", "add_note", "(ON)", exception, note);
    Py_XDECREF(done);
    PyObject *other = cwj_raised_take();
    if (other == NULL || PyErr_GivenExceptionMatches(other, PyExc_Exception)) {
        Py_XDECREF(other); /* the error of adding the note */
        cwj_raised_set(exception);
    } else { /* do not lose Ctrl-C */
        PyException_SetContext(other, exception);
        cwj_raised_set(other);
    }
}

void
cwj_raised_of(const char *format, ...)
{
    if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) {
        return;
    }
    PyObject *error = cwj_raised_take();
    va_list arguments;
    va_start(arguments, format);
    PyObject *text = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    PyObject *done = cwj_ask_python("cwrapjit._errors", "say_whose", "(ON)", error, text);
    Py_XDECREF(done);
    cwj_raised_again(error, NULL);
}
