/* call.c: makes one call, from Python arguments to a result.
 *
 * It includes the steps and their helpers, each file after those that it uses; run_call() has the order of the steps.
 * Together they are one self-contained text, which m.write() embeds in emitted modules. All memory of a call comes from
 * an arena on the C stack, so that a usual call allocates only its outputs. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "os/threads.h" /* first: an emitted module has the text of each file once, and not what is in the #ifndef */
#ifndef CWJ_STANDALONE /* an emitted module sets NumPy up itself */
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL cwrapjit_ARRAY_API
#define NO_IMPORT_ARRAY
#include "base/leave.h"
#include "base/watch.h"
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include <float.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/compat.h"
#include "base/numbers.h"
#include "base/tuples.h"
#include "function/call/call.h"
#include "os/clock.h"

#include "function/call/frame.c"
#include "function/call/report.c"
#include "function/call/leave.c"
#include "function/call/gil.c"
#include "function/call/snippet_api.c"
#include "function/call/runtime.c"
#include "base/bind.h"
#include "function/call/bind.c"
#include "function/call/extras.c"
#include "base/masked.h"
#include "function/call/convert.c"
#include "function/call/number.c"
#include "function/call/units.c"
#include "function/call/copy.c"
#include "function/call/cast.c"
#include "base/extent.h"
#include "function/call/match.c"
#include "function/call/output_dims.c"
#include "function/call/plain.c"
#include "function/call/new_layout.c"
#include "function/call/outputs.c"
#include "function/call/windows.c"
#include "function/call/stage.c"
#include "function/call/shape.c"
#include "function/call/overlap.c"
#include "function/call/snippets.c"
#include "base/axes.h"
#include "function/call/axes.c"
#include "function/call/tiles.c"
#include "base/heat.h"
#include "function/call/meter.c"
#include "function/call/numpy_loop.c"
#include "function/call/progress.c"
#include "function/call/pool.c"
#include "function/call/chunks.c"
#include "function/call/share.c"
#include "function/call/run.c"
#include "function/call/gather.c"
#include "function/call/borders.c"
#include "function/call/quick.c"
#include "function/call/entry.c"

/* Takes the inputs and given outputs of any call and finds its type set, step by step. */
static CWJ_APART int
take_any(cwj_frame *frame)
{
    clear_states(frame);
    if (convert_inputs(frame) < 0 || take_outputs(frame) < 0 || match_types(frame) < 0) {
        return -1;
    }
    return convert_to_set(frame) < 0 ? -1 : check_records(frame);
}

/* Does everything between the arguments and the result. Returns 0, or -1 with an exception set. */
static inline int
run_call(cwj_frame *frame, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (bind_arguments(frame, args, nargsf, kwnames) < 0 || parse_extras(frame) < 0) {
        return -1;
    }
    cwj_taken taken = take_plain(frame);
    if (taken == CWJ_TAKEN_ERROR || (taken == CWJ_TAKEN_NOT && take_any(frame) < 0) ||
        (taken != CWJ_TAKEN_ALL && resolve_shapes(frame) < 0) || allocate_outputs(frame) < 0 ||
        check_overlap(frame) < 0 || (taken != CWJ_TAKEN_ALL && describe_operands(frame) < 0) ||
        validate(frame) < 0) {
        return -1;
    }
    return frame->views != NULL ? run_windows(frame) : run_slices(frame);
}

/* Makes any call. Returns a new reference, or NULL with an exception set. */
static CWJ_APART PyObject *
call_by_steps(cwj_runtime *runtime, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    cwj_frame frame;
    PyObject *result = NULL;
    runtime->calls++;
    if (frame_open(&frame, runtime) < 0) {
        goto done;
    }
    if (run_call(&frame, args, nargsf, kwnames) == 0) {
        result = take_result(&frame);
    }
    if (runtime->decl->cleanup != NULL && cleanup_cookie(&frame) < 0) {
        Py_CLEAR(result);
    }
done:
    frame_close(&frame);
    if (CWJ_UNLIKELY(frame.is_foreign) && !PyErr_Occurred()) {
        result = runtime->foreign(runtime, args, nargsf, kwnames);
    }
    return result;
}

PyObject *
cwj_invoke(cwj_runtime *runtime, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *result;
    if (call_quickly(runtime, args, nargsf, kwnames, &result) == CWJ_DONE) {
        return result;
    }
    return call_by_steps(runtime, args, nargsf, kwnames);
}
