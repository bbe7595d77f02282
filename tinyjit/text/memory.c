/* memory.c: allocates the memory of tinyjit.
 *
 * All memory of tinyjit comes from tj_realloc(), so that a test can make the k-th allocation fail, for k = 0,
 * 1, 2, ... until a task succeeds. The same is true for libtcc's memory (region.c) and most memory that csrc/
 * does not take from Python. Each block begins with its size, so that live memory is counted to the byte. */
#include "internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Precedes each block. */
typedef struct header {
    _Alignas(max_align_t) size_t size; /* of the block after it */
} header;

void *tj_allocate(void *block, size_t old_size, size_t new_size)
{
    header *old = block ? (header *)block - 1 : NULL, *fresh = NULL;
    (void)old_size;
    old_size = old ? old->size : 0;
    if (new_size == 0)
        free(old);
    else if (new_size <= SIZE_MAX - sizeof *fresh)
        fresh = realloc(old, sizeof *fresh + new_size);
    if (new_size != 0 && !fresh)
        return NULL;
    tj_live_add(TJ_LIVE_BLOCKS, (fresh != NULL) - (old_size != 0));
    tj_live_add(TJ_LIVE_BYTES, (ptrdiff_t)(new_size - old_size));
    if (fresh)
        fresh++->size = new_size;
    return fresh;
}

static tj_allocator *current_allocator = tj_allocate;

void tj_set_allocator(tj_allocator *allocator)
{
    current_allocator = allocator ? allocator : tj_allocate;
}

void *tj_realloc(void *block, size_t old_size, size_t new_size)
{
    return current_allocator(block, old_size, new_size);
}

void *tj_alloc_zeroed(size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        return NULL;
    size_t total = count * size;
    if (total == 0)
        total = 1; /* an empty array is not a failure */
    void *block = tj_realloc(NULL, 0, total);
    if (block)
        memset(block, 0, total);
    return block;
}

void tj_free(void *block)
{
    if (block)
        tj_realloc(block, 0, 0);
}

char *tj_copy_bytes(const char *bytes, size_t length)
{
    if (!bytes || length == SIZE_MAX)
        return NULL;
    char *copy = tj_realloc(NULL, 0, length + 1);
    if (copy) {
        memcpy(copy, bytes, length);
        copy[length] = '\0';
    }
    return copy;
}

char *tj_copy_string(const char *string)
{
    return string ? tj_copy_bytes(string, strlen(string)) : NULL;
}

bool tj_grow(void *items, size_t count, size_t *capacity, size_t item_size)
{
    if (count < *capacity)
        return true;
    size_t wanted = *capacity < 8 ? 8 : *capacity;
    if (wanted > SIZE_MAX / 2 / item_size)
        return false;
    if (*capacity >= 8)
        wanted *= 2;
    void *old;
    memcpy(&old, items, sizeof old); /* the type of *items is some pointer type */
    void *block = tj_realloc(old, *capacity * item_size, wanted * item_size);
    if (!block)
        return false;
    memcpy(items, &block, sizeof block);
    *capacity = wanted;
    return true;
}
