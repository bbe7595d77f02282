/* debug.h: functions of debug=True.
 *
 * The call path knows nothing of debug=True. What it calls of such a function, loops and
 * snippets, are functions of debug.c, which run the compiled ones under guard (fault.h) with
 * copies of what they read (fence.h), fill new outputs with patterns before, and look at them and
 * around them afterwards.
 */
#pragma once

#include "base/debug/fault.h"

#include "function/call/call.h"

struct cwj_function_object;

typedef struct cwj_debugged {
    cwj_function_decl decl; /* the unit's, but for what is guarded; typesets are owned */
    const cwj_function_decl *own; /* the unit's */
    tj_lines *lines; /* owned, or NULL */
    PyObject *who;   /* owned str: "m.f()" */
    unsigned long long faults;
    bool fences; /* C gets copies of slices that are arrays */
    bool beyond; /* as of cwj_zones_enter() */
    bool hosted; /* its code calls functions of Python's by itself */
    bool left;   /* which end there where they begin */
} cwj_debugged;

/* For a function whose code is there, before its runtime is made from ->decl; *checked is
 * the function's. left: of debug="left". Returns 0, or -1 with an exception set. */
int cwj_debugged_init(struct cwj_function_object *function, bool left);
/* Makes the runtime use what is guarded, and the function call through here. */
void cwj_debugged_start(struct cwj_function_object *function);
void cwj_debugged_free(cwj_debugged *checked); /* accepts NULL */

/* What item__X() calls for each index, and other texts for theirs: see tinyjit.h. */
npy_intp cwj_debugged_index(const cwj_call *cwj, int operand, int axis, int is_unsigned,
                            const char *index);
npy_intp cwj_debugged_number(const char *format, npy_intp limit, int is_unsigned,
                             const char *index);
