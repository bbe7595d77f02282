/* take_callbacks.c: functions as arguments. A converter of the library's makes the address of a C function
 * of what is given; what keeps that function lives as long as the call.
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
