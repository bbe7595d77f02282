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
#ifndef CWJ_BASE_DEBUG_FAULT_H
#define CWJ_BASE_DEBUG_FAULT_H

#include "base/debug/fence.h"
#include "base/state.h"

/* What is known of code that is guarded. All borrowed. */
/* The name of capsules with the tj_lines of other code. */
#define CWJ_LINES "cwrapjit.lines"

typedef struct cwj_guarded {
    const tj_lines *lines;   /* of its unit; NULL: not known */
    const tj_lines *sources; /* of the sources that it calls; NULL: none, or not known */
    bool hosted;             /* it calls functions of Python's by itself */
} cwj_guarded;

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
    const void *caller;  /* where it is not the unit's: behind the call that led there */
    const cwj_fence *fence; /* around which it was, of an argument of this name; or NULL */
    const char *name;
} cwj_fault;

/* Puts the handlers in place, also when somebody has replaced them. The GIL is held. */
void cwj_guard_install(void);

/* Says, once and at import, how deep a thread is inside of functions that compiled code calls to
 * get into Python; the address that it returns stays the thread's. */
void cwj_guard_set_depth(const int *(*depth)(void));

/* Runs run(argument). Returns true when it came to its end, false when it was left by a
 * fault. With or without the GIL, which is as before afterwards. */
bool cwj_guard(const cwj_guarded *guarded, void (*run)(void *), void *argument, cwj_fault *fault);

/* For functions that guarded code calls: leaves it as a fault does, without a signal. Ends
 * the process in a thread that is not inside of guarded code. */
_Noreturn void cwj_guard_leave(void);

/* Finds the line of an instruction, or of what called it. False: not known. */
bool cwj_guarded_find(const cwj_guarded *guarded, const void *at, const void *caller,
                      const char **file, int *line);

/* The text of a line of a file, as a str, or None; a new reference, or NULL. */
typedef PyObject *cwj_line_text(void *owner, const char *file, int line);

/* ", in FILE, line N: TEXT", or nothing where the line is not known; *place becomes
 * (file, line, text) or (None, None, None). A new reference, or NULL. */
PyObject *cwj_place_text(const cwj_guarded *guarded, const void *at, const void *caller,
                         cwj_line_text *text_of, void *owner, PyObject **place);

/* Raises cwrapjit.Fault. who begins the message: "m.f()". */
void cwj_fault_raise(PyObject *who, const cwj_guarded *guarded, const cwj_fault *fault,
                     cwj_line_text *text_of, void *owner);

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

#endif
