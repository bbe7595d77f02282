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
    vectorcallfunc usual; /* the same while no job of the system's compiler is running */
    cwj_runtime runtime;          /* what a call needs; points into code */
    tj_function code;             /* owned: machine code, C text, descriptor */
    cwj_environment *environment; /* owned: must outlive code */
    cwj_spec *spec;               /* owned */
    cwj_tiers tiers;              /* code that may replace code's own loops */
    cwj_debugged *checked;         /* owned: debug=True; NULL: without */
    cwj_address address;          /* f.address: for other compiled code */
    cwj_options chosen; /* set for the function or its module, without the process' defaults */
    PyObject *definition; /* owned: see blueprint.h */
    PyObject *digest; /* owned: bytes that are hashed, created on first use */
    unsigned long long defined_ns; /* time to emit and compile */
    PyObject *ufunc; /* owned: created on first use */
    PyObject *dict; /* owned: __name__, __doc__, __module__, ... */
    PyObject *signature; /* owned: inspect.Signature, created on first use */
    PyObject *weakrefs;
} cwj_function_object;

/* Returns the function that contains a runtime. */
static inline cwj_function_object *
cwj_owner_of(cwj_runtime *runtime)
{
    return (cwj_function_object *)((char *)runtime - offsetof(cwj_function_object, runtime));
}

/* Makes calls accept pandas columns and similar objects, if arrays may be converted. */
void cwj_foreign_init(cwj_function_object *self);

/* Checks, compiles and binds a function. args and kwargs are those of module.function();
 * module_name is NULL without module. Returns a new reference, or NULL with an exception set. */
PyObject *cwj_function_define(cwj_module_state *state, cwj_environment *environment,
                              PyObject *module_name, const cwj_options *defaults, PyObject *args,
                              PyObject *kwargs);

/* The extension module's function(): a definition without a module. */
PyObject *cwj_function(PyObject *extension, PyObject *args, PyObject *kwargs);
extern const char cwj_function_doc[];

/* Adds the type to the extension module. Returns 0, or -1 with an exception set. */
int cwj_add_function_type(PyObject *extension, cwj_module_state *state);
