/* ufunc_loop.h: the loop that NumPy runs for every type set of every function's ufunc. */
#pragma once

#include "base/api.h"

#include "function/call/call.h"
#include "base/heat.h"

#define CWJ_UFUNC_REPORT_TIME (CWJ_HOT_TIME / 2) /* ns until a report; doubles with each */

enum {
    CWJ_UFUNC_OPERANDS = 64, /* as many as NumPy 2 allows */
    CWJ_UFUNC_DIMS = 128     /* core dims of all operands together */
};

/* The data of a ufunc's loop, for one type set. The ufunc owns it and holds the function. */
typedef struct cwj_ufunc_loop {
    cwj_runtime *runtime; /* of the function */
    int typeset;
    bool is_binary;     /* two inputs, one output, no core dims: reductions may use it */
    bool is_associative; /* reductions may group and order elements freely */
    const cwj_operand *operands; /* as slices see them; NULL: slices have core dims */
    const int *sizes;   /* for each core dim of all operands, its index among the distinct ones */
    int until_sample;   /* calls until one is timed; a count that threads lose does no harm */
    unsigned long long spent;     /* ns that are not reported yet */
    unsigned long long report_at; /* ns of `spent` at which the runtime is told */
} cwj_ufunc_loop;

/* A PyUFuncGenericFunction. NumPy may keep it and its data for the life of the ufunc and never asks again, so it
 * reads the runtime's loops in each call. */
void cwj_ufunc_run(char **data, const npy_intp *dims, const npy_intp *steps, void *loop);
