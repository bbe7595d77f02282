/* take_callbacks.c: takes functions and streams as arguments. A converter of the library (parameter->cls) returns
 * (address for C, the object that keeps it alive, ...); frame->made holds this tuple during the call. */
#include "library/call/steps.h"
#include "library/objects/pointer.h"

#include "base/heat.h"
#include "base/raised.h"

/* For C text the tuple also has a callable for when it is hot, and a bytearray with the nanoseconds that it has run:
 * returns its size, which is 0 once another address has replaced this one; -1 for other objects. */
static Py_ssize_t
heat_size(PyObject *made)
{
    bool has_heat = PyTuple_Check(made) && PyTuple_GET_SIZE(made) == 4 &&
                    PyByteArray_Check(PyTuple_GET_ITEM(made, 3));
    return has_heat ? PyByteArray_GET_SIZE(PyTuple_GET_ITEM(made, 3)) : -1;
}

/* The tuple that an earlier call got for this text or function; new reference. NULL, perhaps with an exception, for
 * none. A cwrapjit.Function is looked up by address, as functions with equal texts are equal. */
static PyObject *
made_before(const cwj_library_function *function, PyObject *known, PyObject *object)
{
    const cwj_module_state *state = cwj_state_of((PyObject *)function);
    bool is_ours = Py_TYPE(object) == state->function_type;
    if (known == NULL || !(is_ours || PyUnicode_CheckExact(object) ||
                           Py_TYPE(object) == state->library_function_type)) {
        return NULL;
    }
    PyObject *key = is_ours ? PyLong_FromVoidPtr(object) : Py_NewRef(object);
    PyObject *made = key == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(known, key));
    Py_XDECREF(key);
    if (made != NULL && heat_size(made) == 0) {
        Py_CLEAR(made);
    }
    return made;
}

int
cwj_library_take_callback(cwj_library_frame *frame, int k, PyObject *object)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    PyObject *made = made_before(frame->function, parameter->known, object);
    if (made == NULL && !PyErr_Occurred()) {
        made = PyObject_CallOneArg(parameter->cls, object);
    }
    if (made == NULL) {
        return -1;
    }
    Py_XSETREF(frame->made[k], made);
    frame->warms |= heat_size(made) >= (Py_ssize_t)sizeof(uint64_t);
    if (!PyTuple_Check(made) || PyTuple_GET_SIZE(made) < 2) {
        return cwj_library_refuse(frame, PyExc_TypeError, "argument %U: its converter returned %R",
                                  cwj_library_name(frame, k), made);
    }
    frame->slots[k + 1].p = PyLong_AsVoidPtr(PyTuple_GET_ITEM(made, 0));
    return frame->slots[k + 1].p == NULL && PyErr_Occurred() ? -1 : 0;
}

int
cwj_library_warm(const cwj_library_frame *frame, uint64_t nanoseconds)
{
    int status = 0;
    for (int k = 0; k < frame->function->nparameters && status == 0; k++) {
        bool is_callback = frame->function->parameters[k].role == CWJ_CALLBACK;
        PyObject *made = is_callback ? frame->made[k] : NULL;
        if (made == NULL || heat_size(made) < (Py_ssize_t)sizeof(uint64_t)) {
            continue;
        }
        char *at = PyByteArray_AsString(PyTuple_GET_ITEM(made, 3));
        uint64_t heat;
        memcpy(&heat, at, sizeof(heat));
        bool hot = (heat += nanoseconds) >= CWJ_HOT_TIME;
        heat = hot ? 0 : heat;
        memcpy(at, &heat, sizeof(heat));
        PyObject *none = hot ? PyObject_CallNoArgs(PyTuple_GET_ITEM(made, 2)) : NULL;
        status = hot && none == NULL ? -1 : 0;
        Py_XDECREF(none);
    }
    return status;
}

/* If there are several exceptions, the first one is raised. */
int
cwj_library_end_streams(cwj_library_frame *frame)
{
    PyObject *first = cwj_raised_take();
    for (int k = 0; k < frame->function->nparameters; k++) {
        PyObject *made = frame->made[k];
        bool is_stream = frame->function->parameters[k].role == CWJ_STREAM && made != NULL;
        PyObject *ends = is_stream ? PyTuple_GET_ITEM(made, 1) : Py_None;
        if (ends == Py_None || cwj_is_pointer(ends)) { /* a stream that C opened */
            continue;
        }
        PyObject *done = PyObject_CallMethod(ends, "finish", NULL);
        if (done == NULL && first == NULL) {
            first = cwj_raised_take();
        }
        PyErr_Clear(); /* only the first exception is raised */
        Py_XDECREF(done);
    }
    bool failed = first != NULL;
    cwj_raised_set(first);
    return failed ? -1 : 0;
}
