/* leave.c: raises what a call raises whose code was left (base/leave.h). */
#include "library/call/steps.h"

#include "base/leave.h"
#include "library/code/unit.h"

void
cwj_library_raise_left(const cwj_library_function *function)
{
    cwj_left left;
    if (!cwj_left_begin(&left)) {
        return;
    }
    cwj_environment *environment = cwj_owner_environment(function->owner);
    if (environment != NULL) {
        tj_environment_lines(environment->tj, NULL);
    }
    const char *who = PyUnicode_AsUTF8(function->who);
    cwj_left_raise(who != NULL ? who : "", left, NULL);
}
