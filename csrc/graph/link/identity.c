/* identity.c: see identity.h. Open addressing with linear steps, at most half full;
 * nothing is ever removed. */
#include "graph/link/identity.h"

enum {
    FIRST_CAPACITY = 32
};

/* The slot that holds key, or the free one where it belongs. */
static cwj_identity_slot *
find(cwj_identity_slot *slots, size_t capacity, const void *key)
{
    size_t mask = capacity - 1;
    size_t at = ((size_t)key >> 4) * 0x9E3779B97F4A7C15u >> 20; /* objects lie 16 bytes apart */
    while (slots[at & mask].key != NULL && slots[at & mask].key != key) {
        at++;
    }
    return &slots[at & mask];
}

static int
grow(cwj_identity *table)
{
    size_t capacity = table->capacity == 0 ? FIRST_CAPACITY : table->capacity * 2;
    cwj_identity_slot *slots = cwj_allocate(capacity, sizeof(*slots));
    if (slots == NULL) {
        return -1;
    }
    for (size_t i = 0; i < table->capacity; i++) {
        if (table->slots[i].key != NULL) {
            *find(slots, capacity, table->slots[i].key) = table->slots[i];
        }
    }
    PyMem_Free(table->slots);
    table->slots = slots;
    table->capacity = capacity;
    return 0;
}

int
cwj_identity_get(const cwj_identity *table, const void *key)
{
    if (table->capacity == 0) {
        return CWJ_ABSENT;
    }
    const cwj_identity_slot *slot = find(table->slots, table->capacity, key);
    return slot->key == NULL ? CWJ_ABSENT : slot->value;
}

int
cwj_identity_put(cwj_identity *table, const void *key, int value)
{
    if (table->count * 2 >= table->capacity && grow(table) < 0) {
        return -1;
    }
    cwj_identity_slot *slot = find(table->slots, table->capacity, key);
    table->count += slot->key == NULL;
    slot->key = key;
    slot->value = value;
    return 0;
}

void
cwj_identity_clear(cwj_identity *table)
{
    PyMem_Free(table->slots);
    *table = (cwj_identity){0};
}
