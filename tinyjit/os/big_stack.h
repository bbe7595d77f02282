/* big_stack.h: runs a task that needs a large stack, the C locale, and a handler for abort().
 *
 * Only one task runs at a time: the caller holds a lock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TJ_BIG_STACK ((size_t)32 << 20)

typedef struct tj_task {
    void (*run)(void *argument);
    /* The task has called abort(); this runs in a signal handler, on the task's stack. If it returns, abort()
     * continues as if nothing had caught it. */
    void (*on_abort)(void);
} tj_task;

/* Runs the task on a stack of TJ_BIG_STACK bytes, whatever the size of the caller's stack. It runs as the
 * same thread, with the caller's thread locals, but in the C locale; the locale of the process does not
 * change. The stack memory that the task used is given back. Returns false, without running the task, if the
 * system has no memory for the stack. */
bool tj_run_on_big_stack(const tj_task *task, void *argument);
/* Ends the running task: tj_run_on_big_stack() returns, and no function called by the task does. */
_Noreturn void tj_leave_big_stack(void);
