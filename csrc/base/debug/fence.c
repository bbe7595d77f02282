/* fence.c: see fence.h. */
#include "base/debug/fence.h"

#include "os/address_space.h"

#include <stdint.h>

/* On either side: an index that is wrong by millions is met there, too. */
static const size_t side = (size_t)64 << 20;

/* ---- one ------------------------------------------------------------------------------------ */

static void
drop_map(cwj_fence *this)
{
    if (this->map != NULL) {
        tj_space_free(this->map, side + this->room + side);
        tj_live_add(TJ_LIVE_MAPPINGS, -1);
    }
    *this = (cwj_fence){0};
}

static bool
make_map(cwj_fence *this, size_t room)
{
    char *map = tj_space_new(side + room + side);
    if (map == NULL) {
        return false;
    }
    tj_live_add(TJ_LIVE_MAPPINGS, 1);
    this->map = map;
    this->room = room;
    bool fenced = tj_space_set(map, side, TJ_SPACE_NONE) &&
                  tj_space_set(map + side + room, side, TJ_SPACE_NONE);
    if (!fenced) {
        drop_map(this);
    }
    return fenced;
}

PyObject *
cwj_fence_words(const cwj_fence *this, const void *address, const char *name)
{
    ptrdiff_t offset = (const char *)address - this->copy;
    return PyUnicode_FromFormat("access %s the %zu bytes of argument '%s', at byte %zd",
                                offset < 0 ? "in front of" : "behind", this->size, name,
                                (Py_ssize_t)offset);
}

/* ---- those of a call -------------------------------------------------------------------------- */

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
        drop_map(&this->items[k]);
    }
    PyMem_Free(this->items);
}

/* libtcc reads structs that are passed by value in words of eight bytes. */
static size_t
bytes_read_beyond(int type_num, size_t itemsize)
{
    return type_num == NPY_VOID || type_num == NPY_HALF ? (8 - itemsize % 8) % 8 : 0;
}

char *
cwj_fences_copy(cwj_fences *this, int k, char *data, size_t size, int type_num, size_t itemsize)
{
    cwj_fence *fence = this->items == NULL || this->plain ? NULL : &this->items[k];
    size_t page = tj_page_size(), whole = size + bytes_read_beyond(type_num, itemsize);
    size_t room = (whole + page - 1) / page * page;
    if (fence != NULL && fence->map != NULL && fence->of == data && fence->size == size) {
        return fence->copy;
    }
    if (fence != NULL && fence->map != NULL && fence->room != room) {
        drop_map(fence);
    }
    if (fence == NULL || (fence->map == NULL && !make_map(fence, room))) {
        return data;
    }
    fence->copy = fence->map + side + (this->left ? 0 : room - whole);
    fence->size = size;
    this->copies = true;
    memcpy(fence->copy, data, size);
    this->copies = false;
    fence->of = data;
    return fence->copy;
}

void
cwj_fences_write_back(const cwj_fences *this, int k, char *data)
{
    const cwj_fence *fence = this->items == NULL || this->plain ? NULL : &this->items[k];
    if (fence != NULL && fence->map != NULL && fence->of == data && data != NULL) {
        memcpy(data, fence->copy, fence->size);
    }
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
        uintptr_t first = (uintptr_t)this->items[k].map;
        if (first != 0 && (uintptr_t)address - first < side + this->items[k].room + side) {
            return k;
        }
    }
    return -1;
}
