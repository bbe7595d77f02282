/* entries.h: what compiled code calls of csrc/graph. */
#pragma once

#include "base/symbols.h"

extern const cwj_symbols cwj_graph_symbols;
