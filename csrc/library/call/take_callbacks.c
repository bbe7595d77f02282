/* take_callbacks.c: functions, and streams, as arguments. A converter of the library's makes the address of what
 * C wants of what is given; what keeps it lives as long as the call.
 */
#include "library/call/steps.h"

int
cwj_library_take_callback(cwj_library_frame *frame, int k, PyObject *object)
{
    PyObject *made = PyObject_CallOneArg(frame->function->parameters[k].cls, object);
    if (made == NULL) {
        return -1;
    }
    Py_XSETREF(frame->made[k], made);
    if (!PyTuple_Check(made) || PyTuple_GET_SIZE(made) != 2) {
        return cwj_library_refuse(frame, PyExc_TypeError, "argument %U: its converter returned %R",
                                  cwj_library_name(frame, k), made);
    }
    frame->slots[k + 1].p = PyLong_AsVoidPtr(PyTuple_GET_ITEM(made, 0));
    return frame->slots[k + 1].p == NULL && PyErr_Occurred() ? -1 : 0;
}

/* The first exception is the one that counts. */
int
cwj_library_end_streams(cwj_library_frame *frame)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (int k = 0; k < frame->function->nparameters; k++) {
        PyObject *made = frame->made[k];
        if (frame->function->parameters[k].role != CWJ_STREAM || made == NULL) {
            continue;
        }
        PyObject *done = PyObject_CallMethod(PyTuple_GET_ITEM(made, 1), "finish", NULL);
        if (done == NULL && type == NULL) {
            PyErr_Fetch(&type, &value, &traceback);
        }
        PyErr_Clear();
        Py_XDECREF(done);
    }
    bool failed = type != NULL;
    PyErr_Restore(type, value, traceback);
    return failed ? -1 : 0;
}
