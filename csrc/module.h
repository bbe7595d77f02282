/* module.h: type cwrapjit.module. */
#ifndef CWJ_MODULE_H
#define CWJ_MODULE_H

#include "environment.h"
#include "options.h"

/* What a cwrapjit.module has behind what every module object has. */
typedef struct cwj_module_data {
    cwj_environment *environment; /* owned; NULL before __init__ */
    cwj_options options;          /* defaults of its functions */
} cwj_module_data;

/* The own part of a module object. The size of a plain module object is known
 * at run time only. */
static inline cwj_module_data *
cwj_module_data_of(PyObject *module)
{
    return (cwj_module_data *)((char *)module + PyModule_Type.tp_basicsize);
}

/* module.write(file=None), in write.c */
PyObject *cwj_module_write(PyObject *self, PyObject *args, PyObject *kwargs);
extern const char cwj_module_write_doc[];

#endif
