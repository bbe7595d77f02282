/* fence.c: places arrays between protected pages (fence.h). */
#include "base/debug/fence.h"

#include "os/address_space.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    SIDE = 64 << 20, /* large, so that an index that is wrong by millions also faults */
    ZONE_BYTE = 0xB5,
    IDLE = 8,
    SLOTS = 64,
    CHUNKS = 2048
};

/* ---- slots ------------------------------------------------------------------------------------- */

/* Maps are slots of a few large mappings, because a process may have only about 65,000 mappings. The system merges
 * neighbours of equal protection into one mapping only if they were one when the first was written to. */
static const size_t slot_size = 3 * (size_t)SIDE;
static _Atomic(char *) chunks[CHUNKS]; /* each has SLOTS slots; NULL: not needed yet */
static _Atomic(uint64_t) taken[CHUNKS]; /* a bit for each slot */

static char *
chunk_at(int i)
{
    char *chunk = atomic_load(&chunks[i]);
    char *made = chunk == NULL ? tj_space_new(SLOTS * slot_size) : NULL;
    if (made != NULL) {
        tj_space_sparse(made, SLOTS * slot_size);
        made[0] = 0;
        if (atomic_compare_exchange_strong(&chunks[i], &chunk, made)) {
            return made;
        }
        tj_space_free(made, SLOTS * slot_size);
    }
    return chunk;
}

static char *
take_slot(void)
{
    char *chunk;
    for (int i = 0; i < CHUNKS && (chunk = chunk_at(i)) != NULL; i++) {
        uint64_t now = atomic_load(&taken[i]);
        while (~now != 0) {
            int k = __builtin_ctzll(~now);
            if (atomic_compare_exchange_weak(&taken[i], &now, now | UINT64_C(1) << k)) {
                return chunk + (size_t)k * slot_size;
            }
        }
    }
    return NULL;
}

/* Returns false if the map is not a slot. */
static bool
put_slot(const char *map)
{
    char *chunk; /* after the first that is NULL, all are */
    for (int i = 0; i < CHUNKS && (chunk = atomic_load(&chunks[i])) != NULL; i++) {
        size_t k = ((uintptr_t)map - (uintptr_t)chunk) / slot_size;
        if (k < SLOTS) {
            atomic_fetch_and(&taken[i], ~(UINT64_C(1) << k));
            return true;
        }
    }
    return false;
}

/* ---- one fence ------------------------------------------------------------------------------ */

/* Unused maps of a single page between two sides, kept because calls need the same size repeatedly. */
static _Atomic(char *) idle[IDLE];

static bool
may_be_idle(const cwj_fence *this)
{
    return this->side == SIDE && !this->opened && this->room == tj_page_size();
}

static char *
take_idle(void)
{
    char *map = NULL;
    for (int i = 0; i < IDLE && map == NULL; i++) {
        map = atomic_exchange(&idle[i], NULL);
    }
    return map;
}

static bool
put_idle(char *map)
{
    for (int i = 0; i < IDLE; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&idle[i], &none, map)) {
            return true;
        }
    }
    return false;
}

/* Returns the size of the mapping: at least that of a slot if there are sides. */
static size_t
whole_of(const cwj_fence *this)
{
    size_t whole = this->side + this->room + this->side;
    return this->side > 0 && whole < slot_size ? slot_size : whole;
}

static bool
set_sides(const cwj_fence *this, tj_space_use use)
{
    size_t first = this->side + this->room;
    return this->side == 0 || (tj_space_set(this->map, this->side, use) &&
                               tj_space_set(this->map + first, whole_of(this) - first, use));
}

void
cwj_fence_open_sides(cwj_fence *this)
{
    set_sides(this, TJ_SPACE_DATA);
    this->opened = true;
}

static void
give_map(const cwj_fence *this)
{
    set_sides(this, TJ_SPACE_DATA);
    tj_space_discard(this->map + this->side, this->room);
    if (!put_slot(this->map)) {
        tj_space_free(this->map, whole_of(this));
    }
}

void
cwj_fence_drop(cwj_fence *this)
{
    if (this->map != NULL) {
        if (!may_be_idle(this) || !put_idle(this->map)) {
            give_map(this);
        }
        tj_live_add(TJ_LIVE_MAPPINGS, -1);
    }
    *this = (cwj_fence){0};
}

static bool
make_map(cwj_fence *this, size_t side, size_t room)
{
    *this = (cwj_fence){.side = side, .room = room};
    bool made = may_be_idle(this) && (this->map = take_idle()) != NULL;
    if (!made && room < PTRDIFF_MAX - 2 * side) {
        this->map = whole_of(this) == slot_size ? take_slot() : NULL;
        this->map = this->map == NULL ? tj_space_new(whole_of(this)) : this->map;
        made = this->map != NULL && set_sides(this, TJ_SPACE_NONE);
    }
    if (made) {
        tj_live_add(TJ_LIVE_MAPPINGS, 1);
    } else if (this->map != NULL) {
        give_map(this);
        this->map = NULL;
    }
    return made;
}

