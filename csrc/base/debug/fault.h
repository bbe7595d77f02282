/* fault.h: faults of compiled code as exceptions, for debug=True.
 *
 * Code that is *guarded* may do what ends a process otherwise: divide by zero, follow a
 * wild pointer, exhaust the stack, abort. The handler of the signal then jumps back to
 * where it began. Functions, graphs and library functions all use this.
 *
 * Handlers are process-wide. They act only on threads that are inside of guarded code, and
 * not while such code has called into Python; all else goes on to the handlers that were
 * there before, or came later.
 */
#pragma once

#include "base/debug/fence.h"
#include "base/state.h"

enum {
    CWJ_MOST_RETURNS = 66
};

typedef struct cwj_fault {
    int signal; /* 0: cwj_guard_leave() was called */
    bool aborted; /* by abort() */
    bool divided; /* an integer by zero */
    bool deep;  /* the stack is exhausted */
    bool over;  /* what was accessed is behind the stack's other end */
    bool raised; /* nothing was accessed: by raise() */
    bool nowhere; /* what was accessed is not told: no such address could exist */
    const void *address; /* what was accessed; the instruction where that does not apply */
    const void *at;      /* the instruction */
    const void
        *returns[CWJ_MOST_RETURNS]; /* where calls that led there return to, as far as known */
    int nreturns;
    const cwj_fence *fence; /* around which it was; NULL: of no argument or output */
    const char *kind, *name; /* "argument" or "output", its name; NULL: not known */
} cwj_fault;

/* Puts the handlers in place, also when somebody has replaced them. The GIL is held. */
void cwj_guard_install(void);

/* Says, once and at import, how deep a thread is inside of functions that compiled code calls to
 * get into Python; the address that it returns stays the thread's. */
void cwj_guard_set_depth(const int *(*depth)(void));

/* Runs run(argument); hosted: it calls functions of Python's by itself. Returns true when it came to
 * its end, false when it was left by a fault. With or without the GIL, which is as before afterwards. */
bool cwj_guard(bool hosted, void (*run)(void *), void *argument, cwj_fault *fault);

/* For functions that guarded code calls: leaves it as a fault does, without a signal. Ends
 * the process in a thread that is not inside of guarded code. */
_Noreturn void cwj_guard_leave(void);

/* ", in FILE, line N: TEXT", or nothing where the line is not known; *place becomes
 * (file, line, text) or (None, None, None). as_user: called with (file, line), says what the user
 * knows a line of generated text as: (file, line, text), or None for that very line; or NULL. A new
 * reference, or NULL. */
PyObject *cwj_place_text(const cwj_fault *fault, PyObject *as_user, PyObject **place);

/* Raises cwrapjit.Fault. who begins the message: "m.f()". */
void cwj_fault_raise(PyObject *who, const cwj_fault *fault, PyObject *as_user);

/* Raises a Fault without signal: damage that was found afterwards. Steals text. Returns -1. */
int cwj_damage_raise(const cwj_module_state *state, PyObject *who, PyObject *text);
/* The same for bytes that were written around an array of so many bytes, at offset from its
 * first. Steals what, which says whose. */
int cwj_damage_around(const cwj_module_state *state, PyObject *who, PyObject *what,
                      ptrdiff_t offset, size_t bytes);

/* Fills *lines, which say where each instruction of a unit comes from; NULL there when nobody
 * knows. Returns 0, or -1 with MemoryError. */
int cwj_guarded_lines(tj_lines **lines, tj_environment *environment, const char *text,
                      const tj_anchor *anchors);
