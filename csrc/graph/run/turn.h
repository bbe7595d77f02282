/* turn.h: one thread at a time in an object whose C code must not meet itself. */
#pragma once

#include "base/state.h"

/* All zero: nobody's turn. Guarded by the GIL. */
typedef struct cwj_turn {
    bool busy;
    unsigned waiting;    /* threads */
    PyThread_type_lock news; /* owned: what they wait for; NULL: nobody has waited */
    unsigned forks;      /* as counted when the turn was taken */
    unsigned long owner; /* the thread */
} cwj_turn;

/* Takes the turn, waiting without the GIL while another thread has it. Returns 0; 1 when
 * it was taken from a thread that a fork left behind in the parent, so that nobody knows
 * how far that got; -1 with RuntimeError when this thread has it already, or with what a
 * signal handler raised. `who` begins the message. */
int cwj_turn_take(cwj_turn *turn, const char *who);
void cwj_turn_give(cwj_turn *turn);
void cwj_turn_end(cwj_turn *turn); /* frees what belongs to it */

/* Once per process, before the first turn. */
void cwj_turn_prepare(void);
