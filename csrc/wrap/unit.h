/* unit.h: the C side of a library and the code compiled for it. */
#ifndef CWJ_WRAP_UNIT_H
#define CWJ_WRAP_UNIT_H

#include "../environment.h"

/* What library() makes of its arguments for C. */
typedef struct cwj_library_unit {
    PyObject_HEAD cwj_environment *environment; /* owned */
    PyObject *name;                             /* owned str */
} cwj_library_unit;

/* Returns 0 when object is a LibraryUnit, or -1 with TypeError set. */
int cwj_check_unit(const cwj_module_state *state, PyObject *object, const char *who);
/* Adds the type of compiled thunks. */
int cwj_add_library_code(PyObject *extension, cwj_module_state *state);

/* Functions of the extension module, for cwrapjit.library alone. */
PyObject *cwj_library_environment(PyObject *extension, PyObject *args, PyObject *kwargs);
PyObject *cwj_compile_thunks(PyObject *extension, PyObject *args, PyObject *kwargs);
PyObject *cwj_library_compiled(PyObject *extension, PyObject *args);
PyObject *cwj_library_symbol(PyObject *extension, PyObject *args);
PyObject *cwj_wrap_function(PyObject *extension, PyObject *description);
PyObject *cwj_scalar_at(PyObject *extension, PyObject *args);
PyObject *cwj_store_scalar(PyObject *extension, PyObject *args);
PyObject *cwj_array_at(PyObject *extension, PyObject *args, PyObject *kwargs);

extern const char cwj_library_environment_doc[];
extern const char cwj_compile_thunks_doc[];
extern const char cwj_library_compiled_doc[];
extern const char cwj_library_symbol_doc[];
extern const char cwj_wrap_function_doc[];
extern const char cwj_scalar_at_doc[];
extern const char cwj_store_scalar_doc[];
extern const char cwj_array_at_doc[];

#define CWJ_METHOD(function, flags) \
    {#function, (PyCFunction)(void (*)(void))cwj_##function, flags, cwj_##function##_doc}

/* cwj_NAME and cwj_NAME_doc for each NAME. */
#define CWJ_LIBRARY_METHODS                                                                   \
    CWJ_METHOD(library_environment, METH_VARARGS | METH_KEYWORDS),                            \
        CWJ_METHOD(compile_thunks, METH_VARARGS | METH_KEYWORDS),                             \
        CWJ_METHOD(library_compiled, METH_VARARGS), CWJ_METHOD(library_symbol, METH_VARARGS), \
        CWJ_METHOD(wrap_function, METH_O), CWJ_METHOD(scalar_at, METH_VARARGS),               \
        CWJ_METHOD(store_scalar, METH_VARARGS), CWJ_METHOD(array_at, METH_VARARGS | METH_KEYWORDS)

#endif
