/* ufunc_loop.h: the one entry that NumPy runs for every type set of every function's ufunc. */
#pragma once

#include "base/api.h"

#include "function/call/call.h"
#include "base/heat.h"

#define CWJ_UFUNC_REPORT_TIME (CWJ_HOT_TIME / 2) /* ns: of the first report, then twice as much */

enum {
    CWJ_UFUNC_OPERANDS = 64, /* as many as NumPy 2 allows */
    CWJ_UFUNC_DIMS = 128     /* core dims of all operands, each time they appear */
};

/* The data of a ufunc's loop: of one type set. The ufunc owns it, and holds the function. */
typedef struct cwj_ufunc_loop {
    cwj_runtime *runtime; /* the function's */
    int typeset;
    bool is_binary;     /* two inputs, one output, no core dims: reductions run it */
    bool is_associative; /* and may take any order */
    const cwj_operand *operands; /* as slices see them; NULL: there are core dims */
    const int *sizes;   /* which of the distinct ones each core dim of all operands is */
    int until_sample;   /* calls until one is timed; threads that lose a count do no harm */
    unsigned long long spent;     /* ns that were not reported yet */
    unsigned long long report_at; /* tell the runtime when it is so much */
} cwj_ufunc_loop;

/* A PyUFuncGenericFunction. NumPy may keep it and its data for as long as there is the ufunc, and
 * never asks again: so it reads the runtime's loops anew each time. */
void cwj_ufunc_run(char **data, const npy_intp *dims, const npy_intp *steps, void *loop);
