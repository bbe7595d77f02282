/* library.c: what the extension module gets from this folder: types, and functions for cwrapjit.library. */
#include "library/library.h"

#include "library/callbacks/callback.h"
#include "library/code/unit.h"
#include "library/objects/field.h"
#include "library/objects/instance.h"
#include "library/objects/pointer.h"

int
cwj_add_library_types(PyObject *extension, cwj_module_state *state)
{
    PyMethodDef *functions[] = {cwj_unit_functions,     cwj_thunk_functions,
                                cwj_wrap_functions,     cwj_instance_functions,
                                cwj_variable_functions, cwj_callback_functions,
                                cwj_pointer_functions};
    PyType_Spec *specs[] = {
        &cwj_library_function_spec, &cwj_instance_spec, &cwj_pointer_spec,
        &cwj_initializer_spec,      &cwj_layout_spec,   &cwj_field_spec,
        &cwj_trampolines_spec,      &cwj_closure_spec,  &cwj_callback_kind_spec};
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (PyModule_AddFunctions(extension, functions[i]) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(extension, specs[i], NULL);
        int status = type == NULL ? -1 : PyModule_AddType(extension, type);
        if (specs[i] == &cwj_library_function_spec) {
            state->library_function_type = type;
        } else if (specs[i] == &cwj_pointer_spec) {
            state->pointer_type = type;
        } else if (specs[i] == &cwj_closure_spec) {
            state->closure_type = type;
        } else { /* the module has it */
            Py_XDECREF(type);
        }
        if (status < 0) {
            return -1;
        }
    }
    return 0;
}
