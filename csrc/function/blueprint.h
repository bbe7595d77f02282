/* blueprint.h: records the arguments of a definition, to create the function again (travel.h). */
#pragma once

#include "function/spec.h"

/* Returns the arguments, except name and Ccode_slice_eval, as an immutable tuple (name, value, name, value, ...): a
 * new reference, or NULL with an exception set. */
PyObject *cwj_blueprint_new(const cwj_arguments *arguments);
