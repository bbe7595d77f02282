/* watch.h: where exceptions of Python callbacks go, which C cannot pass on: to the call that C is in. */
#pragma once

#include <Python.h>
#include <stdbool.h>

/* A call of compiled code during which Python may be called: it lies on the C stack of its thread. */
typedef struct cwj_watch {
    struct cwj_watch *outer;
    PyThreadState *released; /* whose GIL the call gave away; NULL: it holds it, or Python runs, or
                                that is the code's business */
    bool inside; /* Python runs in a callback of this call, on its thread */
    bool failed; /* an exception waits for C to return: Python is not called again */
    PyObject *type, *value, *traceback; /* owned: that exception */
} cwj_watch;

/* The innermost of this thread; NULL: none. */
extern _Thread_local cwj_watch *cwj_watching __attribute__((tls_model("initial-exec")));
/* True from the first closure on, as C may call one that is gone: calls before need no watch. */
extern bool cwj_has_closures;

static inline void
cwj_watch_begin(cwj_watch *watch)
{
    *watch = (cwj_watch){.outer = cwj_watching};
    cwj_watching = watch;
}

/* The exception that waited: -1 with it set, or 0. With the GIL. */
int cwj_watch_end(cwj_watch *watch);
