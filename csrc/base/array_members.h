/* array_members.h: what the small <numpy/arrayobject.h> must know of the running NumPy. */
#ifndef CWJ_BASE_ARRAY_MEMBERS_H
#define CWJ_BASE_ARRAY_MEMBERS_H

#include "base/api.h"

/* The macros to compile everything with, for tj_environment_options.host_macros: whose
 * members arrays have, or nothing where they are nobody's that is known. NULL with an
 * exception. Call with the GIL. */
const char *const *cwj_layout_macros(void);

#endif
