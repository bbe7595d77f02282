/* big_stack.h: running what needs much stack, is for the C locale, and may call abort().
 *
 * One task at a time: the caller holds a lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TJ_BIG_STACK ((size_t)32 << 20)

typedef struct tj_task {
    void (*run)(void *argument);
    /* The task has called abort(): in a signal handler, on its stack. When this returns, so does
     * abort(), as if nobody had caught it. */
    void (*on_abort)(void);
} tj_task;

/* Runs the task to its end on a stack of TJ_BIG_STACK bytes, whatever the caller's thread has, and as that thread:
 * its thread locals are the task's. There the locale is C; the process keeps its own. Memory that the task used
 * of the stack is given back. Returns false, and runs nothing, when the system has no memory for one. */
bool tj_run_on_big_stack(const tj_task *task, void *argument);
/* Ends the task that runs there: tj_run_on_big_stack() returns, nothing of what the
 * task has called does. */
_Noreturn void tj_leave_big_stack(void);
