/* array_members.h: what the small <numpy/arrayobject.h> must know of the running NumPy. */
#pragma once

#include "base/api.h"

/* The macros to compile everything with, for tj_environment_options.host_macros: they say
 * which NumPy's members arrays have, and are none where that is not known. NULL with an
 * exception. Call with the GIL. */
const char *const *cwj_layout_macros(void);
