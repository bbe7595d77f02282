/* entries.h: declares the table of csrc/graph's functions that compiled code may call. */
#pragma once

#include "base/symbols.h"

extern const cwj_symbols cwj_graph_symbols;
