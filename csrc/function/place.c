/* place.c: see place.h. */
#include "function/place.h"

#include "base/debug/fault.h"
#include "base/leave.h"

int
cwj_function_lines(const cwj_function_object *function, tj_lines **lines)
{
    tj_environment *environment = function->environment->tj;
    tj_text name = {0};
    tj_text_printf(&name, "cwj_loop_0__%s", function->spec->tj.name);
    const cwj_function_decl *decl = function->code.decl;
    const tj_anchor anchors[] = {{name.data, (const void *)decl->typesets[0].loop}, {NULL, NULL}};
    int status = -1;
    if (name.failed) {
        PyErr_NoMemory();
    } else {
        status = cwj_guarded_lines(lines, environment, function->code.source, anchors);
    }
    tj_text_clear(&name);
    tj_environment_lines(environment, NULL);
    return status;
}

PyObject *
cwj_function_as_user(const cwj_function_object *function)
{
    return function->dict == NULL ? NULL : PyDict_GetItemString(function->dict, "_place");
}

void
cwj_function_left(cwj_runtime *runtime)
{
    const cwj_function_object *function = cwj_owner_of(runtime);
    cwj_left left;
    tj_lines *lines = NULL;
    cwj_left_settle(true);
    if (!cwj_left_begin(&left)) {
        return;
    }
    if (function->checked == NULL && cwj_function_lines(function, &lines) < 0) {
        PyErr_Clear(); /* no memory: the line is not told */
    }
    cwj_left_raise(function->spec->who, left, cwj_function_as_user(function));
    tj_lines_free(lines);
}
