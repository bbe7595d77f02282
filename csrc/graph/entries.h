/* entries.h: what compiled code calls of csrc/graph. */
#ifndef CWJ_GRAPH_ENTRIES_H
#define CWJ_GRAPH_ENTRIES_H

#include "base/symbols.h"

extern const cwj_symbols cwj_graph_symbols;

#endif
