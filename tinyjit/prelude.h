/* prelude.h: declares the names that every compiled unit can use without #include.
 *
 * Snippets are written as if they included <math.h>, <stdio.h>, <Python.h> and NumPy's headers. Those take 30
 * ms to read, and libtcc cannot even parse them. This file declares the same names in a few hundred
 * declarations. tools/embed.py inlines its includes and removes the comments, and tj_prelude() returns the
 * result. Each compilation reads it, so it omits names that snippets rarely use.
 *
 * It declares only names that ISO C or NumPy reserve. <math.h> of POSIX also declares names like y0 or gamma;
 * a unit gets those only if it includes <math.h>.
 *
 * Types are the same as in the system's headers, which may be included later. */
#pragma once

#include <iso/stddef.h>
#include <iso/stdbool.h>
#include <iso/stdint.h>
#include <iso/limits.h>
#include <iso/float.h>
#include <iso/math.h>
#include <iso/string.h>
#include <iso/stdlib.h>
#include <iso/stdio.h>

/* ---- NumPy's names ------------------------------------------------------ */

#include <numpy/npy_types.h>
#include "cwj_extremes.h"

/* ---- raising exceptions -------------------------------------------------- */

#include <pyerrors.h>

/* ---- the call ------------------------------------------------------------ */

#include "abi.h"
