/* array_members.h: describes the running NumPy to the small <numpy/arrayobject.h>. */
#pragma once

#include "base/api.h"

/* Returns the macros that all code is compiled with, for tj_environment_options.host_macros. They
 * tell which NumPy version's members arrays have; the list is empty if that is unknown. Returns
 * NULL with an exception set on error. Needs the GIL. */
const char *const *cwj_layout_macros(void);
