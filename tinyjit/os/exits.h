/* exits.h: calls code so that a signal handler can make its thread leave it, wherever it is.
 *
 * Leaving drops the stack of the code and of all that it called, like longjmp(). */
#pragma once

#include <stdbool.h>

/* The calls of one thread. Only the thread writes it; other threads and its signal handlers read it. Zeroed at first.
 * The code in exits.c knows the layout. */
typedef struct tj_exits {
    void *
        frame; /* the innermost call's, on the stack; NULL: there is none, or it cannot be left now */
    unsigned long long serial; /* of the innermost call, from 1; 0: there is none */
    unsigned long long count; /* calls so far */
} tj_exits;

/* Returns code(a, b, c, d), or 0 if the call was left: who leaves it takes a note. Calls nest. Registers that the code
 * must preserve are then as before; modes of floating-point numbers stay as the code has set them, which takes 3 ns to
 * prevent. */
int tj_exits_call(tj_exits *exits, void (*code)(void), const void *a, const void *b, const void *c,
                  const void *d);

/* Leaves the innermost call, which has a frame, from a function that the code has called. */
_Noreturn void tj_exits_leave(tj_exits *exits);
/* The same in a signal handler: the interrupted thread goes on there when the handler returns. */
void tj_exits_leave_interrupted(const tj_exits *exits, void *context);
/* Returns the address of the interrupted instruction. */
const void *tj_interrupted_at(const void *context);
