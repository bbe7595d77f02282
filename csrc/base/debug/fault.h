/* fault.h: turns faults of compiled code into exceptions, for debug=True.
 *
 * *Guarded* code may do what otherwise ends the process: divide by zero, follow a wild pointer, exhaust the stack,
 * abort. The signal handler then jumps back to the start of the guarded call. Functions, graphs and library functions
 * all use this.
 *
 * Handlers are process-wide. They act only on threads inside guarded code, and not while that code has called into
 * Python. All other signals go to the handlers that were installed before, or later. */
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
    bool over;  /* the address is above the stack's other end */
    bool raised; /* sent by raise(): no address was accessed */
    bool nowhere; /* the system gives no address, because it is not canonical */
    const void *address; /* the accessed address; the instruction if there was none */
    const void *at;      /* the instruction */
    const void *returns[CWJ_MOST_RETURNS]; /* of the calls that led there, if known */
    int nreturns;
    const cwj_fence *fence; /* the array's fence that was hit; NULL: none */
    const char *kind, *name; /* "argument" or "output", and its name; NULL: unknown */
} cwj_fault;

/* Installs the handlers, again if other code has replaced them. The GIL is held. */
void cwj_guard_install(void);

/* Call once, at import. depth() returns the address of a counter, fixed per thread: how many
 * functions that lead into Python the thread has entered from compiled code. */
void cwj_guard_set_depth(const int *(*depth)(void));

/* Runs run(argument). hosted: it calls Python functions by itself. Returns true if it completed,
 * false if it faulted. Works with or without the GIL, whose state is the same afterwards. */
bool cwj_guard(bool hosted, void (*run)(void *), void *argument, cwj_fault *fault);

/* Leaves guarded code like a fault, without a signal; functions that the code calls may call this. Ends the process if
 * the thread is not inside guarded code. */
_Noreturn void cwj_guard_leave(void);

/* Returns ", in FILE, line N: TEXT", or an empty str if the line is not known. *place becomes (file, line, text) or
 * (None, None, None). as_user may be NULL; otherwise it is called with the (file, line) of generated text, and
 * returns the user's (file, line, text), or None to keep the line. A new reference, or NULL with an exception set. */
PyObject *cwj_place_text(const cwj_fault *fault, PyObject *as_user, PyObject **place);

/* Raises cwrapjit.Fault. who: the start of the message, such as "m.f()". */
void cwj_fault_raise(PyObject *who, const cwj_fault *fault, PyObject *as_user);

/* Raises a Fault without a signal, for damage that was found afterwards. Steals text. Returns -1. */
int cwj_damage_raise(const cwj_module_state *state, PyObject *who, PyObject *text);
/* The same for a write outside an array of `bytes` bytes, `offset` from its start. Steals what, the array's name. */
int cwj_damage_around(const cwj_module_state *state, PyObject *who, PyObject *what,
                      ptrdiff_t offset, size_t bytes);

/* Finds the source lines of a unit's code; *lines stays NULL if they are unknown. Returns 0, or -1 with MemoryError. */
int cwj_guarded_lines(tj_lines **lines, tj_environment *environment, const char *text,
                      const tj_anchor *anchors);
