/* blueprint.h: records the arguments of a definition, to create the function again (travel.h). */
#pragma once

#include "function/spec.h"

/* Returns the arguments that are not in the C texts of a spec: an immutable tuple (name, value,
 * name, value, ...). New reference, or NULL with an exception set. */
PyObject *cwj_blueprint_new(const cwj_arguments *arguments);
