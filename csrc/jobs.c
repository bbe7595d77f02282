/* jobs.c: see jobs.h. */
#include "jobs.h"

#include <stdlib.h>
#include <time.h>

#include "config.h"

/* Running compilers end with the process. */
static void
stop_at_exit(void)
{
    static int registered;
    if (!registered) {
        registered = atexit(tj_optimizer_stop) == 0;
    }
}

/* As cwrapjit.config says now; nonsense in the environment means one. */
static void
set_processes(const cwj_module_state *state)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int processes = cwj_config_processes(state->config);
    PyErr_Clear();
    tj_optimizer_set_limits(processes < 1 ? 1 : processes, 0);
    PyErr_Restore(type, value, traceback);
}

bool
cwj_job_start(const cwj_module_state *state, tj_job *job)
{
    stop_at_exit();
    set_processes(state);
    return tj_job_start(job);
}

static double
seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* In turns short enough for Ctrl-C. */
int
cwj_job_wait(tj_job *job, double seconds)
{
    double end = seconds < 0 ? 0 : seconds_now() + seconds;
    for (;;) {
        double left = seconds < 0 ? 0.05 : end - seconds_now();
        tj_job_state state;
        Py_BEGIN_ALLOW_THREADS state = tj_job_wait(job, left < 0 ? 0 : left < 0.05 ? left : 0.05);
        Py_END_ALLOW_THREADS if (PyErr_CheckSignals() < 0)
        {
            return -1;
        }
        if (state != TJ_JOB_STARTED || left < 0) {
            return state == TJ_JOB_READY;
        }
    }
}
