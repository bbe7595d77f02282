/* leave.h: makes threads leave compiled code that does not come back: after Ctrl-C, and at a deadline.
 *
 * Compiled code runs by cwj_run_code(). One thread of ours, which never needs the GIL, watches these calls. It sends
 * SIGURG to a thread that is to leave its code; the signal's handler leaves it if the interrupted instruction lies in
 * compiled code, so never in malloc(), Python or NumPy. If it lies elsewhere, the next signal follows 1 ms later.
 *
 * A deadline means the calls of a context of Python (contextvars): each block of cwrapjit.deadline adds one to the
 * context variable of leave.c. While there are any, cwj_run_code() asks the context for the nearest one.
 *
 * Ctrl-C means the main thread, and the threads that help its call. It is given a second, as slices and Python check
 * for it; the second Ctrl-C within this time is given none. A call of another thread is left if it keeps the GIL from
 * the main thread. */
#pragma once

#include <Python.h>

#include <stdbool.h>

#include "os/exits.h"
#include "os/threads.h"

typedef enum cwj_reason {
    CWJ_STAYED,
    CWJ_LEFT_BY_CTRL_C,
    CWJ_LEFT_BY_DEADLINE,
    CWJ_KEPT_BY_DEADLINE /* which was over before the code ran */
} cwj_reason;

/* Why and where a thread has left compiled code. */
typedef struct cwj_left {
    cwj_reason reason;
    const void *at; /* the instruction */
} cwj_left;

/* When calls must end. */
typedef struct cwj_deadline {
    unsigned long long at; /* on tj_clock_ns(); 0: never */
    unsigned long long after; /* calls up to this number are not meant */
    double seconds; /* as the user said */
} cwj_deadline;

/* A thread that runs compiled code. It is never freed, but used again when its thread has ended. */
typedef struct cwj_thread {
    tj_exits exits;
    cwj_left left; /* set by the handler, until it is taken */
    struct cwj_thread *next; /* of all threads */
    pthread_t id;
    bool alive; /* guarded by the lock of leave.c, like the next three */
    bool is_main;
    cwj_deadline deadline;
    struct cwj_thread *caller; /* the thread whose call this one helps; NULL: it makes its own */
    unsigned long long shared; /* caller's calls before it was helped */
    /* All below are atomic. */
    unsigned long long pressed; /* calls up to this number are meant by the last Ctrl-C */
    unsigned long long from, upto; /* calls with these numbers are to be left; from is excluded */
    cwj_reason reason; /* of that */
    int needs_gil; /* only if the thread holds the GIL */
} cwj_thread;

extern _Thread_local cwj_thread *cwj_this_thread __attribute__((tls_model("initial-exec")));
/* True if the watching thread sleeps, or is not started: the next call must wake it. */
extern int cwj_watch_sleeps;
/* How many blocks of cwrapjit.deadline are in force. */
extern int cwj_deadlines;

/* Makes fork() wait for what is done here. Call it at import, when no other thread can fork. Returns false with an
 * exception set. */
bool cwj_leave_init(void);

/* Returns this thread's cwj_thread, and wakes the watching thread. NULL: no memory, the code cannot be left. */
cwj_thread *cwj_thread_wake(void);

/* Makes the deadline of this thread that of its context. Needs the GIL. */
void cwj_deadline_take(void);
/* Does so if there are deadlines. Call it before the GIL is released for code that may be left. */
static inline void
cwj_deadline_look(void)
{
    if (__builtin_expect(__atomic_load_n(&cwj_deadlines, __ATOMIC_RELAXED), 0)) {
        cwj_deadline_take();
    }
}
/* Does so if the thread has the GIL. Returns false if the deadline is over, and notes this as code that was left. */
bool cwj_deadline_allows(cwj_thread *thread);

/* Returns code(a, b, c, d); 0 if the code was left, see cwj_has_left(). With or without the GIL. */
static inline int
cwj_run_code(void (*code)(void), const void *a, const void *b, const void *c, const void *d)
{
    cwj_thread *thread = cwj_this_thread;
    if (__builtin_expect(thread == NULL || __atomic_load_n(&cwj_watch_sleeps, __ATOMIC_RELAXED),
                         0)) {
        thread = cwj_thread_wake();
        if (thread == NULL) {
            return ((int (*)(const void *, const void *, const void *, const void *))code)(a, b, c,
                                                                                           d);
        }
    }
    if (__builtin_expect(__atomic_load_n(&cwj_deadlines, __ATOMIC_RELAXED), 0) &&
        !cwj_deadline_allows(thread)) {
        return 0;
    }
    return tj_exits_call(&thread->exits, code, a, b, c, d);
}

/* True if this thread has left code, and nobody has taken note of it. */
static inline bool
cwj_has_left(void)
{
    return cwj_this_thread != NULL && cwj_this_thread->left.reason != CWJ_STAYED;
}

/* Between these two, which nest, the running code of this thread cannot be left: Python, or a library, runs. The first
 * returns what the second takes. */
static inline void *
cwj_exits_shut(void)
{
    void *frame = cwj_this_thread == NULL ? NULL : cwj_this_thread->exits.frame;
    if (frame != NULL) {
        __atomic_store_n(&cwj_this_thread->exits.frame, NULL, __ATOMIC_RELAXED);
    }
    return frame;
}

static inline void
cwj_exits_open(void *frame)
{
    if (frame != NULL) {
        __atomic_store_n(&cwj_this_thread->exits.frame, frame, __ATOMIC_RELAXED);
    }
}
/* Leaves the code if it is to be left: signals would hardly ever meet code that does nothing but call Python. The caller
 * owns nothing, and only compiled code called it. */
void cwj_exits_open_or_leave(void *frame);

/* Call it where code may have been left, and Python is needed: takes or releases the GIL, which the code may have
 * done, too. */
void cwj_left_settle(bool held);
/* Sets the GIL as it was when `thread` held it, or did not. */
void cwj_restore_gil(PyThreadState *thread, bool held);

/* Takes note, so that cwj_has_left() is false. */
cwj_left cwj_left_take(void);
/* Does the same before the exception is raised, and clears one that the code has set. After Ctrl-C, Python's handler
 * runs: false if it has raised something else than KeyboardInterrupt, which then stays. Needs the GIL. */
bool cwj_left_begin(cwj_left *left);
/* Has this thread leave by what another has noted. */
void cwj_left_give(cwj_left left);
/* Raises KeyboardInterrupt or TimeoutError, with the line if it is known: see cwj_place_text(). Needs the GIL. */
void cwj_left_raise(const char *who, cwj_left left, PyObject *as_user);

/* Has this thread help `caller`, which made `shared` calls before; NULL: its own again. */
void cwj_thread_help(cwj_thread *caller, unsigned long long shared);

/* Functions of the extension module that only cwrapjit.deadline calls. */
extern PyMethodDef cwj_deadline_functions[];
