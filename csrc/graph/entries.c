/* entries.c: lists the functions of csrc/graph that compiled code may call: storages, and the entry points of
 * cwj_arrays.h. Storages are neutral, because steps of graphs always hold the GIL. */
#include "graph/entries.h"

#include "graph/builtin/builtin.h"
#include "graph/run/storage.h"

#define ENTRY(name, neutral) {#name, (const void *)name, neutral}

static const tj_symbol symbols[] = {
    ENTRY(cwj_storage_get, true),
    ENTRY(cwj_storage_put, true),
    ENTRY(cwj_scalar_read, false),
    ENTRY(cwj_scalar_make, false),
    ENTRY(cwj_array_check, false),
    ENTRY(cwj_array_prepare, false),
    ENTRY(cwj_array_copy, false),
    ENTRY(cwj_array_shape, false),
    ENTRY(cwj_capsule_new, false),
    ENTRY(cwj_elementwise, false),
    {"PyCapsule_New", (const void *)cwj_capsule_new_plain, false},
    {"PyCapsule_SetDestructor", (const void *)cwj_capsule_set_destructor, false},
};

const cwj_symbols cwj_graph_symbols = {symbols, sizeof symbols / sizeof *symbols};