/* Finds the zone: the rest of the room before and after the array. Returns the number of bytes after the array. */
static size_t
zone_of(const cwj_fence *this, char **front, char **behind)
{
    *front = this->map + this->side + this->front;
    *behind = this->data + this->size;
    return (size_t)(this->map + this->side + this->room - *behind);
}

static void
fill_zone(const cwj_fence *this)
{
    char *front, *behind;
    size_t rest = zone_of(this, &front, &behind);
    memset(front, ZONE_BYTE, (size_t)(this->data - front));
    memset(behind, ZONE_BYTE, rest);
}

bool
cwj_fence_open(cwj_fence *this, bool guarded, size_t front, size_t size, size_t behind, bool left)
{
    size_t page = tj_page_size();
    if (size > PTRDIFF_MAX - page - front - behind) {
        return false;
    }
    size_t room = (front + size + behind + page - 1) / page * page;
    if (this->map != NULL && this->room != room) {
        cwj_fence_drop(this);
    }
    if (this->map == NULL && !make_map(this, guarded ? SIDE : 0, room)) {
        return false;
    }
    if (this->data == NULL || this->size != size) {
        this->front = front;
        this->data = this->map + this->side + (left ? front : room - size - behind);
        this->size = size;
        fill_zone(this);
    }
    return true;
}

bool
cwj_fence_has(const cwj_fence *this, const void *address)
{
    uintptr_t first = (uintptr_t)this->map;
    return first != 0 && (uintptr_t)address - first < whole_of(this);
}

static bool
is_whole(const char *zone, size_t size)
{
    return size == 0 ||
           ((unsigned char)zone[0] == ZONE_BYTE && memcmp(zone, zone + 1, size - 1) == 0);
}

bool
cwj_fence_damaged(const cwj_fence *this, ptrdiff_t *offset)
{
    char *front, *at;
    size_t rest = zone_of(this, &front, &at);
    bool in_front = !is_whole(front, (size_t)(this->data - front));
    if (!in_front && is_whole(at, rest)) {
        return false;
    }
    for (at -= in_front ? this->size + 1 : 0; (unsigned char)*at == ZONE_BYTE;) {
        at += in_front ? -1 : 1;
    }
    *offset = at - this->data;
    return true;
}

/* ---- the copies of a call ------------------------------------------------------------------------ */

int
cwj_fences_new(cwj_fences *this, int count, bool left)
{
    *this = (cwj_fences){
        .items = cwj_allocate((size_t)count, sizeof(cwj_fence)), .count = count, .left = left};
    return this->items == NULL ? -1 : 0;
}

void
cwj_fences_free(cwj_fences *this)
{
    for (int k = 0; this->items != NULL && k < this->count; k++) {
        cwj_fence_drop(&this->items[k]);
    }
    PyMem_Free(this->items);
}

char *
cwj_fences_copy(cwj_fences *this, int k, char *data, size_t size, int type_num, size_t itemsize)
{
    cwj_fence *fence = this->items == NULL || this->plain ? NULL : &this->items[k];
    if (fence != NULL && fence->map != NULL && fence->of == data && fence->size == size) {
        return fence->data;
    }
    if (fence == NULL || !cwj_fence_open(fence, true, 0, size,
                                         cwj_bytes_read_beyond(type_num, itemsize), this->left)) {
        return data;
    }
    this->copies = true;
    memcpy(fence->data, data, size);
    this->copies = false;
    fence->of = data;
    return fence->data;
}

void
cwj_fences_write_back(const cwj_fences *this, int k, char *data)
{
    const cwj_fence *fence = this->items == NULL || this->plain ? NULL : &this->items[k];
    if (fence != NULL && fence->map != NULL && fence->of == data && data != NULL) {
        memcpy(data, fence->data, fence->size);
    }
}

int
cwj_fences_damaged(cwj_fences *this, ptrdiff_t *offset)
{
    for (int k = 0; this->items != NULL && k < this->count; k++) {
        if (this->items[k].map != NULL && cwj_fence_damaged(&this->items[k], offset)) {
            fill_zone(&this->items[k]);
            return k;
        }
    }
    return -1;
}

bool
cwj_fences_give_up(cwj_fences *this)
{
    this->plain |= this->copies;
    bool copied = this->copies;
    this->copies = false;
    return copied;
}

int
cwj_fences_find(const cwj_fences *this, const void *address)
{
    for (int k = 0; this->items != NULL && k < this->count; k++) {
        if (cwj_fence_has(&this->items[k], address)) {
            return k;
        }
    }
    return -1;
}
