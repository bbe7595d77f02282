/* take_numbers.c: numbers, from arguments into slots. */
#include "library/call/steps.h"

static int
take_symbol(cwj_library_frame *frame, int k, const cwj_slot *slot)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    npy_int64 value;
    if (!cwj_scalar_count(parameter->type, slot, &value)) {
        return cwj_library_refuse(frame, PyExc_ValueError, "argument %U is too large for a dim",
                                  cwj_library_name(frame, k));
    }
    if (frame->sources[parameter->symbol] < 0) {
        frame->symbols[parameter->symbol] = value;
        frame->sources[parameter->symbol] = k;
    }
    return 0;
}

int
cwj_library_take_value(cwj_library_frame *frame, int k, PyObject *object)
{
    const cwj_parameter *parameter = &frame->function->parameters[k];
    cwj_slot *slot = &frame->slots[k + 1], value;
    if (object == NULL) { /* absent, or an output */
        slot->p = parameter->intent == CWJ_INTENT_OUT ? (void *)&frame->targets[k] : NULL;
        return 0;
    }
    switch (cwj_scalar_take(parameter->type, frame->strict, object, &value)) {
    case CWJ_FIT_ERROR:
        return -1;
    case CWJ_NO_SUCH_KIND:
        return cwj_library_refuse_kind(frame, k, object);
    case CWJ_NO_SUCH_VALUE:
        return cwj_library_refuse_value(frame, k, object);
    case CWJ_FITS:
    case CWJ_FITS_BY_NUMPY:
        break;
    }
    if (parameter->symbol >= 0 && take_symbol(frame, k, &value) < 0) {
        return -1;
    }
    if (parameter->by_pointer) {
        cwj_scalar_store(parameter->type, &value, &frame->targets[k]);
        slot->p = &frame->targets[k];
    } else {
        *slot = value;
    }
    return 0;
}
