/* take_numbers.c: converts numbers among the arguments to slots. */
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
    cwj_fit fit = cwj_scalar_take(parameter->type, frame->strict, object, &value);
    if (fit != CWJ_FITS) {
        return cwj_library_refuse_number(frame, k, fit, object);
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
