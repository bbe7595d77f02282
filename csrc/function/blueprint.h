/* blueprint.h: how a function was made, for what makes it again elsewhere (travel.h). */
#pragma once

#include "function/spec.h"

/* What the C texts of a spec do not tell again: a tuple (name, value, name, value, ...), in which
 * nothing can be changed from outside. New reference, or NULL with an exception set. */
PyObject *cwj_blueprint_new(const cwj_arguments *arguments);
