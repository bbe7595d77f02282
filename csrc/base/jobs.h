/* jobs.h: starts jobs of the system's compiler from Python, and waits for them. */
#pragma once

#include "base/state.h"

/* Starts a job with cwrapjit.config's current settings; running compilers end with the process.
 * Sets no exception. Returns false if the job failed because no thread could be started. */
bool cwj_job_start(const cwj_module_state *state, tj_job *job);

/* Waits without the GIL until the job is ready or has failed, `seconds` at most (< 0: no limit).
 * Returns 1 if it is ready, 0 if not, -1 with an exception set (Ctrl-C). */
int cwj_job_wait(tj_job *job, double seconds);

/* Parses the arguments of a method wait(timeout=None), for cwj_job_wait(). Returns 0, or -1 with an exception. */
int cwj_wait_parse(double *seconds, PyObject *args, PyObject *kwargs);
#define CWJ_WAIT_DOC(whole)                                                                 \
    "wait($self, /, timeout=None)\n--\n\n"                                                  \
    "Ask for the cc tier now and wait until it is in place.\n\n"                            \
    "timeout is in seconds. Returns True when " whole " the optimizing\n"                   \
    "compiler's code. Returns False where that is not to be had: with optimize='off',\n"    \
    "without a compiler, when it failed (cwrapjit.show_config() says why), for code with\n" \
    "writable static data, and when the time is over."

/* Starts a job and waits for its end, as above: 1, 0, or -1 with an exception set. */
int cwj_job_finish(const cwj_module_state *state, tj_job *job);
/* Raises the reason why a finished job is not ready; returns -1. */
int cwj_job_raise(tj_job *job, const char *who);
/* Runs a job to its end. Returns 0 if it is ready, or -1 with an exception set. */
int cwj_job_run(const cwj_module_state *state, tj_job *job, const char *who);

/* Returns why the job failed, as an exception that is not raised: CompileError if the compiler rejects the text,
 * otherwise RuntimeError. None if it has not failed. NULL with another exception set. */
PyObject *cwj_job_error(tj_job *job, const char *who);

/* Warns of the compiler's errors about a failed job. Returns 0, or -1 with an exception, for example of a filter. */
int cwj_job_warn(tj_job *job);

/* Like cwj_job_error(), for code that stays in its tcc tier. If job is NULL, no compiler was called: returns the
 * result of cwj_compiler_error(). */
PyObject *cwj_tier_error(cwj_module_state *state, tj_job *job, const char *who);
#define CWJ_TIER_ERROR_DOC                                                                  \
    "Why the code stays in its tcc tier, as an exception: CompileError for what the\n"      \
    "system's compiler refuses; RuntimeError where there is none, where it failed in\n"     \
    "another way, and for writable static data. None: it does not stay, nobody has asked\n" \
    "for the cc tier yet, or optimize='off' is why."
