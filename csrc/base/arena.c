/* arena.c: allocates pieces of memory from chunks (arena.h). Each piece comes from the newest chunk,
 * or from a new chunk if it does not fit there. */
#include "base/arena.h"

enum {
    CHUNK_BYTES = 2048,
    ALIGNMENT = 16
};

typedef struct cwj_arena_chunk {
    struct cwj_arena_chunk *next;
    size_t used; /* bytes of memory[] */
    size_t size;
    _Alignas(ALIGNMENT) char memory[];
} cwj_arena_chunk;

static cwj_arena_chunk *
add_chunk(cwj_arena *arena, size_t wanted)
{
    size_t size = wanted > CHUNK_BYTES ? wanted : CHUNK_BYTES;
    if (size > (size_t)PY_SSIZE_T_MAX - sizeof(cwj_arena_chunk)) {
        return NULL;
    }
    cwj_arena_chunk *chunk = PyMem_Calloc(1, sizeof(cwj_arena_chunk) + size);
    if (chunk != NULL) {
        chunk->size = size;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    return chunk;
}

void *
cwj_arena_alloc(cwj_arena *arena, size_t count, size_t size)
{
    cwj_arena_chunk *chunk = arena->chunks;
    if (size != 0 && count > ((size_t)PY_SSIZE_T_MAX - ALIGNMENT) / size) {
        return PyErr_NoMemory();
    }
    size_t wanted = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (chunk == NULL || chunk->size - chunk->used < wanted) {
        chunk = add_chunk(arena, wanted);
    }
    if (chunk == NULL) {
        return PyErr_NoMemory();
    }
    void *piece = chunk->memory + chunk->used;
    chunk->used += wanted;
    return piece;
}

const char *
cwj_arena_format(cwj_arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) { /* longer than INT_MAX also counts */
        PyErr_NoMemory();
        return NULL;
    }
    char *text = cwj_arena_alloc(arena, (size_t)length + 1, 1);
    if (text != NULL) {
        va_start(arguments, format);
        vsnprintf(text, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
    return text;
}

void
cwj_arena_clear(cwj_arena *arena)
{
    while (arena->chunks != NULL) {
        cwj_arena_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        PyMem_Free(chunk);
    }
}
