/* take_addresses.c: takes opaque pointers, whose extent no declaration gives. Users must pass a Pointer, and so are
 * responsible for the extent. For a void * they may also pass a struct or a handle, as these are objects of C. */
#include "library/call/steps.h"
#include "library/objects/instance.h"
#include "library/objects/pointer.h"

static int
refuse_object(const cwj_library_frame *frame, int k, PyObject *object)
{
    bool is_memory = PyArray_Check(object) || PyObject_CheckBuffer(object);
    return cwj_library_refuse_type(
        frame, k,
        is_memory ? "%s: nothing says how long it must be: give dims (dims={\"%U\": ...}), or "
                    "cwrapjit.Pointer(it), whose length nobody checks"
                  : "%s",
        Py_TYPE(object)->tp_name, frame->function->parameters[k].name);
}

/* True if keeps= says that parameter k keeps others alive, which only instances can do. */
static bool
is_keeper(const cwj_library_function *function, int k)
{
    for (int i = 0; i < function->nkeeps; i++) {
        if (function->keeps[i].keeper == k) {
            return true;
        }
    }
    return false;
}

int
cwj_library_take_address(cwj_library_frame *frame, int k, PyObject *object)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    const cwj_pointer *pointer = (cwj_pointer *)object;
    if (object == Py_None) {
        return 0; /* the slot is NULL */
    }
    if (cwj_is_instance(object) && PyUnicode_GET_LENGTH(parameter->item) == 0) {
        cwj_instance *self = (cwj_instance *)object;
        frame->slots[k + 1].p = self->pointer;
        return cwj_instance_check(self) < 0 ? -1
               : cwj_library_is_destructor(frame->function, object)
                   ? cwj_library_refuse_end(frame, k, self)
                   : 0;
    }
    if (is_keeper(frame->function, k)) {
        return cwj_library_refuse_type(
            frame, k, "%s, which cannot keep what keeps= says: give a struct or a handle",
            Py_TYPE(object)->tp_name);
    }
    if (!cwj_is_pointer(object)) {
        return refuse_object(frame, k, object);
    }
    if (!cwj_items_agree(pointer->item, parameter->item)) {
        return cwj_library_refuse_type(frame, k, "Pointer to %U", pointer->item);
    }
    if (pointer->readonly && parameter->intent != CWJ_INTENT_IN) {
        return cwj_library_refuse(frame, PyExc_ValueError,
                                  "argument %U is a Pointer to read-only memory, which C may write",
                                  cwj_library_name(frame, k));
    }
    frame->slots[k + 1].p = pointer->address;
    return 0;
}
