/* extras.h: do the parse codes of extra arguments fit their C types? */
#ifndef CWJ_EXTRAS_H
#define CWJ_EXTRAS_H

#include "spec.h"

#include "call.h"

/* Compares what the compiler found out with what PyArg_Parse would store.
 * Returns 0, or -1 with ValueError set. */
int cwj_check_extras(const cwj_spec *spec, const cwj_function_decl *decl);

#endif
