/* sizes.c: sets symbols whose value a C function returns, or a member of a struct holds. */
#include "library/call/steps.h"

/* Calls any function of up to six integers and pointers: the ABIs of x86-64 and arm64 pass six of these in registers
 * that the function may change, so extra arguments do no harm. */
typedef npy_uint64 asked(npy_uint64, npy_uint64, npy_uint64, npy_uint64, npy_uint64, npy_uint64);

static int
operand(const cwj_library_frame *frame, const cwj_size *size, int i, npy_uint64 *value)
{
    PyObject *name = PyTuple_GET_ITEM(frame->function->symbols, size->symbol);
    npy_int64 number = 0;
    int k = size->parameters[i];
    if (k < 0 && cwj_library_evaluate(frame, &size->values[i], name, &number) < 0) {
        return -1;
    }
    char checked[CWJ_NUMBER_BYTES];
    if (k < 0 && !cwj_store_integer(number, size->types[i]->typenum, checked)) {
        return cwj_library_refuse(frame, PyExc_ValueError,
                                  "computing %U: %lld is out of range of %s", name,
                                  (long long)number, size->types[i]->name);
    }
    *value = k < 0 ? (npy_uint64)number : (npy_uint64)(uintptr_t)frame->slots[k + 1].p;
    return k < 0 || *value != 0; /* 0: the pointer is NULL, so the size cannot be evaluated */
}

/* If a pointer that it needs is NULL, the symbol becomes 0. */
static int
set_size(cwj_library_frame *frame, const cwj_size *size)
{
    npy_uint64 given[CWJ_MOST_OPERANDS] = {0}, found;
    cwj_slot slot = {.i = 0};
    for (int i = 0; i < size->count; i++) {
        int there = operand(frame, size, i, &given[i]);
        if (there <= 0) {
            frame->symbols[size->symbol] = 0;
            return there;
        }
    }
    if (size->function == NULL) {
        cwj_scalar_load(size->type, (const char *)(uintptr_t)given[0] + size->offset, &slot);
    } else {
        found =
            ((asked *)size->function)(given[0], given[1], given[2], given[3], given[4], given[5]);
        cwj_scalar_load(size->type, &found,
                        &slot); /* only the type's bytes of the register are defined */
    }
    if (!cwj_scalar_count(size->type, &slot, &frame->symbols[size->symbol])) {
        return cwj_library_refuse(frame, PyExc_ValueError, "%U is too large for a length",
                                  PyTuple_GET_ITEM(frame->function->symbols, size->symbol));
    }
    return 0;
}

int
cwj_library_set_sizes(cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
    for (int i = 0; i < function->nsizes; i++) {
        if (set_size(frame, &function->sizes[i]) < 0) {
            return -1;
        }
    }
    return 0;
}
