/* jobs.h: starting a job of the optimizing compiler from Python, and waiting for one. */
#ifndef CWJ_JOBS_H
#define CWJ_JOBS_H

#include "state.h"

/* Starts a job, as cwrapjit.config says now; running compilers end with the process. Sets
 * no exception. False: no thread or memory. */
bool cwj_job_start(const cwj_module_state *state, tj_job *job);

/* Waits without the GIL until the job is ready or has failed, `seconds` at most (< 0: no
 * limit). Returns 1 when it is ready, 0 when not, -1 with an exception set (Ctrl-C). */
int cwj_job_wait(tj_job *job, double seconds);

#endif
