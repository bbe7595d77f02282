/* address.h: f.address and f.capsule, the address of a function for other compiled code. */
#pragma once

#include "function/spec.h"

#include "function/call/call.h"

struct cwj_function_object;

/* The signature of the function at f.address: that of the loops of NumPy's ufuncs, with a result. */
#define CWJ_LOOP_SIGNATURE "int (char **, npy_intp *, npy_intp *, void *)"

/* A C function that runs one function's loop, or a function of the header that replaces it. */
typedef struct cwj_address {
    PyObject *signature; /* owned str: signature of the header's function, in SciPy's format; or
                            NULL */
    cwj_loop_entry *entry; /* owned (PyMem_Free) */
    tj_unit *unit; /* owned: the C function */
    void *address; /* in unit, or the header's; NULL: not needed yet, or none */
} cwj_address;

/* Takes spec->c_function. Returns 0, or -1 with an exception set. */
int cwj_address_take(struct cwj_function_object *function);

/* Return f.address and f.capsule: new references, or NULL with an exception set. */
PyObject *cwj_address_number(struct cwj_function_object *function);
PyObject *cwj_address_capsule(struct cwj_function_object *function);
void cwj_address_clear(cwj_address *address);
