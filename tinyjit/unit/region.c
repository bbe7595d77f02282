/* region.c: allocates the memory that libtcc holds during one use.
 *
 * libtcc cannot handle a failed allocation: its allocator must return a block. If a block is refused here, by
 * the system or by the limit, backend.c makes libtcc stop; until then small blocks come from a reserve. All
 * blocks are in a list, so that they can be freed together if libtcc had to be left in the middle. */
#include "internal.h"

#include "os/address_space.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* Precedes each block from tj_realloc(). */
struct tj_block {
    struct tj_block *previous; /* NULL: the first */
    struct tj_block *next;
    size_t size;   /* of the block after it */
    size_t unused; /* keeps the block after it aligned to 16 */
};

enum {
    ALIGNMENT = 16,
    SMALLEST_CODE = 512, /* libtcc's tables are smaller; code with data is larger */
    PAGE = 4096,
    RESERVE = 4 << 20
};

/* Takes no memory until it is used. It is larger than libtcc's setup of any text, except very long ones,
 * which get a separate reserve. Guarded by the compile lock. */
static _Alignas(PAGE) char reserve[RESERVE];

static bool is_reserve(const tj_region *region, const void *memory)
{
    return region->reserve && (uintptr_t)memory - (uintptr_t)region->reserve < region->reserve_size;
}

/* ---- refusing ----------------------------------------------------------------- */

static void *refuse(tj_region *region, tj_refusal refusal, int reason)
{
    if (!region->refusal) {
        region->refusal = refusal;
        region->reason = reason;
    }
    return NULL;
}

bool tj_region_has_room(tj_region *region, size_t more)
{
    if (more <= region->limit && region->held <= region->limit - more)
        return true;
    refuse(region, TJ_REFUSED_BY_LIMIT, 0);
    return false;
}

/* ---- pages for code ------------------------------------------------------------- */

/* Returns the code that begins at memory, or NULL. If memory is NULL, returns a free entry. */
static tj_code *find_code(tj_region *region, const void *memory)
{
    for (size_t i = 0; i < sizeof region->code / sizeof *region->code; i++)
        if (region->code[i].memory == memory)
            return &region->code[i];
    return NULL;
}

static bool is_for_code(const tj_region *region, const void *memory, size_t size)
{
    return region->places_code && !memory && size >= SMALLEST_CODE;
}

static void *add_code(tj_region *region, tj_code *place, size_t size)
{
    if (!tj_region_has_room(region, size))
        return NULL;
    void *memory = tj_pages_alloc(size);
    if (!memory)
        return refuse(region, TJ_REFUSED_PAGES, errno);
    tj_pages_mark_end(memory, size);
    *place = (tj_code){memory, size};
    region->held += size;
    return memory;
}

static void free_code(tj_region *region, tj_code *code)
{
    if (code == region->taken)
        return;
    tj_pages_free(code->memory, code->size);
    region->held -= code->size;
    *code = (tj_code){0};
}

const tj_code *tj_region_code_at(const tj_region *region, const void *address)
{
    for (size_t i = 0; i < sizeof region->code / sizeof *region->code; i++) {
        const tj_code *code = &region->code[i];
        if (code->memory && (uintptr_t)address - (uintptr_t)code->memory < code->size)
            return code;
    }
    return NULL;
}

/* ---- blocks ----------------------------------------------------------------------- */

static void unlink_block(tj_region *region, tj_block *block)
{
    if (block->previous)
        block->previous->next = block->next;
    else
        region->blocks = block->next;
    if (block->next)
        block->next->previous = block->previous;
    region->held -= block->size;
    tj_live_add(TJ_LIVE_LIBTCC_BLOCKS, -1);
    tj_live_add(TJ_LIVE_LIBTCC_BYTES, -(ptrdiff_t)block->size);
}

static void link_block(tj_region *region, tj_block *block, size_t size)
{
    *block = (tj_block){.next = region->blocks, .size = size};
    if (region->blocks)
        region->blocks->previous = block;
    region->blocks = block;
    region->held += size;
    tj_live_add(TJ_LIVE_LIBTCC_BLOCKS, 1);
    tj_live_add(TJ_LIVE_LIBTCC_BYTES, (ptrdiff_t)size);
}

