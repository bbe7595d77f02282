/* fence.h: places arrays between protected pages, for debug=True.
 *
 * An array ends at a protected page, or begins after one: an access past that end faults at once. Past the other end,
 * an access faults only beyond the rest of a page. This rest is a *zone*: bytes that correct code never writes.
 * Arguments are copied to fences (cwj_fences); new arrays are allocated in them (zones.h). */
#pragma once

#include "base/api.h"

typedef struct cwj_fence {
    char *map; /* owned: the whole mapping; NULL: none */
    size_t side; /* protected bytes on either side; 0: none */
    bool opened; /* the sides are accessible now */
    size_t room; /* bytes between the sides */
    size_t front; /* bytes at the start of the room that belong to something else */
    char *data; /* the array's memory */
    size_t size;
    const char *of; /* memory that was copied last; NULL: none */
} cwj_fence;

/* Reserves room for `size` bytes after `front` bytes that belong to something else. Keeps the contents if the size is
 * the same. behind: the least number of bytes after the array. left: the array starts at the protected memory;
 * otherwise it ends there. Returns false if there is no memory. */
bool cwj_fence_open(cwj_fence *this, bool guarded, size_t front, size_t size, size_t behind,
                    bool left);
void cwj_fence_drop(cwj_fence *this);
/* Makes the sides accessible, and so unguarded, to let the system merge the mapping with its neighbours. */
void cwj_fence_open_sides(cwj_fence *this);

/* Returns how many bytes libtcc reads beyond an item: it passes structs by value in words of eight bytes. */
static inline size_t
cwj_bytes_read_beyond(int type_num, size_t itemsize)
{
    return type_num == NPY_VOID || type_num == NPY_HALF ? (8 - itemsize % 8) % 8 : 0;
}

/* Returns true if the address is inside the mapping, including its sides. */
bool cwj_fence_has(const cwj_fence *this, const void *address);
/* Returns true if the zone was overwritten. *offset is then the nearest such byte before the array,
 * or else the nearest after it, relative to the array's start. */
bool cwj_fence_damaged(const cwj_fence *this, ptrdiff_t *offset);

/* The copies of a call; zeroed: none. */
typedef struct cwj_fences {
    cwj_fence *items; /* owned; NULL: nothing is copied */
    int count;
    bool left; /* see cwj_fence_open() */
    volatile bool copies; /* true while memory is copied */
    bool plain; /* make no more copies */
} cwj_fences;

/* Returns 0, or -1 with MemoryError. */
int cwj_fences_new(cwj_fences *this, int count, bool left);
void cwj_fences_free(cwj_fences *this);

/* Copies `size` bytes at data to copy number k, unless it is a copy of them already. Returns the copy, or data if
 * there are no fences or no memory. type_num, itemsize: of the items. Needs no GIL, and may be left by a jump. */
char *cwj_fences_copy(cwj_fences *this, int k, char *data, size_t size, int type_num,
                      size_t itemsize);
/* Copies copy number k back to data, if it is a copy of that memory. */
void cwj_fences_write_back(const cwj_fences *this, int k, char *data);
/* Returns the number of a copy whose zone the code overwrote, and restores the zone; or -1. */
int cwj_fences_damaged(cwj_fences *this, ptrdiff_t *offset);
/* Call after a fault: returns true if it occurred while copying, because the argument's memory does
 * not exist. Later calls copy nothing: run the code again, and it faults by itself. */
bool cwj_fences_give_up(cwj_fences *this);
/* Returns the number of the copy that an invalid address belongs to; -1: none. */
int cwj_fences_find(const cwj_fences *this, const void *address);
