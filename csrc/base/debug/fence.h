/* fence.h: copies of arrays that code reads, between memory that nobody may touch, for debug=True.
 *
 * A copy ends where that memory begins, or begins where it ends: what reads past that end faults. Past the other
 * end it does so behind what is left of a page.
 */
#ifndef CWJ_BASE_DEBUG_FENCE_H
#define CWJ_BASE_DEBUG_FENCE_H

#include "base/api.h"

typedef struct cwj_fence {
    char *map; /* owned: the whole; NULL: there is none */
    size_t room; /* bytes of it that may be touched */
    const char *of; /* what was copied last; NULL: nothing */
    char *copy;
    size_t size;
} cwj_fence;

/* Those of a call; zeroed: there are none. */
typedef struct cwj_fences {
    cwj_fence *items; /* owned; NULL: nothing is copied */
    int count;
    bool left; /* copies begin where nobody may touch memory, else they end there */
    volatile bool copies; /* that is where it is */
    bool plain; /* no copies any more */
} cwj_fences;

/* Returns 0, or -1 with MemoryError. */
int cwj_fences_new(cwj_fences *this, int count, bool left);
void cwj_fences_free(cwj_fences *this);

/* A copy of the memory, unless number k is that already; data where there are no fences or no memory. type_num,
 * itemsize: of its items. Needs no GIL, and may be left by a jump. */
char *cwj_fences_copy(cwj_fences *this, int k, char *data, size_t size, int type_num,
                      size_t itemsize);
/* What the code has written to copy number k of this memory goes there. */
void cwj_fences_write_back(const cwj_fences *this, int k, char *data);
/* After a fault: true where it was in copying, as what an argument has for memory is not there. Nothing is copied from
 * then on: the code is to run again, and finds that by itself. */
bool cwj_fences_give_up(cwj_fences *this);
/* The number of the one that a wrong address belongs to; -1: none. */
int cwj_fences_find(const cwj_fences *this, const void *address);
/* What it was that met the address, in words: a new reference, or NULL. name: the argument's. */
PyObject *cwj_fence_words(const cwj_fence *this, const void *address, const char *name);

#endif
