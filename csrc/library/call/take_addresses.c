/* take_addresses.c: pointers whose extent nothing says. Only who knows it can give one: as a Pointer. */
#include "library/call/steps.h"
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

int
cwj_library_take_address(cwj_library_frame *frame, int k, PyObject *object)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    const cwj_pointer *pointer = (cwj_pointer *)object;
    if (object == Py_None) {
        return 0; /* the slot is NULL */
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
