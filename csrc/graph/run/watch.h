/* watch.h: protects outputs of the previous run that callers still hold. */
#pragma once

#include "graph/run/binding.h"

/* Before a run: hides the objects that callers hold from the code. Returns like cwj_binding_begin(). */
int cwj_held_prepare(cwj_binding *binding, const cwj_graph_plan *plan);
/* After a successful run: remembers the objects of kept outputs. */
void cwj_held_begin(cwj_binding *binding, const cwj_graph_plan *plan);
/* After a failed run: puts the objects of fetched outputs back into their storages. */
void cwj_held_restore(cwj_binding *binding, const cwj_graph_plan *plan);
