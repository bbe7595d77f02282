/* library.c: adds this folder's types, and functions for cwrapjit.library, to the extension module. */
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
                                cwj_variable_functions, cwj_pointer_functions};
    const struct {
        PyType_Spec *spec;
        PyTypeObject **type;
    } types[] = {
        {&cwj_library_function_spec, &state->library_function_type},
        {&cwj_instance_spec, NULL},
        {&cwj_pointer_spec, &state->pointer_type},
        {&cwj_initializer_spec, NULL},
        {&cwj_layout_spec, NULL},
        {&cwj_field_spec, NULL},
        {&cwj_trampolines_spec, NULL},
        {&cwj_closure_spec, &state->closure_type},
        {&cwj_callback_kind_spec, NULL},
    };
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (PyModule_AddFunctions(extension, functions[i]) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (cwj_add_type(extension, types[i].spec, types[i].type) < 0) {
            return -1;
        }
    }
    return PyModule_AddIntConstant(extension, "callback_entry", (intptr_t)cwj_callback_enter);
}
