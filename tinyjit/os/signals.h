/* signals.h: puts handlers of signals in front of those that other code has installed, and wakes a thread from one.
 *
 * All handlers of cwrapjit are installed here. Define _GNU_SOURCE before it. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* Handles a signal. Returns false to leave it to the other handlers: the one installed before ours, and the latest that
 * replaced ours, which may call ours in turn. May not return. */
typedef bool tj_signal_handler(int number, siginfo_t *info, void *context);

/* Puts the handler in front, again if other code has replaced it. It runs on the thread's stack for signals, if there
 * is one. An interrupt (SIGINT) that is ignored or ends the process stays so. Works on any thread. */
void tj_signal_take(int number, tj_signal_handler *handler);
/* Calls the other handlers from ours, which then returns true. */
void tj_signal_chain(int number, siginfo_t *info, void *context);

/* Sends the thread, which must be alive, the signal for tj_signal_is_ours(): SIGURG, which the system ignores by
 * default. */
void tj_signal_urge(pthread_t thread);
/* True for signals that this process sent to one of its threads. */
bool tj_signal_is_ours(const siginfo_t *info);

/* True in the thread that the process began with. */
bool tj_is_first_thread(void);

/* Wakes one waiting thread. Zeroed at first; any thread and any signal handler may ring. */
typedef struct tj_bell {
    int rung;
} tj_bell;
void tj_bell_ring(tj_bell *bell);
/* Waits until somebody rings, at most ns nanoseconds (0: no limit). Returns at once if that was since the last wait. */
void tj_bell_wait(tj_bell *bell, unsigned long long ns);
