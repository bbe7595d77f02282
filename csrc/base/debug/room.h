/* room.h: where guarded code runs: a stack of its own between memory that nobody may touch, and
 * memory for what must outlive it.
 *
 * What overruns an array on that stack destroys frames of the code itself, and then faults. Python's
 * frames are elsewhere.
 */
#pragma once

#include "base/state.h"

typedef struct cwj_room {
    void *record;       /* of the size asked for; aligned as the largest type */
    const char *first;  /* where code that is below has exhausted its stack */
    const char *behind; /* of all frames of the code */
    char *map;          /* the whole; NULL: no memory was to be had */
    size_t mapped;
    size_t stack;      /* bytes; 0: the code runs on its thread's stack */
    char *of_handlers; /* the stack of signals' handlers */
    size_t handlers;   /* its bytes */
    bool keeps;        /* until its thread ends */
    bool taken;
} cwj_room;

/* The thread's, which is made when it is first needed, or one more where that is taken. NULL:
 * there is no memory. */
cwj_room *cwj_room_enter(size_t record);
/* cleans: whoever ran there may have used much. */
void cwj_room_leave(cwj_room *room, bool cleans);

/* Runs run(argument) on the room's stack. It may be left by a jump. */
void cwj_room_run(cwj_room *room, void (*run)(void *), void *argument);
