/* tiers.h: manages the cc tier of a function.
 *
 * A function starts with libtcc's code. `optimize` decides when the optimizing compiler starts:
 *
 *   "auto"   after its loops have run for CWJ_HOT_TIME; later again, for dims or strides that have stayed the
 *            same for CWJ_STEADY_TIME
 *   "eager"  at the definition, which waits for it
 *   "off"    never
 *
 * With debug=True, the compiler only checks the text, once, starting with the first call.
 *
 * The call that makes a function hot gets its own job first, for the only variant that it needs. The next call starts
 * the job for all loops; a program that makes a single call is spared it. f.wait() starts this job at once.
 * f.tier_error is about this job.
 *
 * Loops are replaced between chunks of slices. Replaced code stays until the function dies, because calls may still
 * run it.
 */
#pragma once

#include "function/options.h"
#include "function/spec.h"

#include "base/heat.h"
#include "function/call/call.h"

enum {
    CWJ_MAX_JOBS = 5, /* per function: one for all loops, others for other dims or strides */
    CWJ_LONG_DIM = 32 /* elements: contiguous slices with longer dims get no constants */
};

#define CWJ_STEADY_TIME 10000000ull /* ns that loops must run with the same dims or strides */

struct cwj_function_object;

typedef struct cwj_tiers {
    int optimize; /* a cwj_optimize */
    int checks; /* debug=True: the job only checks the text */
    tj_job *urgent; /* owned: the running call's job; NULL: none */
    int njobs;
    tj_job *jobs[CWJ_MAX_JOBS]; /* owned, in the order of their start */
    cwj_profile *taken;         /* owned: what the newest job takes for constant, per type set */
} cwj_tiers;

/* The vectorcall of a function. While a job is running, another function takes its place. */
PyObject *cwj_function_call(PyObject *self, PyObject *const *args, size_t nargsf,
                            PyObject *kwnames);

/* Prepares the tiers for `options`. Returns 0, or -1 with MemoryError set. */
int cwj_tiers_init(struct cwj_function_object *function, const cwj_options *options);
/* Frees the jobs and their code; loops are no longer replaced. Call it before the runtime is cleared. */
void cwj_tiers_clear(struct cwj_function_object *function);

/* Appends the C text of the loops. running: NULL, or a type set: then only the variant that its last calls used.
 * Returns false if there is no memory. */
bool cwj_tiers_emit(const struct cwj_function_object *function, const int *running, tj_text *text);

/* Returns "cc" if every type set runs the system compiler's code, otherwise "tcc". */
const char *cwj_tiers_name(const struct cwj_function_object *function);

/* Returns the reason why the function stays in its tcc tier, as an exception that is not raised. None if it does not
 * stay, if the reason is not known yet, or with optimize="off". NULL with another exception set. */
PyObject *cwj_tiers_error(struct cwj_function_object *function);

/* Returns the state of the cc tier in a word: "off", "new" (not started), "running", "done", "failed". */
const char *cwj_tiers_progress(const struct cwj_function_object *function);

/* Starts the cc tier and waits for it, `seconds` at most (< 0: no limit). Returns 1 if it is in place, 0 if not, -1
 * with an exception set (Ctrl-C). */
int cwj_tiers_wait(struct cwj_function_object *function, double seconds);
