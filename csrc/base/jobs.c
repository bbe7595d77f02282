/* jobs.c: starts jobs of the system's compiler and waits for them (jobs.h). */
#include "base/jobs.h"

#include "base/compiler.h"
#include "base/config.h"
#include "base/errors.h"
#include "base/raised.h"
#include "os/clock.h"

bool
cwj_job_start(const cwj_module_state *state, tj_job *job)
{
    static bool registered;
    registered = registered || atexit(tj_optimizer_stop) == 0; /* compilers end with the process */
    PyObject *raised = cwj_raised_take();
    int processes = cwj_config_number(state->config, CWJ_SETTING_PROCESSES);
    PyErr_Clear(); /* no Python code runs here: the value is invalid, or there is no memory */
    /* one if a value in the environment has become invalid since the definition */
    tj_optimizer_set_limits(processes < 1 ? 1 : processes, 0);
    cwj_raised_set(raised);
    return tj_job_start(job);
}

static double
seconds_now(void)
{
    return 1e-9 * (double)tj_clock_ns();
}

/* Waits in intervals, short enough for Ctrl-C. */
int
cwj_job_wait(tj_job *job, double seconds)
{
    double end = seconds < 0 ? 0 : seconds_now() + seconds;
    for (;;) {
        double left = seconds < 0 ? 0.05 : end - seconds_now();
        tj_job_state state;
        Py_BEGIN_ALLOW_THREADS
        state = tj_job_wait(job, left < 0 ? 0 : left < 0.05 ? left : 0.05);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals() < 0) {
            return -1;
        }
        if (state != TJ_JOB_STARTED || left < 0) {
            return state == TJ_JOB_READY;
        }
    }
}

int
cwj_wait_parse(double *seconds, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"timeout", NULL};
    PyObject *timeout = Py_None;
    *seconds = -1.0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:wait", names, &timeout)) {
        return -1;
    }
    if (timeout == Py_None) {
        return 0;
    }
    *seconds = PyFloat_AsDouble(timeout);
    if (*seconds == -1.0 && PyErr_Occurred()) {
        return -1;
    }
    return *seconds >= 0 ? 0
                         : cwj_refuse("wait()", PyExc_ValueError,
                                      "timeout must not be negative, got %R", timeout);
}

int
cwj_job_finish(const cwj_module_state *state, tj_job *job)
{
    return cwj_job_start(state, job) ? cwj_job_wait(job, -1.0) : 0;
}

int
cwj_job_raise(tj_job *job, const char *who)
{
    return cwj_raise_object(cwj_job_error(job, who));
}

int
cwj_job_run(const cwj_module_state *state, tj_job *job, const char *who)
{
    int ready = cwj_job_finish(state, job);
    return ready == 0 ? cwj_job_raise(job, who) : ready < 0 ? -1 : 0;
}

/* ---- results ------------------------------------------------------------ */

PyObject *
cwj_job_error(tj_job *job, const char *who)
{
    tj_messages messages = {0};
    PyObject *error;
    if (tj_job_look(job) != TJ_JOB_FAILED) {
        Py_RETURN_NONE;
    }
    if (!tj_job_messages(job, &messages)) {
        error = PyErr_NoMemory();
    } else if (tj_messages_have_error(&messages)) {
        error = cwj_compile_error(&messages, NULL);
    } else {
        char *failure = tj_job_failure(job);
        error = cwj_refusal(who, PyExc_RuntimeError, "%s", failure != NULL ? failure : "failed");
        tj_free(failure);
    }
    tj_messages_clear(&messages);
    return error;
}

int
cwj_job_warn(tj_job *job)
{
    tj_messages messages = {0};
    int status = 0;
    if (tj_job_look(job) != TJ_JOB_FAILED) {
        return 0;
    }
    if (tj_job_messages(job, &messages)) {
        status = cwj_warn_errors(&messages);
    } else {
        PyErr_NoMemory();
        status = -1;
    }
    tj_messages_clear(&messages);
    return status;
}

PyObject *
cwj_tier_error(cwj_module_state *state, tj_job *job, const char *who)
{
    return job != NULL ? cwj_job_error(job, who) : cwj_compiler_error(state, who);
}
