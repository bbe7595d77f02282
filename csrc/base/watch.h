/* watch.h: carries exceptions of Python callbacks past C code, to the Python call that runs the C code. */
#pragma once

#include <Python.h>
#include <stdbool.h>

/* A call of compiled code during which Python may be called. It is on the C stack of its thread. */
typedef struct cwj_watch {
    struct cwj_watch *outer;
    PyThreadState *released; /* the thread state whose GIL the call released; NULL: the call
                                holds the GIL, Python runs, or the code handles it */
    bool inside; /* Python runs in a callback of this call, on this thread */
    bool failed; /* an exception waits until C returns; callbacks no longer call Python */
    PyObject *type, *value, *traceback; /* owned: the waiting exception */
} cwj_watch;

/* The innermost call of this thread; NULL: none. */
extern _Thread_local cwj_watch *cwj_watching __attribute__((tls_model("initial-exec")));
/* Becomes true with the first closure, and stays so because C may call a freed one. Calls before that need no watch. */
extern bool cwj_has_closures;

static inline void
cwj_watch_begin(cwj_watch *watch)
{
    *watch = (cwj_watch){.outer = cwj_watching};
    cwj_watching = watch;
}

/* Raises the waiting exception and returns -1, or returns 0. Needs the GIL. */
int cwj_watch_end(cwj_watch *watch);
