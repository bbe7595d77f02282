/* module.h: type cwrapjit.module. */
#pragma once

#include "base/environment.h"
#include "function/options.h"

/* The data that follows a plain module object in a cwrapjit.module. */
typedef struct cwj_module_data {
    cwj_environment *environment; /* owned; NULL before __init__ */
    cwj_options options;          /* defaults of its functions */
} cwj_module_data;

/* Returns that data. The size of a plain module object is only known at run time. */
static inline cwj_module_data *
cwj_module_data_of(PyObject *module)
{
    return (cwj_module_data *)((char *)module + PyModule_Type.tp_basicsize);
}

/* Completes a new object, which shares the environment. docstring: a str or None. Returns 0 or -1. */
int cwj_module_set_up(PyObject *self, PyObject *name, PyObject *docstring,
                      cwj_environment *environment, const cwj_options *options);

/* module.write(file=None), in write.c */
PyObject *cwj_module_write(PyObject *self, PyObject *args, PyObject *kwargs);
extern const char cwj_module_write_doc[];

/* Adds the type to the extension module. Returns 0, or -1 with an exception set. */
int cwj_add_module_type(PyObject *extension, cwj_module_state *state);
