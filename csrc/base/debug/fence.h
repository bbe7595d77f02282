/* fence.h: memory of arrays between memory that nobody may touch, for debug=True.
 *
 * An array ends where that memory begins, or begins where it ends: what goes past that end faults. Past the other
 * end it does so behind what is left of a page, which is a *zone*: bytes that nobody has reason to write to. What
 * the caller gives is copied there (cwj_fences); new arrays lie there themselves (zones.h).
 */
#pragma once

#include "base/api.h"

typedef struct cwj_fence {
    char *map; /* owned: the whole; NULL: there is none */
    size_t side; /* bytes on either side that may not be touched; 0: there are none */
    bool opened; /* these may be touched now */
    size_t room; /* bytes between these */
    size_t front; /* bytes at the room's start that are somebody else's */
    char *data; /* of the array */
    size_t size;
    const char *of; /* what was copied last; NULL: nothing */
} cwj_fence;

/* A place for size bytes behind front ones of somebody else's; what is there stays if it fits. behind: of the zone,
 * at least. left: the array begins where nobody may touch memory, else it ends there. Returns false where there is
 * no memory. */
bool cwj_fence_open(cwj_fence *this, bool guarded, size_t front, size_t size, size_t behind,
                    bool left);
void cwj_fence_drop(cwj_fence *this);
/* They become memory as any other, where all of this is one mapping with its neighbours. Nothing guards it then. */
void cwj_fence_open_sides(cwj_fence *this);

/* How many bytes behind an item libtcc reads: structs that are passed by value, in words of eight bytes. */
static inline size_t
cwj_bytes_read_beyond(int type_num, size_t itemsize)
{
    return type_num == NPY_VOID || type_num == NPY_HALF ? (8 - itemsize % 8) % 8 : 0;
}

/* An address inside of it, or of its sides. */
bool cwj_fence_has(const cwj_fence *this, const void *address);
/* Returns true where the zone was written to; *offset is the nearest of those bytes in front of the array, or else
 * behind it, counted from its first. */
bool cwj_fence_damaged(const cwj_fence *this, ptrdiff_t *offset);

/* The copies of a call; zeroed: there are none. */
typedef struct cwj_fences {
    cwj_fence *items; /* owned; NULL: nothing is copied */
    int count;
    bool left; /* as above */
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
/* The number of a copy around which the code has written, or -1; its zone is as new then. */
int cwj_fences_damaged(cwj_fences *this, ptrdiff_t *offset);
/* After a fault: true where it was in copying, as what an argument has for memory is not there. Nothing is copied from
 * then on: the code is to run again, and finds that by itself. */
bool cwj_fences_give_up(cwj_fences *this);
/* The number of the one that a wrong address belongs to; -1: none. */
int cwj_fences_find(const cwj_fences *this, const void *address);
