/* arena.h: allocates memory in pieces and frees all of it at once.
 *
 * A definition needs a few dozen small arrays and strings that live as long as the function. Initialise the struct with
 * zeros; clearing it frees everything. */
#pragma once

#include "base/api.h"

typedef struct cwj_arena {
    struct cwj_arena_chunk *chunks; /* owned, newest first */
} cwj_arena;

/* Returns zeroed memory for count items, or NULL with MemoryError set. count may be 0. */
void *cwj_arena_alloc(cwj_arena *arena, size_t count, size_t size);
/* Returns a formatted string, or NULL with MemoryError set. */
const char *cwj_arena_format(cwj_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cwj_arena_clear(cwj_arena *arena);
