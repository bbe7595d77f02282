/* room.h: allocates the memory that guarded code runs in: a stack between protected pages, and
 * memory for data that must survive the code.
 *
 * An array overrun on that stack destroys only frames of the code itself, and then faults. Python's
 * frames are elsewhere. */
#pragma once

#include "base/state.h"

typedef struct cwj_room {
    void *record;       /* has the requested size; aligned for any type */
    const char *first;  /* start of the stack; below it, the stack is exhausted */
    const char *behind; /* end of the stack: above all frames of the code */
    char *map;          /* the whole mapping; NULL: there was no memory */
    size_t mapped;
    size_t stack;      /* bytes; 0: the code runs on its thread's stack */
    char *of_handlers; /* the stack of signal handlers */
    size_t handlers;   /* bytes of that stack */
    bool keeps;        /* kept until its thread ends */
    bool taken;
} cwj_room;

/* Returns the thread's room, created at the first call, or a new one if that is in use. NULL: no memory. */
cwj_room *cwj_room_enter(size_t record);
/* Gives the room back. cleans: releases most of the stack, because the code may have used much of it. */
void cwj_room_leave(cwj_room *room, bool cleans);

/* Runs run(argument) on the room's stack. A jump may leave it. */
void cwj_room_run(cwj_room *room, void (*run)(void *), void *argument);
