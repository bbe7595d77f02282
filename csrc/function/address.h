/* address.h: a function as other compiled code sees it. */
#pragma once

#include "function/spec.h"

#include "function/call/call.h"

struct cwj_function_object;

/* The signature of what f.address is the address of: that of the loops of NumPy's ufuncs, but for
 * the answer. */
#define CWJ_LOOP_SIGNATURE "int (char **, npy_intp *, npy_intp *, void *)"

/* A C function that runs one function's loop, or one of the header that stands for it. */
typedef struct cwj_address {
    PyObject *signature; /* owned str: that of the header's function, as SciPy writes it; or NULL */
    cwj_loop_entry *entry; /* owned (PyMem_Free) */
    tj_unit *unit; /* owned: the C function */
    void *address; /* in unit, or the header's; NULL: nobody has asked yet, or there is none */
} cwj_address;

/* Takes the argument c_function of a definition, "double f(double, void *)" (NULL: not given). Returns
 * 0, or -1 with TypeError or ValueError. */
int cwj_address_take(struct cwj_function_object *function, PyObject *given);

/* f.address and f.capsule. */
PyObject *cwj_address_number(struct cwj_function_object *function);
PyObject *cwj_address_capsule(struct cwj_function_object *function);
void cwj_address_clear(cwj_address *address);
