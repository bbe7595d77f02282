/* function.h: type cwrapjit.Function, a compiled broadcasting function. */
#pragma once

#include "function/address.h"
#include "function/debug.h"
#include "base/environment.h"
#include "function/spec.h"
#include "function/tiers.h"
#include "function/ufunc.h"

#include "function/call/call.h"

typedef struct cwj_function_object {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    vectorcallfunc usual; /* the same while no job of the system's compiler is out */
    cwj_runtime runtime;          /* what a call needs; points into code */
    tj_function code;             /* owned: machine code, C text, descriptor */
    cwj_environment *environment; /* owned: must outlive code */
    cwj_spec *spec;               /* owned */
    cwj_tiers tiers;              /* what may run instead of code's own loops */
    cwj_debugged *checked;         /* owned: debug=True; NULL: without */
    cwj_address address;          /* f.address: for other compiled code */
    cwj_options chosen; /* by the function or its module: the process' defaults are not */
    PyObject *definition; /* owned: see blueprint.h */
    PyObject *digest; /* owned: what the hash is of, made when asked for */
    cwj_reduction reduction; /* owned: what reductions by the ufunc may assume */
    unsigned long long defined_ns; /* how long emitting and compiling took */
    PyObject *ufunc; /* owned: made when asked for */
    PyObject *dict; /* owned: __name__, __doc__, __module__, ... */
    PyObject *signature; /* owned: inspect.Signature, made when asked for */
    PyObject *weakrefs;
} cwj_function_object;

/* The function that a runtime is in. */
static inline cwj_function_object *
cwj_owner_of(cwj_runtime *runtime)
{
    return (cwj_function_object *)((char *)runtime - offsetof(cwj_function_object, runtime));
}

/* Has calls take columns of pandas and their kin, where arrays may convert. */
void cwj_foreign_init(cwj_function_object *self);

/* Checks, compiles and binds: the definition of a function. args and kwargs
 * are those of module.function(); module_name is NULL without module. Returns
 * a new reference, or NULL with an exception set. */
PyObject *cwj_function_define(cwj_module_state *state, cwj_environment *environment,
                              PyObject *module_name, const cwj_options *defaults, PyObject *args,
                              PyObject *kwargs);

/* The extension module's function(): a definition without a module. */
PyObject *cwj_function(PyObject *extension, PyObject *args, PyObject *kwargs);
extern const char cwj_function_doc[];

/* Adds the type to the extension module. Returns 0, or -1 with an exception set. */
int cwj_add_function_type(PyObject *extension, cwj_module_state *state);
