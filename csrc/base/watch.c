/* watch.c: carries exceptions of Python callbacks past C code (watch.h). */
#include "base/watch.h"

_Thread_local cwj_watch *cwj_watching __attribute__((tls_model("initial-exec")));
bool cwj_has_closures;

int
cwj_watch_end(cwj_watch *watch)
{
    cwj_watching = watch->outer;
    if (!watch->failed) {
        return 0;
    }
    PyErr_Clear(); /* set by C code itself; the callback's exception came first */
    PyErr_Restore(watch->type, watch->value, watch->traceback);
    watch->failed = false;
    return -1;
}
