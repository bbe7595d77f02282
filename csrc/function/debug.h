/* debug.h: checks functions with debug=True.
 *
 * Calls use the ordinary call path, on one thread and without the quick path, but with functions of debug.c in place
 * of loops and snippets. These fill new outputs with patterns, run the compiled code under cwj_guard() (fault.h), on
 * copies of the slices where possible (fence.h), and then check the outputs and the memory around them.
 */
#pragma once

#include "base/debug/fault.h"

#include "function/call/call.h"

struct cwj_function_object;

typedef struct cwj_debugged {
    cwj_function_decl decl; /* the unit's with guarded functions; typesets are owned */
    const cwj_function_decl *own; /* the unit's */
    tj_lines *lines; /* owned, or NULL */
    PyObject *who;   /* owned str: "m.f()" */
    unsigned long long faults;
    bool fences; /* C gets copies of slices that are arrays */
    bool beyond; /* see cwj_zones_enter() */
    bool hosted; /* its code calls Python functions by itself */
    bool left;   /* these copies start at the protected memory */
} cwj_debugged;

/* Call after the code is compiled and before the runtime is created from ->decl; *checked belongs
 * to the function. left: debug="left". Returns 0, or -1 with an exception set. */
int cwj_debugged_init(struct cwj_function_object *function, bool left);
/* Routes the function's calls through this file, on one thread and without the quick path. */
void cwj_debugged_start(struct cwj_function_object *function);
void cwj_debugged_free(cwj_debugged *checked); /* accepts NULL */

/* item__X() calls cwj_debugged_index() for each index; other macros call cwj_debugged_number(): see tinyjit.h. */
npy_intp cwj_debugged_index(const cwj_call *cwj, int operand, int axis, int is_unsigned,
                            const char *index);
npy_intp cwj_debugged_number(const char *format, npy_intp limit, int is_unsigned,
                             const char *index);
