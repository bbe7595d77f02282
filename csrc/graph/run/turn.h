/* turn.h: lets one thread at a time run an object whose C code is not re-entrant. */
#pragma once

#include "base/state.h"

/* Zeroed: the turn is free. Guarded by the GIL. */
typedef struct cwj_turn {
    bool busy;
    unsigned waiting;    /* threads */
    PyThread_type_lock news; /* owned: the lock that they wait for; NULL until a thread waits */
    unsigned forks;      /* number of forks when the turn was taken */
    unsigned long owner; /* thread that has the turn */
} cwj_turn;

/* Takes the turn; waits without the GIL while another thread has it. Returns 0; 1 if a thread had it that a fork left
 * in the parent in the middle of a run; -1 with RuntimeError set if this thread has it, or the other thread waits for
 * this one, or with a signal handler's exception. `who` is the prefix of the message. */
int cwj_turn_take(cwj_turn *turn, const char *who);
void cwj_turn_give(cwj_turn *turn);
void cwj_turn_end(cwj_turn *turn); /* frees its lock */

/* Call once per process, before the first turn. */
void cwj_turn_prepare(void);
