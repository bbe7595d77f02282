/* entries.h: lists the functions of the call path that compiled code calls. */
#pragma once

#include "base/symbols.h"

extern const cwj_symbols cwj_function_symbols;
