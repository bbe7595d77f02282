/* functions.h: the algorithms of all functions in functions.def. */
#pragma once

#include "exp.h"
#include "log.h"
#include "trigonometric.h"
#include "hyperbolic.h"
#include "arc.h"
#include "roots.h"
#include "power.h"
#include "error.h"
#include "single.h"
