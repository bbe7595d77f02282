/* tiers.h: the life of a function's code behind the tcc tier.
 *
 * A function starts with what libtcc made. `optimize` says when the optimizing
 * compiler gets to work on it:
 *
 *   "auto"   when its loops have run for CWJ_HOT_TIME; while calls keep coming,
 *            again for dims or strides that stayed the same for CWJ_STEADY_TIME
 *   "eager"  at the definition, which waits
 *   "off"    never
 *
 * With debug=True it only looks at the text, once, from the first call on.
 *
 * The call that makes a function hot waits for one loop in one variant: this comes first, alone
 * and at once. The next call starts the job for everything, which stands for the tier in all that
 * is said of it; a program that calls once is spared it.
 *
 * f.wait() asks for it at once. Loops are replaced between chunks of slices; code
 * that was replaced stays until the function dies, as calls may be inside.
 */
#pragma once

#include "function/options.h"
#include "function/spec.h"

#include "base/heat.h"
#include "function/call/call.h"

enum {
    CWJ_MAX_JOBS =
        5, /* per function: the running call's, all of it, three for other dims or strides */
    CWJ_LONG_DIM = 32 /* elements: longer ones are no constants in contiguous slices */
};

#define CWJ_STEADY_TIME 10000000ull /* nanoseconds that loops ran with the same dims or strides */

struct cwj_function_object;

typedef struct cwj_tiers {
    int optimize; /* a cwj_optimize */
    int fastmath;
    int checks; /* debug=True: the one job brings no code */
    tj_job *urgent; /* owned: what the call that got hot takes, and no more; or NULL */
    int njobs;
    tj_job *jobs[CWJ_MAX_JOBS]; /* owned, in the order of their start */
    cwj_profile *taken;         /* owned: what the newest job took for constant, per type set */
} cwj_tiers;

/* A call; while a job of the system's compiler is out, another one is in its place. */
PyObject *cwj_function_call(PyObject *self, PyObject *const *args, size_t nargsf,
                            PyObject *kwnames);

/* Sets up what `options` ask for. Returns 0, or -1 with MemoryError. */
int cwj_tiers_init(struct cwj_function_object *function, const cwj_options *options);
/* Before the runtime is cleared: no code is replaced any more, and code is freed. */
void cwj_tiers_clear(struct cwj_function_object *function);

/* Appends the C text of the loops. running: NULL, or a type set, of which only the variant is
 * wanted that its calls took last. Returns false without memory. */
bool cwj_tiers_emit(const struct cwj_function_object *function, const int *running, tj_text *text);

/* "cc" when every type set runs the system compiler's code, else "tcc". */
const char *cwj_tiers_name(const struct cwj_function_object *function);

/* Why the function stays in its tcc tier, as an exception that is not raised; None where it
 * does not, where nobody knows yet, and where optimize="off" is why. NULL with another
 * exception set. */
PyObject *cwj_tiers_error(struct cwj_function_object *function);

/* What is known of the cc tier's work, in a word: "off", "new" where nobody has asked for it,
 * "running", "done", "failed". */
const char *cwj_tiers_progress(const struct cwj_function_object *function);

/* Asks for the cc tier and waits, `seconds` at most (< 0: no limit).
 * Returns 1 when it is in place, 0 when not, -1 with an exception set (Ctrl-C). */
int cwj_tiers_wait(struct cwj_function_object *function, double seconds);
