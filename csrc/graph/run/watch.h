/* watch.h: what callers hold of the run before. */
#pragma once

#include "graph/run/binding.h"

/* Before a run: takes what others hold out of the code's reach. As cwj_binding_begin(). */
int cwj_held_prepare(cwj_binding *binding, const cwj_graph_plan *plan);
/* After a good run: remembers what C still holds of an output. */
void cwj_held_begin(cwj_binding *binding, const cwj_graph_plan *plan);
/* After a failure: fetched outputs get their objects back. */
void cwj_held_restore(cwj_binding *binding, const cwj_graph_plan *plan);