static void free_block(tj_region *region, tj_block *block)
{
    unlink_block(region, block);
    tj_free(block);
}

/* Resizes a block, or allocates one if it is NULL. On failure the block is unchanged. */
static void *resize_block(tj_region *region, tj_block *block, size_t size)
{
    size_t old = block ? block->size : 0;
    if (size > old && !tj_region_has_room(region, size - old))
        return NULL;
    if (size > SIZE_MAX - sizeof *block)
        return refuse(region, TJ_REFUSED_MEMORY, 0);
    if (block)
        unlink_block(region, block);
    tj_block *fresh = tj_realloc(block, block ? sizeof *block + old : 0, sizeof *fresh + size);
    if (fresh)
        link_block(region, fresh, size);
    else if (block)
        link_block(region, block, old);
    return fresh ? fresh + 1 : refuse(region, TJ_REFUSED_MEMORY, 0);
}

/* ---- requests of libtcc ------------------------------------------------------- */

/* Returns the number of bytes that can be read at memory. */
static size_t size_of(tj_region *region, const void *memory)
{
    if (!memory)
        return 0;
    if (is_reserve(region, memory))
        return (size_t)(region->reserve + region->reserve_used - (const char *)memory);
    const tj_code *code = find_code(region, memory);
    return code ? code->size : ((const tj_block *)memory - 1)->size;
}

void tj_region_free(tj_region *region, void *memory)
{
    if (!memory || is_reserve(region, memory))
        return;
    tj_code *code = find_code(region, memory);
    if (code)
        free_code(region, code);
    else
        free_block(region, (tj_block *)memory - 1);
}

/* Moves memory without a tj_block before it to a block that has one. */
static void *move(tj_region *region, void *memory, size_t size)
{
    size_t old = size_of(region, memory);
    void *moved = resize_block(region, NULL, size);
    if (moved) {
        memcpy(moved, memory, old < size ? old : size);
        tj_region_free(region, memory);
    }
    return moved;
}

void *tj_region_resize(tj_region *region, void *memory, size_t size)
{
    tj_code *place = is_for_code(region, memory, size) ? find_code(region, NULL) : NULL;
    if (place)
        return add_code(region, place, size);
    if (memory && (is_reserve(region, memory) || find_code(region, memory)))
        return move(region, memory, size);
    return resize_block(region, memory ? (tj_block *)memory - 1 : NULL, size);
}

/* ---- the reserve ----------------------------------------------------------------- */

bool tj_region_prepare(tj_region *region, size_t size)
{
    region->reserve = reserve;
    region->reserve_size = sizeof reserve;
    if (size <= sizeof reserve / 2)
        return true;
    if (size > SIZE_MAX - sizeof reserve || !tj_region_has_room(region, size))
        return false;
    region->reserve_size += size;
    region->reserve = tj_realloc(NULL, 0, region->reserve_size);
    return region->reserve || refuse(region, TJ_REFUSED_MEMORY, 0);
}

void *tj_region_reserve(tj_region *region, void *memory, size_t size, size_t kept)
{
    size_t left = region->reserve_size - region->reserve_used, old = size_of(region, memory);
    size_t whole = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (whole < size || left < kept || whole > left - kept || is_for_code(region, memory, size))
        return NULL;
    char *block = region->reserve + region->reserve_used;
    region->reserve_used += whole;
    if (memory)
        memcpy(block, memory, old < size ? old : size);
    return block; /* the old block stays until the region is cleared */
}

void tj_region_clear(tj_region *region)
{
    while (region->blocks)
        free_block(region, region->blocks);
    for (size_t i = 0; i < sizeof region->code / sizeof *region->code; i++)
        if (region->code[i].memory)
            free_code(region, &region->code[i]);
    if (region->reserve != reserve)
        tj_free(region->reserve);
    else if (region->reserve_used)
        tj_space_discard(reserve, sizeof reserve);
    region->reserve = NULL;
    region->reserve_size = region->reserve_used = 0;
}
