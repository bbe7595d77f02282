/* entries.h: what compiled code calls of the call path. */
#pragma once

#include "base/symbols.h"

extern const cwj_symbols cwj_function_symbols;
