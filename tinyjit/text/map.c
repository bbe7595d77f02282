/* map.c: from names to addresses, an open hash table.
 *
 * Linear probing, at most half full, nothing is ever removed but all at once.
 */
#include "internal.h"

#include <stdint.h>
#include <string.h>

static size_t hash(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return (size_t)(h ^ (h >> 32));
}

/* The slot that holds name, or the free one where it belongs. */
static tj_map_item *slot_for(const tj_map *map, const char *name)
{
    size_t i = hash(name) & (map->capacity - 1);
    while (map->items[i].name && strcmp(map->items[i].name, name) != 0)
        i = (i + 1) & (map->capacity - 1);
    return &map->items[i];
}

static bool enlarge(tj_map *map)
{
    tj_map larger = {.capacity = map->capacity ? map->capacity * 2 : 16, .count = map->count};
    larger.items = tj_alloc_zeroed(larger.capacity, sizeof *larger.items);
    if (!larger.items)
        return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->items[i].name)
            *slot_for(&larger, map->items[i].name) = map->items[i];
    tj_free(map->items);
    *map = larger;
    return true;
}

bool tj_map_set(tj_map *map, const char *name, const void *address, bool neutral)
{
    if (2 * (map->count + 1) > map->capacity && !enlarge(map))
        return false;
    tj_map_item *item = slot_for(map, name);
    if (!item->name) {
        item->name = tj_copy_string(name);
        if (!item->name)
            return false;
        map->count++;
    }
    item->address = address;
    item->neutral = neutral;
    return true;
}

const tj_map_item *tj_map_get(const tj_map *map, const char *name)
{
    if (map->count == 0)
        return NULL;
    const tj_map_item *item = slot_for(map, name);
    return item->name ? item : NULL;
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
