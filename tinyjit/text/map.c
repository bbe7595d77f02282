/* map.c: maps names to addresses with an open-addressing hash table.
 *
 * It uses linear probing and is at most half full. Items are never removed one by one. */
#include "internal.h"

#include <stdint.h>
#include <string.h>

/* A name in two parts, so that a prefix need not be copied before it. */
typedef struct key {
    const char *head, *tail;
    size_t head_length, tail_length;
} key;

static uint64_t hash_more(uint64_t hash, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

static bool is_named(const char *name, key wanted)
{
    return !strncmp(name, wanted.head, wanted.head_length) &&
           !strncmp(name + wanted.head_length, wanted.tail, wanted.tail_length) &&
           !name[wanted.head_length + wanted.tail_length];
}

/* Returns the slot that holds the name, or the free slot for it. */
static tj_map_item *slot_for(const tj_map *map, key wanted)
{
    uint64_t hash = hash_more(0xcbf29ce484222325u, wanted.head, wanted.head_length);
    hash = hash_more(hash, wanted.tail, wanted.tail_length);
    size_t i = (size_t)(hash ^ (hash >> 32)) & (map->capacity - 1);
    while (map->items[i].name && !is_named(map->items[i].name, wanted))
        i = (i + 1) & (map->capacity - 1);
    return &map->items[i];
}

static bool enlarge(tj_map *map)
{
    tj_map larger = {.capacity = map->capacity ? map->capacity * 2 : 16, .count = map->count};
    larger.items = tj_alloc_zeroed(larger.capacity, sizeof *larger.items);
    if (!larger.items)
        return false;
    for (size_t i = 0; i < map->capacity; i++) {
        const char *name = map->items[i].name;
        if (name)
            *slot_for(&larger, (key){name, "", strlen(name), 0}) = map->items[i];
    }
    tj_free(map->items);
    *map = larger;
    return true;
}

tj_map_item *tj_map_add(tj_map *map, const char *name, size_t length)
{
    if (2 * (map->count + 1) > map->capacity && !enlarge(map))
        return NULL;
    tj_map_item *item = slot_for(map, (key){name, "", length, 0});
    if (!item->name) {
        item->name = tj_copy_bytes(name, length);
        if (!item->name)
            return NULL;
        map->count++;
    }
    return item;
}

bool tj_map_set(tj_map *map, const char *name, const void *address, bool neutral)
{
    tj_map_item *item = tj_map_add(map, name, strlen(name));
    if (!item)
        return false;
    item->address = address;
    item->neutral = neutral;
    return true;
}

const tj_map_item *tj_map_find(const tj_map *map, const char *prefix, size_t prefix_length,
                               const char *name, size_t length)
{
    if (map->count == 0)
        return NULL;
    const tj_map_item *item = slot_for(map, (key){prefix, name, prefix_length, length});
    return item->name ? item : NULL;
}

const tj_map_item *tj_map_get(const tj_map *map, const char *name)
{
    return tj_map_find(map, name, strlen(name), "", 0);
}

void tj_map_clear(tj_map *map)
{
    if (!map)
        return;
    for (size_t i = 0; i < map->capacity; i++)
        tj_free(map->items[i].name);
    tj_free(map->items);
    *map = (tj_map){0};
}
