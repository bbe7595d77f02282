/* tiers.h: the life of a function's code behind the first tier.
 *
 * A function starts with what libtcc made. `optimize` says when the optimizing
 * compiler gets to work on it:
 *
 *   "auto"   when its loops have run for CWJ_HOT_TIME; while calls keep coming,
 *            again for core dims that stayed the same for CWJ_STEADY_TIME
 *   "eager"  at the definition, which waits
 *   "off"    never
 *
 * f.wait() asks for it at once. Loops are replaced between chunks of slices; code
 * that was replaced stays until the function dies, as calls may be inside.
 */
#ifndef CWJ_TIERS_H
#define CWJ_TIERS_H

#include "options.h"
#include "spec.h"

#include "call.h"

enum {
    CWJ_MAX_JOBS = 4, /* per function: the first, and three for other core dims */
    CWJ_LONG_DIM = 32 /* elements: longer ones are no constants in contiguous slices */
};

/* Nanoseconds that loops ran. */
#define CWJ_HOT_TIME 2000000ull
#define CWJ_STEADY_TIME 10000000ull
#define CWJ_LOOK_TIME 20000000ull /* between two looks at what calls have in common */

struct cwj_function_object;

typedef struct cwj_tiers {
    int optimize; /* a cwj_optimize */
    int fastmath;
    int njobs;
    tj_job *jobs[CWJ_MAX_JOBS]; /* owned, in the order of their start */
    cwj_profile *taken;         /* owned: what the newest job took for constant, per type set */
} cwj_tiers;

/* Sets up what `options` ask for. Returns 0, or -1 with MemoryError. */
int cwj_tiers_init(struct cwj_function_object *function, const cwj_options *options);
/* Before the runtime is cleared: no code is replaced any more, and code is freed. */
void cwj_tiers_clear(struct cwj_function_object *function);

/* "cc" when every type set runs the optimizing compiler's code, else "tcc". */
const char *cwj_tiers_name(const struct cwj_function_object *function);

/* Asks for the optimizing tier and waits, `seconds` at most (< 0: no limit).
 * Returns 1 when it is in place, 0 when not, -1 with an exception set (Ctrl-C). */
int cwj_tiers_wait(struct cwj_function_object *function, double seconds);

#endif
