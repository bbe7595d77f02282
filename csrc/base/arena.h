/* arena.h: memory that is taken in pieces and freed at once.
 *
 * A definition needs a few dozen small arrays and strings that all live as
 * long as the function. Zero the struct to begin; clear it to free everything.
 */
#pragma once

#include "base/api.h"

typedef struct cwj_arena {
    struct cwj_arena_chunk *chunks; /* owned, newest first */
} cwj_arena;

/* Zeroed memory for count items, or NULL with MemoryError set. count may be 0. */
void *cwj_arena_alloc(cwj_arena *arena, size_t count, size_t size);
/* A formatted string, or NULL with MemoryError set. */
const char *cwj_arena_format(cwj_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cwj_arena_clear(cwj_arena *arena);
