/* compiled.c: owns compiled code in memory and the symbols that it defines. */
#include "internal.h"

void *tj_unit_symbol(const tj_unit *unit, const char *name)
{
    const tj_map_item *item = tj_map_get(&unit->symbols, name); /* constant: needs no lock */
    return item ? (void *)item->address : NULL;
}

bool tj_unit_uses_host(const tj_unit *unit)
{
    return unit->uses_host;
}

bool tj_unit_has_state(const tj_unit *unit)
{
    return unit->has_state;
}

bool tj_unit_speaks(const tj_unit *unit)
{
    return unit->speaks;
}

void tj_unit_free_locked(tj_unit *unit)
{
    tj_pages_free(unit->code.memory, unit->code.size);
    tj_map_clear(&unit->symbols);
    tj_free(unit);
    tj_live_add(TJ_LIVE_UNITS, -1);
}

void tj_unit_free(tj_unit *unit)
{
    if (!unit)
        return;
    tj_compile_lock();
    tj_unit_free_locked(unit);
    tj_compile_unlock();
}
