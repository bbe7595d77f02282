/* prelude.h: what every compiled unit knows before its first line.
 *
 * Snippets are written as if <math.h>, <stdio.h>, <Python.h> and NumPy's
 * headers had been read; those take 30 ms and do not even parse in libtcc.
 * This file says the same in a few hundred declarations. tools/embed.py
 * inlines what it includes and removes the comments, and tj_prelude() returns
 * the result, so its length is paid for by each compilation: no names that
 * snippets rarely use.
 *
 * Only names that ISO C or NumPy reserve are declared. <math.h> of POSIX also
 * takes names like y0 or gamma; a unit gets those when it includes <math.h>.
 *
 * Types are the same as those of the system's headers, which may come later.
 */
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
